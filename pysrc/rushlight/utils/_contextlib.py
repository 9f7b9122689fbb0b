"""Context managers that decorate functions: a call enters a fresh one, a generator one at each step."""

from rushlight.autograd.grad_mode import (
    _decorate,
    _DecoratorContextManager,
    _NoParamDecoratorContextManager,
    _wrap_generator,
)

__all__ = [
    "_DecoratorContextManager",
    "_NoParamDecoratorContextManager",
    "_wrap_generator",
    "context_decorator",
]


def context_decorator(ctx, func):
    """Run a function, or each step of a generator, within a context manager.

    Parameters
    ----------
    ctx : context manager or callable
        One that can be entered many times, or what makes one.
    func : callable
        Function, generator function or coroutine function.

    Raises
    ------
    AssertionError
        If `ctx` is both.
    RuntimeError
        If `func` is a class.
    """
    if callable(ctx) and hasattr(ctx, "__enter__"):
        raise AssertionError(
            f"Passed in {ctx} is both callable and also a valid context manager (has __enter__), making it "
            "ambiguous which interface to use.  If you intended to pass a context manager factory, rewrite "
            "your call as context_decorator(lambda: ctx()); if you intended to pass a context manager "
            "directly, rewrite your call as context_decorator(lambda: ctx)"
        )
    if isinstance(func, type):
        raise RuntimeError(
            "Cannot decorate classes; it is ambiguous whether or not only the constructor or all methods "
            "should have the context manager applied; additionally, decorating a class at definition-site "
            "will prevent use of the identifier as a conventional type.  To specify which methods to "
            "decorate, decorate each of them individually."
        )
    return _decorate(ctx if callable(ctx) else lambda: ctx, func)
