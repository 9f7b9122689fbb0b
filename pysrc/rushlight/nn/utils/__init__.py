"""Helpers around parameters."""

import rushlight
from rushlight import _missing

__all__ = ["parameters_to_vector", "vector_to_parameters"]
__getattr__ = _missing.lacks(__name__)


def parameters_to_vector(parameters):
    """Join all parameters to one vector."""
    return rushlight.cat([p.view(-1) for p in parameters])


def vector_to_parameters(vec, parameters):
    """Give the parameters the slices of a vector as their data."""
    if not isinstance(vec, rushlight.Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {rushlight.typename(vec)}")
    at = 0
    for parameter in parameters:
        count = parameter.numel()
        parameter.data = vec[at : at + count].view_as(parameter).data
        at += count
