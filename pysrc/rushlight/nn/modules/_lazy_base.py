"""What lazy layers share: parameters that wait for the first input."""

from __future__ import annotations

from itertools import chain

import rushlight
from rushlight.nn.parameter import is_lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class LazyModuleMixin:
    """Give a Module parameters without a shape, which its first input settles.

    The subclass has `UninitializedParameter` attributes and defines
    ``initialize_parameters(*args, **kwargs)``, which materializes them; the first call runs it before
    `forward`, and `load_state_dict` settles shapes as well. Then the module becomes a `cls_to_become`, if the
    subclass names that class.

    Notes
    -----
    Same as torch.nn.modules.lazy.LazyModuleMixin:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.modules.lazy.LazyModuleMixin.html

    Examples
    --------
    >>> class Scale(nn.modules.lazy.LazyModuleMixin, nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = nn.UninitializedParameter()
    ...
    ...     def initialize_parameters(self, x):
    ...         self.factor.materialize((x.shape[-1],))
    ...         nn.init.ones_(self.factor)
    ...
    ...     def forward(self, x):
    ...         return x * self.factor
    >>> layer = Scale()
    >>> layer(torch.zeros(2, 3)).shape, layer.factor.shape
    (torch.Size([2, 3]), torch.Size([3]))
    """

    cls_to_become = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def _save_to_state_dict(self, destination, prefix, keep_vars) -> None:
        fleeting = self._non_persistent_buffers_set
        for registered, skipped in ((self._parameters, ()), (self._buffers, fleeting)):
            for name, value in registered.items():
                if value is not None and name not in skipped:
                    as_it_is = keep_vars or is_lazy(value)
                    destination[prefix + name] = value if as_it_is else value.detach()

    def _lazy_load_hook(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ) -> None:
        """Give what waits for a shape the shape of what is about to be loaded."""
        for name, value in chain(self._parameters.items(), self._buffers.items()):
            given = state_dict.get(prefix + name)
            if given is not None and is_lazy(value) and not is_lazy(given):
                with rushlight.no_grad():
                    value.materialize(given.shape)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> Any:
        """Materialize what has no shape, for the arguments of the first call; subclasses override it."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {self.__class__.__name__}")

    def has_uninitialized_params(self) -> bool:
        """Return whether a parameter or buffer still waits for its shape."""
        return any(is_lazy(value) for value in chain(self._parameters.values(), self._buffers.values()))

    def _infer_parameters(self, module, args, kwargs=None) -> None:
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _replicate_for_data_parallel(self):
        raise RuntimeError(
            "Modules with uninitialized parameters can't be used with `DataParallel`. "
            "Run a dummy forward pass to correctly initialize the modules"
        )
