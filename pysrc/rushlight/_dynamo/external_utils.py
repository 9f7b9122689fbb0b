"""What code asks TorchDynamo from outside."""

__all__ = ["is_compiling", "wrap_inline"]


def is_compiling() -> bool:
    """Whether code is being compiled: never."""
    return False


def wrap_inline(fn):
    """Return a function that calls one."""
    from .eval_frame import _wrapped

    return _wrapped(fn)
