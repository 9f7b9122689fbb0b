"""no_grad and its relatives: context managers that also decorate functions, generators and classes."""

from __future__ import annotations

from rushlight import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Self, TypeVar, overload

    F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled", "set_multithreading_enabled"]

_GENERATOR, _COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x200  # bits of co_flags


def _wraps(function, wrapper):
    for name in ("__module__", "__name__", "__qualname__", "__doc__", "__annotations__"):
        if hasattr(function, name):
            setattr(wrapper, name, getattr(function, name))
    wrapper.__dict__.update(getattr(function, "__dict__", {}))
    wrapper.__wrapped__ = function
    return wrapper


def _wrap_generator(new_context, function):
    """Run a generator so that the mode holds inside it, never between its steps."""

    def wrapper(*args, **kwargs):
        generator = function(*args, **kwargs)
        try:
            with new_context():
                item = next(generator)
            while True:
                try:
                    sent = yield item
                except GeneratorExit:
                    with new_context():
                        generator.close()
                    raise
                except BaseException as error:
                    with new_context():
                        item = generator.throw(error)
                else:
                    with new_context():
                        item = generator.send(sent)
        except StopIteration as end:
            return end.value

    return _wraps(function, wrapper)


def _wrap_coroutine(new_context, function):
    """Run a coroutine so that the mode holds inside it, never while others run."""

    class Steps:
        def __init__(self, coroutine):
            self.coroutine = coroutine

        def __await__(self):
            return _wrap_generator(new_context, lambda: self.coroutine.__await__())()

    async def wrapper(*args, **kwargs):
        return await Steps(function(*args, **kwargs))

    return _wraps(function, wrapper)


def _wrap_async_generator(new_context, function):
    async def wrapper(*args, **kwargs):
        generator = function(*args, **kwargs)
        step = _wrap_coroutine(new_context, generator.asend)
        throw = _wrap_coroutine(new_context, generator.athrow)
        close = _wrap_coroutine(new_context, generator.aclose)
        try:
            item = await step(None)
            while True:
                try:
                    sent = yield item
                except GeneratorExit:
                    await close()
                    raise
                except BaseException as error:
                    item = await throw(error)
                else:
                    item = await step(sent)
        except StopAsyncIteration:
            return

    return _wraps(function, wrapper)


def _decorate(new_context, function):
    if isinstance(function, type):
        import warnings

        warnings.warn(
            "Decorating classes is deprecated and will be disabled in "
            "future versions. You should only decorate functions or methods. "
            "To preserve the current behavior of class decoration, you can "
            "directly decorate the `__init__` method and nothing else.",
            FutureWarning,
            stacklevel=3,
        )
        function.__init__ = _decorate(new_context, function.__init__)
        return function
    flags = getattr(getattr(function, "__code__", None), "co_flags", 0)
    if flags & _GENERATOR:
        return _wrap_generator(new_context, function)
    if flags & _COROUTINE:
        return _wrap_coroutine(new_context, function)
    if flags & _ASYNC_GENERATOR:
        return _wrap_async_generator(new_context, function)

    def wrapper(*args, **kwargs):
        with new_context():
            return function(*args, **kwargs)

    return _wraps(function, wrapper)


class _DecoratorContextManager:
    """A context manager that is also a decorator; each call of the function enters a fresh one."""

    def __call__(self, function: F) -> F:
        return _decorate(self.clone, function)

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, exc_type: object, exc_val: object, exc_tb: object) -> None:
        raise NotImplementedError

    def clone(self) -> Self:
        return self.__class__()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """Can decorate without parentheses, too."""

    if TYPE_CHECKING:

        @overload
        def __new__(cls, orig_func: F) -> F: ...
        @overload
        def __new__(cls, orig_func: None = None) -> Self: ...

    def __new__(cls, orig_func: Any = None) -> Any:
        self = super().__new__(cls)
        if orig_func is None:
            return self
        return _decorate(self.clone, orig_func)


class no_grad(_NoParamDecoratorContextManager):
    """Disable gradients: nothing that runs in this context, or in this function, is recorded by autograd.

    Results have ``requires_grad=False``. It saves memory and time in evaluation. A context manager and a
    decorator; other threads are not affected.

    Notes
    -----
    Same as torch.no_grad: https://docs.pytorch.org/docs/2.13/generated/torch.no_grad.html

    Examples
    --------
    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    >>> @torch.no_grad()
    ... def double(x):
    ...     return x * 2
    >>> double(x).requires_grad
    False
    """

    def __init__(self, orig_func: Any = None) -> None:
        self.prev = False

    def __enter__(self) -> None:
        self.prev = _C.is_grad_enabled()
        try:
            _C._set_grad_enabled(False)
        except BaseException:  # an interrupt, after which nobody calls __exit__
            _C._set_grad_enabled(self.prev)
            raise

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        _C._set_grad_enabled(self.prev)


class enable_grad(_NoParamDecoratorContextManager):
    """Enable gradients in a context or function within no_grad(): operators are recorded again.

    Notes
    -----
    Same as torch.enable_grad: https://docs.pytorch.org/docs/2.13/generated/torch.enable_grad.html

    Examples
    --------
    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.no_grad(), torch.enable_grad():
    ...     y = x * 2
    >>> y.requires_grad
    True
    """

    def __init__(self, orig_func: Any = None) -> None:
        self.prev = False

    def __enter__(self) -> None:
        self.prev = _C.is_grad_enabled()
        _C._set_grad_enabled(True)

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        _C._set_grad_enabled(self.prev)


class set_grad_enabled(_DecoratorContextManager):
    """Enable or disable gradients: as a function from now on, as a context manager within it.

    Parameters
    ----------
    mode : bool
        Whether operators are recorded.

    Notes
    -----
    Same as torch.autograd.grad_mode.set_grad_enabled:
    https://docs.pytorch.org/docs/2.13/generated/torch.autograd.grad_mode.set_grad_enabled.html

    Examples
    --------
    >>> x = torch.ones(2, requires_grad=True)
    >>> training = False
    >>> with torch.set_grad_enabled(training):
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    def __init__(self, mode: bool) -> None:
        self.prev = _C.is_grad_enabled()
        self.mode = mode
        _C._set_grad_enabled(mode)

    def __call__(self, function: F) -> F:
        _C._set_grad_enabled(self.prev)
        return super().__call__(function)

    def __enter__(self) -> None:
        _C._set_grad_enabled(self.mode)

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        _C._set_grad_enabled(self.prev)

    def __str__(self) -> str:
        return (
            f"{type(self).__module__.replace('rushlight', 'torch')}.{type(self).__name__}(mode={self.mode})"
        )

    __repr__ = __str__

    def clone(self) -> Self:
        return self.__class__(self.mode)


class inference_mode(_DecoratorContextManager):
    """Disable gradients, and all that autograd keeps of tensors made in this context, for inference.

    As no_grad(), but these tensors can never take part in recording later. A context manager and a decorator.

    Parameters
    ----------
    mode : bool, default True
        False leaves inference mode within it.

    Notes
    -----
    Same as torch.autograd.grad_mode.inference_mode:
    https://docs.pytorch.org/docs/2.13/generated/torch.autograd.grad_mode.inference_mode.html

    Examples
    --------
    >>> model = nn.Linear(2, 1)
    >>> with torch.inference_mode():
    ...     y = model(torch.ones(1, 2))
    >>> y.requires_grad, y.is_inference()
    (False, True)
    """

    if TYPE_CHECKING:

        @overload
        def __new__(cls, mode: F) -> F: ...
        @overload
        def __new__(cls, mode: bool = True) -> Self: ...

    def __new__(cls, mode: Any = True) -> Any:
        self = super().__new__(cls)
        if isinstance(mode, bool):
            return self
        self.__init__()
        return _decorate(self.clone, mode)

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode
        self.before = []

    def __enter__(self) -> None:
        self.before.append((_C.is_inference_mode_enabled(), _C.is_grad_enabled()))
        try:
            _C._set_inference_mode(self.mode)
            # leaving inference mode inside of it records again
            _C._set_grad_enabled(not self.mode)
        except BaseException:  # an interrupt, after which nobody calls __exit__
            self.__exit__(None, None, None)
            raise

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        inference, grad = self.before.pop()
        _C._set_inference_mode(inference)
        _C._set_grad_enabled(grad)

    def clone(self) -> Self:
        return self.__class__(self.mode)


class set_multithreading_enabled(_DecoratorContextManager):
    """Accept whether backward may use several threads for devices; here one thread computes all gradients.

    Parameters
    ----------
    mode : bool
        Without effect.

    Notes
    -----
    Same as torch.autograd.grad_mode.set_multithreading_enabled:
    https://docs.pytorch.org/docs/2.13/generated/torch.autograd.grad_mode.set_multithreading_enabled.html

    Examples
    --------
    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.autograd.set_multithreading_enabled(False):
    ...     (x * 2).sum().backward()
    >>> x.grad
    tensor([2., 2.])
    """

    def __init__(self, mode: bool) -> None:
        self.mode = mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        pass

    def clone(self) -> Self:
        return self.__class__(self.mode)
