"""Declares nothing: a file that others share."""
