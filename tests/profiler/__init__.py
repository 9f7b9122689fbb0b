"""Tests of rushlight.profiler."""
