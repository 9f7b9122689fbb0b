"""Parameters that are computed from others whenever they are read.

``register_parametrization(module, "weight", f)`` moves it to ``module.parametrizations.weight.original``
and gives the module a class of its own, in which ``weight`` is a property: reading it calls ``f(original)``,
assigning to it stores ``f.right_inverse(value)``.
"""

from __future__ import annotations

import copyreg
from collections.abc import Sequence
from contextlib import contextmanager
from copy import deepcopy

import rushlight
from rushlight._C import Parameter, Tensor
from rushlight.nn.modules.container import ModuleDict, ModuleList

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Module

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]


# ---- the parametrizations of one tensor, and its originals ----
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


_cache_enabled = 0
_cache: dict = {}  # (id of the module, name): what was computed


@contextmanager
def cached() -> Any:
    """Cache parametrized tensors within a context: each is computed once only, when it is first read.

    Notes
    -----
    Same as torch.nn.utils.parametrize.cached:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.parametrize.cached.html

    Examples
    --------
    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(4, 3))
    >>> with nn.utils.parametrize.cached():
    ...     layer.weight is layer.weight
    True
    """
    global _cache, _cache_enabled
    _cache_enabled += 1
    try:
        yield
    finally:
        _cache_enabled -= 1
        if not _cache_enabled:
            _cache = {}


def _inject_new_class(module) -> None:
    """Give the module a class of its own, for its properties to live in."""
    cls = module.__class__

    def default_deepcopy(self, memo):
        """As copy.deepcopy does it, but without __getstate__, which refuses."""
        known = memo.get(id(self))
        if known is not None:
            return known
        replica = self.__new__(self.__class__)
        memo[id(self)] = replica
        replica.__dict__ = deepcopy(self.__dict__, memo)
        for slot in copyreg._slotnames(self.__class__):
            if hasattr(self, slot):
                setattr(replica, slot, deepcopy(getattr(self, slot), memo))
        return replica

    def getstate(self):
        raise RuntimeError(
            "Serialization of parametrized modules is only "
            "supported through state_dict(). See:\n"
            "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
            "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
        )

    body = {"__getstate__": getstate}
    if not hasattr(cls, "__deepcopy__"):
        body["__deepcopy__"] = default_deepcopy
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), body)


def _inject_property(module, tensor_name) -> None:
    if hasattr(module, tensor_name):
        raise AssertionError(f"Module already has an attribute named '{tensor_name}'")

    def get_parametrized(self):
        parametrization = self.parametrizations[tensor_name]
        if not _cache_enabled:
            return parametrization()
        key = (id(self), tensor_name)
        tensor = _cache.get(key)
        if tensor is None:
            tensor = _cache[key] = parametrization()
        return tensor

    def set_original(self, value) -> None:
        self.parametrizations[tensor_name].right_inverse(value)

    setattr(module.__class__, tensor_name, property(get_parametrized, set_original))


def _check_appended(name, parametrization, before) -> None:
    """Refuse a further parametrization that changes the dtype or shape of the tensor."""
    after = parametrization(before)
    if not isinstance(after, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(after).__name__}.")
    for what in ("dtype", "shape"):
        was, now = getattr(before, what), getattr(after, what)
        if was != now:
            raise ValueError(
                f"Registering a parametrization may not change the {what} of the tensor, unless the "
                f"`unsafe` flag is enabled.\nmodule.{name}.{what}: {was}\n"
                f"parametrization(module.{name}).{what}: {now}"
            )
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        back = parametrization.right_inverse(after)
    except NotImplementedError:
        return
    if not isinstance(back, Tensor):
        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}")
    for what in ("dtype", "shape"):
        was, now = getattr(before, what), getattr(back, what)
        if was != now:
            raise ValueError(
                f"The tensor returned by parametrization.right_inverse must have the same {what} as "
                f"module.{name}, unless the `unsafe` flag is enabled.\nmodule.{name}.{what}: {was}\n"
                f"returned {what}: {now}"
            )


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Register a parametrization: compute a parameter or buffer by a module whenever it is read.

    The tensor moves to ``module.parametrizations.<name>.original``. A parametrization that has
    ``right_inverse(value)`` allows assigning to the tensor. Several apply one after the other.

    Parameters
    ----------
    module : Module
        Module that has the tensor.
    tensor_name : str
        Name of the parameter or buffer.
    parametrization : Module
        Computes the tensor from its original.
    unsafe : bool, default False
        Allow it to change shape or dtype.

    Returns
    -------
    Module
        The module, which is changed.

    Raises
    ------
    ValueError
        If there is no such tensor, or shape or dtype change.

    Notes
    -----
    Same as torch.nn.utils.parametrize.register_parametrization:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.parametrize.register_parametrization.html

    Examples
    --------
    >>> class Symmetric(nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).mT
    >>> layer = nn.utils.parametrize.register_parametrization(nn.Linear(3, 3), "weight", Symmetric())
    >>> torch.equal(layer.weight, layer.weight.T)
    True
    >>> [name for name, _ in layer.named_parameters()]
    ['bias', 'parametrizations.weight.original']
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_appended(tensor_name, parametrization, getattr(module, tensor_name))
        module.parametrizations[tensor_name].append(parametrization)
        module.parametrizations[tensor_name].unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        # made first, as it may refuse; then nothing has changed
        parametrizations = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _inject_new_class(module)
            module.parametrizations = ModuleDict()
        _inject_property(module, tensor_name)
        module.parametrizations[tensor_name] = parametrizations
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a "
            f"parametrized element with name '{tensor_name}'"
        )
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Return whether a module has parametrizations, or one of a certain tensor.

    Parameters
    ----------
    module : Module
        Module.
    tensor_name : str, optional
        Name of the parameter or buffer; any if not given.

    Returns
    -------
    bool
        Whether it has.

    Notes
    -----
    Same as torch.nn.utils.parametrize.is_parametrized:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.parametrize.is_parametrized.html

    Examples
    --------
    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(4, 3))
    >>> parametrize = nn.utils.parametrize
    >>> parametrize.is_parametrized(layer), parametrize.is_parametrized(layer, "bias")
    (True, False)
    """
    parametrizations = getattr(module, "parametrizations", None)
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Remove the parametrizations of a tensor, which becomes an ordinary one again.

    Parameters
    ----------
    module : Module
        Module that has the tensor.
    tensor_name : str
        Name of the parameter or buffer.
    leave_parametrized : bool, default True
        Keep the value that is computed now; otherwise that of the original.

    Returns
    -------
    Module
        The module, which is changed.

    Raises
    ------
    ValueError
        If it has none, or there are several originals and `leave_parametrized` is False.

    Notes
    -----
    Same as torch.nn.utils.parametrize.remove_parametrizations:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.parametrize.remove_parametrizations.html

    Examples
    --------
    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(4, 3))
    >>> layer = nn.utils.parametrize.remove_parametrizations(layer, "weight")
    >>> sorted(name for name, _ in layer.named_parameters())
    ['bias', 'weight']
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parametrizations = module.parametrizations[tensor_name]
    if parametrizations.is_tensor:
        original = parametrizations.original
        if leave_parametrized:
            with rushlight.no_grad():
                _set(original, getattr(module, tensor_name))
    elif leave_parametrized:
        tensor = getattr(module, tensor_name)
        original = Parameter(tensor) if tensor.requires_grad else tensor
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor "
            "that is parametrized in terms of a sequence of tensors."
        )
    delattr(module.__class__, tensor_name)
    del module.parametrizations[tensor_name]
    _register_parameter_or_buffer(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = module.__class__.__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """Return the class that a module had before parametrizations were registered.

    Parameters
    ----------
    module : Module
        Module.

    Returns
    -------
    type
        Its class.

    Examples
    --------
    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(4, 3))
    >>> type(layer).__name__, nn.utils.parametrize.type_before_parametrizations(layer).__name__
    ('ParametrizedLinear', 'Linear')
    """
    return module.__class__.__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Transfer the parametrizations of a module to another one; both then share what the tensors come from.

    Parameters
    ----------
    from_module : Module
        Module that has them.
    to_module : Module
        Module that gets them.
    tensor_name : str, optional
        Name of the parameter or buffer; all if not given.

    Returns
    -------
    Module
        `to_module`, which is changed.

    Examples
    --------
    >>> source = nn.utils.parametrizations.orthogonal(nn.Linear(3, 3))
    >>> target = nn.utils.parametrize.transfer_parametrizations_and_params(source, nn.Linear(3, 3))
    >>> torch.equal(source.weight, target.weight)
    True
    """
    if not is_parametrized(from_module):
        return to_module
    for name in from_module.parametrizations if tensor_name is None else [tensor_name]:
        source = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        for parametrization in source:
            register_parametrization(to_module, name, parametrization)
        target = to_module.parametrizations[name]
        for original in ["original"] if source.is_tensor else _originals(source.ntensors):
            setattr(target, original, getattr(source, original))
    return to_module
