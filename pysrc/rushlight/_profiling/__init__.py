"""What stands below rushlight.profiler and rushlight.autograd.profiler."""
