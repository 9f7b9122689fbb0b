"""What all optimisers share: groups of parameters, their state, state dicts, hooks."""

from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict
from collections.abc import Iterable
from copy import deepcopy
from itertools import chain
from typing import Any, TypeAlias

import rushlight
from rushlight import _C, _missing
from rushlight.utils.hooks import RemovableHandle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Self, TypeVar

    from rushlight._C import Tensor

    _Loss = TypeVar("_Loss")
    _Loss = TypeVar("_Loss")

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]


# ---- what optimizers that others write import from torch.optim.optimizer, besides the class ----
_ON_DEVICES = ["cuda", "xpu", "hpu", "privateuseone", "xla"]

ParamsT: TypeAlias = (
    "Iterable[rushlight.Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, rushlight.Tensor]]"
)
StateDict: TypeAlias = dict[str, Any]

_params_doc = "params: tensors, pairs of name and tensor, or dicts that are groups with options of their own."
_foreach_doc = "foreach: accepted; one kernel goes over all parameters in any case."
_fused_doc = "fused: float16 and bfloat16 are computed in float32 and rounded once."
_capturable_doc = "capturable: counts of steps lie on the GPU; refused by step() on the CPU."
_differentiable_doc = "differentiable: step() leaves a history, so that a gradient goes through it."
_maximize_doc = "maximize: climb instead of descending."


def _use_grad_for_differentiable(step):
    """Wrap a step so that it records gradients if the option differentiable is on, and else none."""

    @functools.wraps(step)
    def wrapper(self, *args, **kwargs):
        with rushlight.set_grad_enabled(bool(self.defaults["differentiable"])):
            return step(self, *args, **kwargs)

    return wrapper


def _disable_dynamo_if_unsupported(single_tensor_fn=None):
    """Return a decorator that changes nothing: Python always runs."""
    return lambda function: function


def _get_value(x):
    return x.item() if isinstance(x, rushlight.Tensor) else x


def _stack_if_compiling(x):
    return x


def _dispatch_sqrt(x):
    return x.sqrt() if isinstance(x, rushlight.Tensor) else x**0.5


def _to_scalar(x):
    """Make a tensor of one element one without dimensions; numbers stay."""
    return x.squeeze() if isinstance(x, rushlight.Tensor) and x.dim() != 0 else x


def _get_scalar_dtype(is_fused=None):
    """Return the dtype of counts of steps."""
    double = not is_fused and rushlight.get_default_dtype() == rushlight.float64
    return rushlight.float64 if double else rushlight.float32


def _view_as_real(params, *state_and_grads):
    """Replace complex tensors in the lists by views of their parts."""
    for i, param in enumerate(params):
        if param.is_complex():
            for tensors in (params, *state_and_grads):
                tensors[i] = rushlight.view_as_real(tensors[i])


def _default_to_fused_or_foreach(params, differentiable, use_fused=False):
    """Return (fused, foreach): which of PyTorch's implementations it would take by default."""
    there = not differentiable and all(p is None or p.device.type in ("cpu", "cuda") for p in params)
    fused = use_fused and there and all(p is None or p.is_floating_point() for p in params)
    on_gpus = not differentiable and all(p is None or p.is_cuda for p in params)
    return fused, on_gpus and not fused


def _device_dtype_check_for_fused(p, cuda_unsupported=False):
    if not p.is_floating_point():
        devices = ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone"]
        if cuda_unsupported:
            devices.remove("cuda")
        raise RuntimeError(
            "`fused=True` requires all the params to be floating point Tensors of "
            f"supported devices: {devices} but {p.dtype} and {p.device.type}"
        )


def _get_capturable_supported_devices(supports_xla=True):
    return _ON_DEVICES[:] if supports_xla else _ON_DEVICES[:-1]


# ---- hooks of all optimizers, and steps that call them ----
_global_optimizer_pre_hooks = OrderedDict()
_global_optimizer_post_hooks = OrderedDict()


class _RequiredParameter:
    """Stands for a default that every group has to give itself."""

    def __repr__(self):
        return "<required parameter>"


required = _RequiredParameter()


def _register(hooks, hook, prepend=False):
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_optimizer_step_pre_hook(
    hook: Callable[
        [Optimizer, tuple[Any, ...], dict[str, Any]], tuple[tuple[Any, ...], dict[str, Any]] | None
    ],
) -> Any:
    """Register a hook that runs before each step of every optimizer.

    Parameters
    ----------
    hook : callable
        Takes ``(optimizer, args, kwargs)``; it may return new ``(args, kwargs)``.

    Returns
    -------
    RemovableHandle
        Its ``remove()`` removes the hook.
    """
    return _register(_global_optimizer_pre_hooks, hook)


def register_optimizer_step_post_hook(
    hook: Callable[[Optimizer, tuple[Any, ...], dict[str, Any]], None],
) -> Any:
    """Register a hook that runs after each step of every optimizer.

    Parameters
    ----------
    hook : callable
        Takes ``(optimizer, args, kwargs)``.

    Returns
    -------
    RemovableHandle
        Its ``remove()`` removes the hook.
    """
    return _register(_global_optimizer_post_hooks, hook)


def _changed_arguments(step, self, args, kwargs):
    """What the pre-hooks make of the arguments of a step: (self, *args, kwargs)."""
    args = (self, *args)
    for hook in chain(_global_optimizer_pre_hooks.values(), self._optimizer_step_pre_hooks.values()):
        result = hook(self, args, kwargs)
        if result is None:
            continue
        if not (isinstance(result, tuple) and len(result) == 2):
            raise RuntimeError(
                f"{step} must return None or a tuple of (new_args, new_kwargs), but got {result}."
            )
        args, kwargs = result
    return *args, kwargs


def _hooked_step(step):
    """Wrap a class's step so that it calls the hooks."""

    def wrapper(self, *args, **kwargs):
        if _global_optimizer_pre_hooks or self._optimizer_step_pre_hooks:
            self, *args, kwargs = _changed_arguments(step, self, args, kwargs)
        out = step(self, *args, **kwargs)
        if self._optimizer_step_post_hooks or _global_optimizer_post_hooks:
            for hook in chain(
                self._optimizer_step_post_hooks.values(), _global_optimizer_post_hooks.values()
            ):
                hook(self, (self, *args), kwargs)
        return out

    for name in ("__module__", "__name__", "__qualname__", "__doc__"):
        setattr(wrapper, name, getattr(step, name, None))
    wrapper.__wrapped__ = step
    wrapper.hooked = True
    return wrapper


def _fit(param, value, counts_beside=False, key=None):
    """Cast loaded state to the dtype and device of its parameter; the count of steps stays as it is, or goes
    beside the parameter as float32."""
    if isinstance(value, rushlight.Tensor):
        if key == "step":
            return value.to(dtype=rushlight.float32, device=param.device) if counts_beside else value
        dtype = param.dtype if param.is_floating_point() else value.dtype
        return value.to(dtype=dtype, device=param.device)
    if isinstance(value, dict):
        return {k: _fit(param, v, counts_beside, k) for k, v in value.items()}
    if isinstance(value, Iterable):
        return type(value)(_fit(param, v) for v in value)
    return value


def _split_names(params):
    """Return tensors and names of what may be (name, tensor) pairs."""
    pairs = [p for p in params if isinstance(p, tuple)]
    if pairs and len(pairs) != len(params):
        raise ValueError("all optimizer params should be with/without names. Some param names are missing")
    return [p[1] for p in pairs] if pairs else params, [p[0] for p in pairs]


class _Hooked:
    """Registration of hooks of one optimizer."""

    def register_step_pre_hook(
        self,
        hook: Callable[
            [Self, tuple[Any, ...], dict[str, Any]], tuple[tuple[Any, ...], dict[str, Any]] | None
        ],
    ) -> Any:
        """Register a hook that runs before each step.

        Parameters
        ----------
        hook : callable
            Takes ``(optimizer, args, kwargs)``; it may return new ``(args, kwargs)``.

        Returns
        -------
        RemovableHandle
            Its ``remove()`` removes the hook.
        """
        return _register(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[[Self, tuple[Any, ...], dict[str, Any]], None]) -> Any:
        """Register a hook that runs after each step.

        Parameters
        ----------
        hook : callable
            Takes ``(optimizer, args, kwargs)``.

        Returns
        -------
        RemovableHandle
            Its ``remove()`` removes the hook.
        """
        return _register(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[[Optimizer], None], prepend: bool = False) -> Any:
        """Register a hook that runs before state_dict().

        Parameters
        ----------
        hook : callable
            Takes the optimizer.
        prepend : bool, default False
            Run it before the other hooks instead of after them.

        Returns
        -------
        RemovableHandle
            Its ``remove()`` removes the hook.
        """
        return _register(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(
        self, hook: Callable[[Optimizer, dict[str, Any]], dict[str, Any] | None], prepend: bool = False
    ) -> Any:
        """Register a hook that runs after state_dict().

        Parameters
        ----------
        hook : callable
            Takes ``(optimizer, state_dict)``; it may return another dict.
        prepend : bool, default False
            Run it before the other hooks instead of after them.

        Returns
        -------
        RemovableHandle
            Its ``remove()`` removes the hook.
        """
        return _register(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[[Optimizer, dict[str, Any]], dict[str, Any] | None], prepend: bool = False
    ) -> Any:
        """Register a hook that runs before load_state_dict().

        Parameters
        ----------
        hook : callable
            Takes ``(optimizer, state_dict)``; it may return another dict.
        prepend : bool, default False
            Run it before the other hooks instead of after them.

        Returns
        -------
        RemovableHandle
            Its ``remove()`` removes the hook.
        """
        return _register(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable[[Optimizer], None], prepend: bool = False
    ) -> Any:
        """Register a hook that runs after load_state_dict().

        Parameters
        ----------
        hook : callable
            Takes the optimizer.
        prepend : bool, default False
            Run it before the other hooks instead of after them.

        Returns
        -------
        RemovableHandle
            Its ``remove()`` removes the hook.
        """
        return _register(self._optimizer_load_state_dict_post_hooks, hook, prepend)


__getattr__ = _missing.module_getattr(__name__)

_HOOK_DICTS = (
    "_optimizer_step_pre_hooks",
    "_optimizer_step_post_hooks",
    "_optimizer_state_dict_pre_hooks",
    "_optimizer_state_dict_post_hooks",
    "_optimizer_load_state_dict_pre_hooks",
    "_optimizer_load_state_dict_post_hooks",
)


class Optimizer(_Hooked):
    """Implement what all optimizers share: groups of parameters, their state, state dicts and hooks.

    The base class of optimizers. A subclass calls ``super().__init__(params, defaults)`` and defines step(),
    which reads ``self.param_groups`` and keeps what it needs in ``self.state[parameter]``.

    Parameters
    ----------
    params : iterable of Tensors, of (name, Tensor) pairs, or of dicts
        What to optimize; each dict is a group of parameters with options of its own.
    defaults : dict
        Options of the groups that do not give their own.

    Attributes
    ----------
    param_groups : list of dicts
        Groups: ``'params'`` and the options, such as ``'lr'``, which may be changed at any time.
    state : dict
        State of each parameter.

    Raises
    ------
    TypeError
        If `params` is a Tensor or holds something else than tensors.
    ValueError
        If `params` is empty or holds tensors that are no leaves or occur in several groups.

    Notes
    -----
    Same as torch.optim.Optimizer: https://docs.pytorch.org/docs/2.13/optim.html

    Examples
    --------
    >>> class SignDescent(torch.optim.Optimizer):
    ...     def __init__(self, params, lr=0.1):
    ...         super().__init__(params, {"lr": lr})
    ...     @torch.no_grad()
    ...     def step(self, closure=None):
    ...         for group in self.param_groups:
    ...             for p in group["params"]:
    ...                 p.sub_(group["lr"] * p.grad.sign())
    >>> w = nn.Parameter(torch.tensor([1.0, -2.0]))
    >>> (w**2).sum().backward()
    >>> SignDescent([w]).step()
    >>> w.detach()
    tensor([ 0.9000, -1.9000])
    """

    defaults: dict[str, Any]
    state: defaultdict[Any, Any]
    param_groups: list[dict[str, Any]]

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]],
        defaults: dict[str, Any],
    ) -> None:
        self.defaults = defaults
        for name in _HOOK_DICTS:
            setattr(self, name, OrderedDict())
        self._patch_step_function()
        if isinstance(params, rushlight.Tensor):
            raise TypeError(
                "params argument given to the optimizer should be "
                "an iterable of Tensors or dicts, but got " + rushlight.typename(params)
            )
        self.state = defaultdict(dict)
        self.param_groups = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def __getstate__(self):
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state) -> None:
        self.__dict__.update(state)
        for name in _HOOK_DICTS:
            self.__dict__.setdefault(name, OrderedDict())
        self._patch_step_function()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        text = self.__class__.__name__ + " ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            for key in sorted(group):
                if key != "params":
                    text += f"    {key}: {group[key]}\n"
        return text + ")"

    def _patch_step_function(self) -> None:
        cls = self.__class__
        if not getattr(cls.step, "hooked", None):
            cls.step = _hooked_step(cls.step)

    @staticmethod
    def _group_tensors_by_device_and_dtype(tensorlistlist, with_indices=False):
        from rushlight.utils._foreach_utils import _group_tensors_by_device_and_dtype

        return _group_tensors_by_device_and_dtype(tensorlistlist, with_indices)

    # ---- state ----
    def state_dict(self) -> dict[str, Any]:
        """Return the state and the options of all groups as a dict, for a checkpoint.

        Returns
        -------
        dict
            ``'state'`` maps the numbers of parameters to their state, ``'param_groups'`` lists the options of
            the groups, with the numbers of their parameters. The tensors are those of the optimizer, not
            copies.
        """
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers = {}
        start = 0
        groups = []
        for group in self.param_groups:
            packed = {k: v for k, v in group.items() if k != "params"}
            for i, p in enumerate(group["params"], start):
                numbers.setdefault(id(p), i)
            packed["params"] = [numbers[id(p)] for p in group["params"]]
            start += len(packed["params"])
            groups.append(packed)
        state = {(numbers[id(k)] if isinstance(k, rushlight.Tensor) else k): v for k, v in self.state.items()}
        state_dict = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            result = hook(self, state_dict)
            if result is not None:
                state_dict = result
        return state_dict

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the state and the options of all groups from what state_dict() returned.

        Tensors are copied where their device or dtype is not that of the parameter.

        Parameters
        ----------
        state_dict : dict
            What state_dict() returned, also PyTorch's. It is not changed.

        Raises
        ------
        ValueError
            If the numbers of groups or of their parameters differ.
        """
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            result = hook(self, state_dict)
            if result is not None:
                state_dict = result
        groups = self.param_groups
        saved = deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(g["params"]) != len(s["params"]) for g, s in zip(groups, saved)):
            raise ValueError(
                "loaded state dict contains a parameter group "
                "that doesn't match the size of optimizer's group"
            )
        params = {i: p for g, s in zip(groups, saved) for i, p in zip(s["params"], g["params"])}
        beside = {i for s in saved if s.get("fused") or s.get("capturable") for i in s["params"]}
        state = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in params:
                state[params[key]] = _fit(params[key], value, key in beside)
            else:
                state[key] = value
        for group, new in zip(groups, saved):
            new["params"] = group["params"]
            if "param_names" in group:
                new.setdefault("param_names", group["param_names"])
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset the gradients of all parameters.

        Parameters
        ----------
        set_to_none : bool, default True
            Set gradients to None; with False they are filled with 0, in place.
        """
        for group in self.param_groups:
            if set_to_none:
                _C._zero_grads(group["params"])
                continue
            for p in group["params"]:
                if p.grad is None:
                    continue
                if p.grad.grad_fn is not None:
                    p.grad.detach_()
                else:
                    p.grad.requires_grad_(False)
                p.grad.zero_()

    def step(self, closure: Callable[[], _Loss] | None = None) -> _Loss | None:
        """Update the parameters by their gradients; subclasses define it.

        Parameters
        ----------
        closure : callable, optional
            Computes the loss anew, calls backward() and returns the loss.

        Returns
        -------
        Tensor, float or None
            What `closure` returned, None without one.
        """
        raise NotImplementedError

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters, e.g. of layers that are unfrozen during training.

        Parameters
        ----------
        param_group : dict
            ``'params'``, a tensor or several, and options of this group; the others are the optimizer's
            defaults.

        Raises
        ------
        TypeError
            If it is no dict, or ``'params'`` is a set or holds something else than tensors.
        ValueError
            If a parameter is no leaf or already in a group, or lacks a required option.

        Examples
        --------
        >>> model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
        >>> optimizer = torch.optim.SGD(model[1].parameters(), lr=0.1)
        >>> optimizer.add_param_group({"params": model[0].parameters(), "lr": 0.01})
        >>> [group["lr"] for group in optimizer.param_groups]
        [0.1, 0.01]
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, rushlight.Tensor):
            params = [params]
        elif isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but "
                "the ordering of tensors in sets will change between runs. Please use a list instead."
            )
        params, names = _split_names(list(params))
        param_group["params"] = params
        if names:
            param_group["param_names"] = names
        for param in params:
            if not isinstance(param, rushlight.Tensor):
                raise TypeError(
                    "optimizer can only optimize Tensors, "
                    "but one of the params is " + rushlight.typename(param)
                )
            if not self.defaults.get("differentiable") and not (param.is_leaf or param.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(
                    f"parameter group didn't specify a value of required optimization parameter {name}"
                )
            param_group.setdefault(name, default)
        if len(params) != len(set(params)):
            import warnings

            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; "
                "in future, this will cause an error; "
                "see github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=3,
            )
        known = set()
        for group in self.param_groups:
            known.update(group["params"])
            if bool(names) != ("param_names" in group):
                which = "with names" if names else "without names"
                raise ValueError(
                    "all optimizer param groups should be with/without names. "
                    f"cannot add param group {which} to the optimizer"
                )
        if not known.isdisjoint(params):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)
