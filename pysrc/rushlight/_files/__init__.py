"""Checkpoint files above the C reader and writer: names, objects, containers."""
