"""All parameters as one vector, and back."""

from __future__ import annotations

import rushlight
from rushlight._C import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def _same_place(parameters):
    """The parameters one after the other, as long as they lie on one device."""
    first = None
    for parameter in parameters:
        place = parameter.get_device()
        if first is None:
            first = place
        elif place != first:
            raise TypeError("Found two parameters on different devices, this is currently not supported.")
        yield parameter


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Join all parameters to one vector."""
    return rushlight.cat([parameter.view(-1) for parameter in _same_place(parameters)])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Give the parameters the slices of a vector as their data."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {rushlight.typename(vec)}")
    at = 0
    for parameter in _same_place(parameters):
        count = parameter.numel()
        parameter.data = vec[at : at + count].view_as(parameter).data
        at += count
