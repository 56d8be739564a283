"""Measurements of the engine itself; each module says its command."""
