"""The parametrizations of one tensor, and its originals."""

from __future__ import annotations

from collections.abc import Sequence

import rushlight
from rushlight._C import Parameter, Tensor
from rushlight.nn.modules.container import ModuleList

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Module


def _register_parameter_or_buffer(module, name, tensor) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _set(tensor, value) -> None:
    """tensor.set_(value): the same object, the memory of the other."""
    tensor.data = value.detach()


def _originals(count):
    return [f"original{i}" for i in range(count)]


class ParametrizationList(ModuleList):
    """Hold the parametrizations of one tensor, and what it is computed from.

    register_parametrization() makes it, as ``module.parametrizations.<name>``.

    Parameters
    ----------
    modules : sequence of Modules
        Parametrizations, in their order.
    original : Tensor or Parameter
        The tensor.
    unsafe : bool, default False
        Allow them to change shape or dtype.

    Attributes
    ----------
    original : Tensor or Parameter
        What the tensor is computed from; ``original0``, ``original1`` and so on if there are several.

    Raises
    ------
    ValueError
        If there is no module, or shape or dtype change.

    Notes
    -----
    Same as torch.nn.utils.parametrize.ParametrizationList:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.parametrize.ParametrizationList.html

    Examples
    --------
    >>> layer = nn.utils.parametrizations.orthogonal(nn.Linear(3, 3))
    >>> layer.parametrizations.weight.original.shape
    torch.Size([3, 3])
    """

    def __init__(self, modules: Sequence[Module], original: Tensor | Parameter, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        with rushlight.no_grad():
            new = original
            for module in reversed(self):
                if hasattr(module, "right_inverse"):
                    try:
                        new = module.right_inverse(new)
                    except NotImplementedError:
                        pass  # then the original is what the tensor is now
        if not isinstance(new, (Tensor, Sequence)):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(new).__name__}"
            )
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            self._take_tensor(original, new)
        else:
            self._take_sequence(original, new)
        if not self.unsafe:
            self._check(self(), shape, dtype)

    def _take_tensor(self, original, new) -> None:
        for what in ("dtype", "device"):
            was, now = getattr(original, what), getattr(new, what)
            if was != now:
                raise ValueError(
                    f"When `right_inverse` outputs one tensor, it may not change the {what}.\n"
                    f"original.{what}: {was}\n"
                    f"right_inverse(original).{what}: {now}"
                )
        # the tensor itself stays, as an optimizer may know it already
        _set(original, new)
        _register_parameter_or_buffer(self, "original", original)

    def _take_sequence(self, original, new) -> None:
        for i, tensor in enumerate(new):
            if not isinstance(tensor, Tensor):
                raise ValueError(
                    "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                    f"Got element {i} of the sequence with type {type(tensor).__name__}."
                )
            if isinstance(original, Parameter):
                tensor = Parameter(tensor, original.requires_grad)
            tensor.requires_grad_(original.requires_grad)
            _register_parameter_or_buffer(self, f"original{i}", tensor)

    @staticmethod
    def _check(tensor, shape, dtype) -> None:
        if not isinstance(tensor, Tensor):
            raise ValueError(f"A parametrization must return a tensor. Got {type(tensor).__name__}.")
        for what, was, now in (("dtype", dtype, tensor.dtype), ("shape", shape, tensor.shape)):
            if was != now:
                raise ValueError(
                    f"Registering a parametrization may not change the {what} of the tensor, unless "
                    f"`unsafe` flag is enabled.\nunparametrized {what}: {was}\nparametrized {what}: {now}"
                )

    def right_inverse(self, value: Tensor) -> None:
        """Set the originals so that the tensor becomes ``value``."""
        with rushlight.no_grad():
            for module in reversed(self):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement right_inverse."
                    )
                value = module.right_inverse(value)
        if self.is_tensor:
            self._set_tensor(value)
        else:
            self._set_sequence(value)

    def _set_tensor(self, value) -> None:
        if not isinstance(value, Tensor):
            raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
        if value.dtype != self.original.dtype:
            raise ValueError(
                f"The tensor returned by `right_inverse` has dtype {value.dtype} "
                f"while `original` has dtype {self.original.dtype}"
            )
        _set(self.original, value)

    def _set_sequence(self, value) -> None:
        if not isinstance(value, Sequence):
            raise ValueError(
                f"'right_inverse' must return a sequence of tensors. Got {type(value).__name__}."
            )
        if len(value) != self.ntensors:
            raise ValueError(
                "'right_inverse' must return a sequence of tensors of length "
                f"{self.ntensors}. Got a sequence of length {len(value)}."
            )
        for i, (name, tensor) in enumerate(zip(_originals(self.ntensors), value, strict=True)):
            if not isinstance(tensor, Tensor):
                raise ValueError(
                    "'right_inverse' must return a sequence of tensors or reference-type opaques. "
                    f"Got element {i} of type {type(tensor).__name__}."
                )
            original = getattr(self, name)
            if original.dtype != tensor.dtype:
                raise ValueError(
                    f"Tensor {i} returned by `right_inverse` has dtype {tensor.dtype} "
                    f"while `{name}` has dtype {original.dtype}"
                )
            _set(original, tensor)

    def forward(self) -> Tensor:
        if self.is_tensor:
            tensor = self[0](self.original)
        else:
            tensor = self[0](*(getattr(self, name) for name in _originals(self.ntensors)))
        # by name: the originals of a sequence are no items of the list
        at = 1
        while hasattr(self, str(at)):
            tensor = self[at](tensor)
            at += 1
        return tensor
