"""Questions about tensors: what PyTorch's other layouts, devices and lazy bits would be."""

from __future__ import annotations

from . import _C
from ._arguments import as_pytorch
from ._arguments import tensor as need_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Tensor

_NEVER = "is_mkldnn is_xla is_ipu is_vulkan is_maia is_mtia".split()
_NO = "is_conj is_neg is_distributed".split()
_SPARSE = {
    "coalesce": "sparse coordinate",
    "is_coalesced": "sparse coordinate",
    "indices": "sparse coordinate",
    "values": "sparse",
    "crow_indices": "sparse row compressed",
    "col_indices": "sparse row compressed",
    "ccol_indices": "sparse column compressed",
    "row_indices": "sparse column compressed",
}


def _function(name):
    method = getattr(_C.Tensor, name)

    def ask(input):
        need_tensor(name, "input", 1, input)
        return method(input)

    ask.__name__ = ask.__qualname__ = name
    ask.__doc__ = f"{method.__doc__ or ''}\n\nAs Tensor.{name}()."
    return as_pytorch(ask)


def _answer(name, answer, doc):
    def method(self):
        return answer(self)

    method.__name__, method.__qualname__, method.__module__ = name, f"Tensor.{name}", "rushlight"
    method.__doc__ = doc
    setattr(_C.Tensor, name, method)


def _sparse(name, layout):
    def refuse(tensor):
        raise RuntimeError(f"{name} expected {layout} tensor layout but got Strided")

    _answer(name, refuse, "RuntimeError: every tensor is strided.")


@as_pytorch
def _to_dense(self, dtype=None, *, masked_grad=None):
    return self if dtype is None else self.to(dtype)


@as_pytorch
def is_same_size(input: Tensor, other: Any) -> Any:
    """Test whether two tensors have the same shape.

    Parameters
    ----------
    input : Tensor
        First tensor.
    other : Tensor
        Second tensor.

    Returns
    -------
    bool
        Whether they have.

    Examples
    --------
    >>> torch.zeros(2, 3).is_same_size(torch.zeros(3, 2))
    False
    """
    need_tensor("is_same_size", "input", 1, input)
    need_tensor("is_same_size", "other", 2, other)
    return input.size() == other.size()


@as_pytorch
def _is_same_size(self, other):
    need_tensor("is_same_size", "other", 1, other)
    return self.size() == other.size()


for _name in _NEVER:
    setattr(_C.Tensor, _name, property(lambda self: False, doc="Never."))
for _name in _NO:
    _answer(_name, lambda tensor: False, "Never.")
for _name, _layout in _SPARSE.items():
    _sparse(_name, _layout)
_answer("resolve_conj", lambda tensor: tensor, "Return the tensor itself: nothing is put off.")
_answer("resolve_neg", lambda tensor: tensor, "Return the tensor itself: nothing is put off.")
_answer("dequantize", lambda tensor: tensor.float(), "Return the tensor as float32.")
_answer("dense_dim", lambda tensor: tensor.dim(), "Return the number of dimensions.")
_answer("sparse_dim", lambda tensor: 0, "Return 0.")
_to_dense.__name__, _to_dense.__qualname__ = "to_dense", "Tensor.to_dense"
_is_same_size.__name__, _is_same_size.__qualname__ = "is_same_size", "Tensor.is_same_size"
_C.Tensor.to_dense, _C.Tensor.is_same_size = _to_dense, _is_same_size
_to_dense.__module__ = _is_same_size.__module__ = "rushlight"
_to_dense.__doc__, _is_same_size.__doc__ = "Return the tensor itself: it is dense.", is_same_size.__doc__
_names = (
    *_NO,
    "is_inference",
    "is_signed",
    "resolve_conj",
    "resolve_neg",
    "detach",
    "detach_",
    "zero_",
    "get_device",
)
globals().update({_name: _function(_name) for _name in _names})


@as_pytorch
def resize_as_(input: Tensor, the_template: Any, *, memory_format: Any = None) -> Any:
    """Resize a tensor in place to the shape of another one.

    Parameters
    ----------
    input : Tensor
        Tensor to resize.
    the_template : Tensor
        Tensor that has the shape.
    memory_format : memory_format, optional
        Order of the elements in memory.

    Returns
    -------
    Tensor
        `input`.

    Examples
    --------
    >>> torch.resize_as_(torch.zeros(4), torch.zeros(2, 2)).shape
    torch.Size([2, 2])
    """
    need_tensor("resize_as_", "input", 1, input)
    return input.resize_as_(the_template, memory_format=memory_format)
