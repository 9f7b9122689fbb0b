"""The Python stack as a program sees it: without the functions that run the program."""

import sys

runner = None  # the code of the function that does; frames up to it are nobody's


def format_stack():
    """Return the stack of the caller as traceback.format_stack() does."""
    import traceback

    caller = frame = sys._getframe(1)
    depth = 0
    while frame is not None and frame.f_code is not runner:
        frame, depth = frame.f_back, depth + 1
    return traceback.format_stack(caller, depth)
