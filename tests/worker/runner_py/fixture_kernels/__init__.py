"""Implementations that behave and misbehave, for the tests of the Python runner. Never shipped."""
