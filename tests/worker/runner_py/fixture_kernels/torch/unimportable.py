"""Does not import."""
raise RuntimeError("this file is broken")
