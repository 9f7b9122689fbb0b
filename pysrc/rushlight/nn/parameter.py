"""What a Module registers when it is assigned: parameters and buffers, also without a shape yet."""

from __future__ import annotations

import rushlight
from rushlight import _C, _missing
from rushlight._C import Parameter, Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import dtype
    from rushlight.types import Device

__all__ = [
    "Buffer",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "UninitializedTensorMixin",
    "is_lazy",
]
__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)


class _BufferMeta(type):
    def __instancecheck__(cls, instance) -> bool:
        if cls is Buffer:
            return isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)
        return super().__instancecheck__(instance)


class Buffer(Tensor, metaclass=_BufferMeta):
    """Make a tensor that a Module registers as a buffer when it is assigned.

    A buffer is state that no optimizer changes, such as a running mean. It moves with the module and stands
    in its state dict. What this returns is an ordinary Tensor that is marked; ``isinstance`` looks at the
    mark.

    Parameters
    ----------
    data : Tensor, optional
        The values; an empty tensor if not given.
    persistent : bool, default True
        Whether it stands in the state dict; only by keyword.

    Notes
    -----
    Same as torch.nn.Buffer: https://docs.pytorch.org/docs/2.13/generated/torch.nn.parameter.Buffer.html

    Examples
    --------
    >>> module = nn.Module()
    >>> module.mean = nn.Buffer(torch.zeros(2))
    >>> list(module.state_dict()), list(module.parameters())
    (['mean'], [])
    """

    def __new__(cls, data=None, *, persistent=True):
        if data is None:
            data = rushlight.empty(0)
        buffer = data.detach().requires_grad_(data.requires_grad)
        buffer.persistent = persistent
        buffer._is_buffer = True
        return buffer


# What may be done to a tensor without a shape; attributes other than shape may be read as well.
_ALLOWED = {"size", "copy_", "is_complex", "is_floating_point", "get_device", "cpu", "cuda", "to"}
_CASTS = {"half", "bfloat16", "float", "double", "char", "short", "int", "long"}
_OF_OBJECTS = vars(object).keys() - {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__format__"}
# How PyTorch's message describes what was called.
_WRITTEN_IN_PYTHON = {"__contains__", "__format__", "__len__", "backward", "is_shared", "split"}
_OPERATORS = {"__add__": "add", "__radd__": "add", "__iadd__": "add_", "__mul__": "mul", "__rmul__": "mul"}
_OPERATORS |= {"__imul__": "mul_", "__sub__": "sub", "__isub__": "sub_", "__truediv__": "div"}
_OPERATORS |= {"__itruediv__": "div_", "__neg__": "neg", "__abs__": "abs", "__iter__": "dim"}
_OPERATORS |= {"__matmul__": "matmul"}


def _describe(name) -> str:
    if name in _WRITTEN_IN_PYTHON:
        return f"<function Tensor.{name}>"
    if name in ("__getitem__", "__setitem__", "__delitem__"):
        return f"<slot wrapper '{name}' of 'torch._C.TensorBase' objects>"
    return f"<method '{_OPERATORS.get(name, name)}' of 'torch._C.TensorBase' objects>"


def refuse_lazy(tensor: Tensor, function: Any) -> Any:
    """Raise PyTorch's error for a function that needs a shape."""
    raise ValueError(
        f"Attempted to use an uninitialized parameter in {function}. "
        "This error happens when you are using a `LazyModule` or explicitly manipulating "
        f"`torch.nn.parameter.{type(tensor).__name__}` objects. When using LazyModules "
        "Call `forward` with a dummy batch to initialize the parameters before calling torch functions"
    )


def _refusal(name):
    def refuse(self, *args, **kwargs):
        refuse_lazy(self, _describe(name))

    refuse.__name__ = refuse.__qualname__ = name
    return refuse


class UninitializedTensorMixin:
    """What a parameter or buffer without a shape can do: be moved, be cast, be given a shape."""

    def materialize(self, shape: Any, device: Device = None, dtype: dtype | None = None) -> None:
        """Take on a shape, a device and a dtype; the values are whatever the memory holds.

        Parameters
        ----------
        shape : tuple of ints
            The shape.
        device : device, optional
            The device; as before if not given.
        dtype : dtype, optional
            The dtype; as before if not given.
        """
        data = self.data
        self.data = rushlight.empty(
            shape,
            device=data.device if device is None else device,
            dtype=data.dtype if dtype is None else dtype,
        )
        self.__class__ = self.cls_to_become

    @property
    def shape(self) -> Any:
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. "
            "This error usually happens in `load_state_dict` when trying to load "
            "an uninitialized parameter into an initialized one. "
            "Call `forward` to initialize the parameters before accessing their attributes."
        )

    def share_memory_(self) -> Any:
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. "
            "Call `forward` to initialize the parameters before calling "
            "`module.share_memory()`."
        )

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"<{self.__class__.__name__}>"

    def __reduce_ex__(self, proto):
        return (self.__class__, (self.requires_grad,))

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if type(func).__name__ == "method-wrapper" or func.__name__ in _ALLOWED | _CASTS:
            return _C._disabled_torch_function_impl(func, types, args, kwargs)
        lazy = [
            each for each in (*args, *(kwargs or {}).values()) if isinstance(each, UninitializedTensorMixin)
        ]
        refuse_lazy(lazy[0] if lazy else args[0], func)


def _refuse_the_rest() -> None:
    own = vars(UninitializedTensorMixin).keys() | _ALLOWED | _CASTS | _OF_OBJECTS
    for name in dir(Tensor):
        if name in own or name in ("__class_getitem__", "__del__", "__dict__", "__module__"):
            continue
        if callable(getattr(Tensor, name)):
            setattr(UninitializedTensorMixin, name, _refusal(name))


_refuse_the_rest()


def is_lazy(param: Any) -> bool:
    """Whether a parameter or buffer still waits for its shape."""
    return isinstance(param, UninitializedTensorMixin)


def _copied(self, memo):
    if id(self) not in memo:
        data = self.data
        memo[id(self)] = type(self)(self.requires_grad, data.device, data.dtype)
    return memo[id(self)]


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """Make a parameter whose shape is not known yet, as lazy layers have them.

    It can be moved, cast and saved; whatever needs a shape raises. ``materialize(shape)`` makes it a
    Parameter.

    Parameters
    ----------
    requires_grad : bool, default True
        Whether it takes gradients.
    device : device, optional
        Where it is made; the default device if not given.
    dtype : dtype, optional
        Its dtype; the default dtype if not given.

    Raises
    ------
    RuntimeError
        When its shape is read.
    ValueError
        When a function that needs a shape is called with it.

    Notes
    -----
    Same as torch.nn.UninitializedParameter:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.parameter.UninitializedParameter.html

    Examples
    --------
    >>> parameter = nn.UninitializedParameter()
    >>> parameter
    <UninitializedParameter>
    >>> parameter.materialize((2, 3))
    >>> type(parameter).__name__, parameter.shape
    ('Parameter', torch.Size([2, 3]))
    """

    cls_to_become = Parameter

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        return super().__new__(cls, rushlight.empty(0, device=device, dtype=dtype), requires_grad)

    __deepcopy__ = _copied


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """Make a buffer whose shape is not known yet.

    ``materialize(shape)`` makes it a Tensor.

    Parameters
    ----------
    requires_grad : bool, default False
        Whether it takes gradients.
    device : device, optional
        Where it is made; the default device if not given.
    dtype : dtype, optional
        Its dtype; the default dtype if not given.
    persistent : bool, default True
        Whether it stands in the state dict.

    Raises
    ------
    RuntimeError
        When its shape is read.
    ValueError
        When a function that needs a shape is called with it.

    Notes
    -----
    Same as torch.nn.UninitializedBuffer:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.parameter.UninitializedBuffer.html

    Examples
    --------
    >>> buffer = nn.UninitializedBuffer()
    >>> buffer.materialize((4,))
    >>> buffer.shape
    torch.Size([4])
    """

    cls_to_become = Tensor

    def __new__(cls, requires_grad=False, device=None, dtype=None, persistent=True):
        buffer = super().__new__(cls, rushlight.empty(0, device=device, dtype=dtype))
        buffer.requires_grad = requires_grad
        buffer.persistent = persistent
        buffer._is_buffer = True
        return buffer

    __deepcopy__ = _copied


def _moved(name):
    convert = getattr(Tensor, name)

    def move(self, *args, **kwargs):
        moved = convert(self, *args, **kwargs)
        if moved is self:
            return self
        return type(self)(self.requires_grad, moved.device, moved.dtype, self.persistent)

    move.__name__ = move.__qualname__ = name
    return move


for _name in _CASTS | {"cpu", "cuda", "to"}:
    setattr(UninitializedBuffer, _name, _moved(_name))
