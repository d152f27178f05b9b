"""The parts of repeatability.py: what repeated measurements must show."""
