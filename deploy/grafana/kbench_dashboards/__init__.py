"""The three dashboards as code; `generate.py` beside this package writes them as JSON."""
