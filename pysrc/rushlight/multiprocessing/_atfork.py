"""What is to happen in the child of a fork."""

import os

__all__ = ["register_after_fork"]


def register_after_fork(func):
    """Call func() in every child that is forked from now on."""
    os.register_at_fork(after_in_child=func)
