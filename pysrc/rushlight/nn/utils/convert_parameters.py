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
    """Flatten parameters into one vector, which has a history.

    Parameters
    ----------
    parameters : iterable of Tensors
        Parameters, on one device.

    Returns
    -------
    Tensor
        All elements, one parameter after the other.

    Raises
    ------
    TypeError
        If they are on several devices.

    Notes
    -----
    Same as torch.nn.utils.parameters_to_vector:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.parameters_to_vector.html

    Examples
    --------
    >>> model = nn.Linear(3, 2)
    >>> nn.utils.parameters_to_vector(model.parameters()).shape
    torch.Size([8])
    """
    return rushlight.cat([parameter.view(-1) for parameter in _same_place(parameters)])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Write one vector into parameters, which become views of it.

    Parameters
    ----------
    vec : Tensor
        All elements, one parameter after the other.
    parameters : iterable of Tensors
        Parameters, on one device.

    Raises
    ------
    TypeError
        If `vec` is no Tensor or the parameters are on several devices.

    Notes
    -----
    Same as torch.nn.utils.vector_to_parameters:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.vector_to_parameters.html

    Examples
    --------
    >>> model = nn.Linear(2, 1)
    >>> nn.utils.vector_to_parameters(torch.tensor([1.0, 2.0, 3.0]), model.parameters())
    >>> model.weight.detach(), model.bias.detach()
    (tensor([[1., 2.]]), tensor([3.]))
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {rushlight.typename(vec)}")
    at = 0
    for parameter in _same_place(parameters):
        count = parameter.numel()
        parameter.data = vec[at : at + count].view_as(parameter).data
        at += count
