"""The sides of stopwatch_compare.py: each times the same launches with another stopwatch."""
