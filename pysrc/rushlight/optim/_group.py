"""Optimizers whose step over a group is one operator."""

from __future__ import annotations

from types import FunctionType

import rushlight
from rushlight import _C

from .optimizer import Optimizer, _get_capturable_supported_devices, _get_scalar_dtype, _get_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from rushlight._C import Tensor

    from .optimizer import _Loss


def count(value: float, group: Any, param: Any) -> Any:
    """Make a number of the state that counts for a whole parameter: a tensor without dimensions, on a GPU
    where the step must not ask it."""
    dtype = _get_scalar_dtype(is_fused=group.get("fused"))
    beside = param.is_cuda and (group.get("capturable") or group.get("fused"))
    return rushlight.tensor(float(value), dtype=dtype, device=param.device if beside else "cpu")


def downhill(param: Any, grad: Any, group: Any) -> Any:
    """Return the gradient to follow, with what decays the weights."""
    if group["maximize"]:
        grad = -grad
    decay = group["weight_decay"]
    return grad.add(param, alpha=decay) if decay != 0 else grad


def update_each(update: Any, params: Any, grads: Any, state: Any, group: Any) -> None:
    """Run ``update(param, grad, state, group)`` over lists; ``state`` maps names to lists as long."""
    for i, (param, grad) in enumerate(zip(params, grads, strict=True)):
        own = {name: tensors[i] for name, tensors in state.items() if tensors}
        update(param, grad, own, group)
        for name, tensors in state.items():
            if name in own:
                tensors[i] = own[name]


def check_rate(lr: float | Tensor, foreach: bool | None = None, capturable: bool = False) -> None:
    """Raise ValueError unless ``lr`` is a number that is not negative, or a tensor of one."""
    if isinstance(lr, rushlight.Tensor):
        if foreach and not capturable:
            raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
        if lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
    check(lr, "learning rate")


def decayed(param: Any, grad: Any, group: Any, lr: float | Tensor) -> Any:
    """Take the weight decay from the parameter if it is decoupled; answer the gradient to follow."""
    if not group["decoupled_weight_decay"]:
        return downhill(param, grad, group)
    if group["weight_decay"] != 0:
        param.mul_(1 - lr * group["weight_decay"])
    return -grad if group["maximize"] else grad


def move_moments(state: Any, grad: Any, beta1: Any, beta2: Any) -> Any:
    """Move the means of gradients and of their squares on; return them."""
    mean, squares = state["exp_avg"].lerp_(grad, 1 - beta1), state["exp_avg_sq"]
    if isinstance(beta2, rushlight.Tensor) and beta2.requires_grad:
        return mean, squares.lerp_(grad.square(), 1 - beta2)
    return mean, squares.mul_(beta2).addcmul_(grad, grad, value=_get_value(1 - beta2))


def check(value: float, what: Any) -> None:
    """Raise ValueError unless ``value`` is at least 0."""
    if not 0.0 <= value:
        raise ValueError(f"Invalid {what}: {value}")


def require(holds, what, value):
    """Raise ValueError unless it holds for ``value`` what it should."""
    if not holds:
        raise ValueError(f"{what} but is: {value}")


def check_betas(betas: tuple[float | Tensor, float | Tensor]) -> None:
    """Raise ValueError unless all are in [0, 1)."""
    for i in range(2):
        if not 0.0 <= betas[i] < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {betas[i]}")


class GroupOptimizer(Optimizer):
    """A step is one operator over all parameters of a group, ``_OPERATOR`` by its id. What it does not take
    (other dtypes and devices, a step that leaves a history) ``_update`` does with separate operators.

    ``_STATE`` names the state as large as the parameters, by the operator's order, and the option without
    which there is none; ``_COUNTS`` the state's numbers and what they begin with; ``_NUMBERS`` the options
    that the operator takes, ``_CHECKED`` those that are only checked for their bounds, in PyTorch's order.
    ``_ADDED`` are options that groups of older checkpoints lack, ``_CAPTURABLE`` PyTorch's words for what
    would have to be on a GPU.
    """

    _OPERATOR: str
    _CHECKED = ()
    _STATE: dict
    _COUNTS = {"step": 0}
    _NUMBERS: tuple
    _ADDED = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}
    _CAPTURABLE = "params and state_steps"
    _step_supports_amp_scaling = False

    def __init__(self, params: Any, defaults: Any) -> None:
        for name in self._CHECKED:
            if name == "lr":
                check_rate(defaults["lr"])
            elif name == "betas":
                check_betas(defaults["betas"])
            else:
                check(defaults[name], "epsilon value" if name == "eps" else f"{name} value")
        super().__init__(params, defaults)

    def __init_subclass__(cls, **options):
        """Keep what the step in C goes by: the operator, the names of state and of numbers."""
        super().__init_subclass__(**options)
        operator = _C._optimizer_operator(cls._OPERATOR)
        cls._PLAN = operator, tuple(cls._STATE.items()), tuple(cls._COUNTS), cls._NUMBERS
        if cls.__bases__ == (GroupOptimizer,):  # texts and tracebacks name the class
            cls.step = FunctionType(cls.step.__code__, globals(), "step", (None,))
            cls.step.__qualname__, cls.step.__doc__ = f"{cls.__qualname__}.step", GroupOptimizer.step.__doc__
            cls.step.__module__ = cls.__module__

    def __setstate__(self, state) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, default in self._ADDED.items():
                group.setdefault(name, default)
            for param in group["params"]:
                own = self.state.get(param, {})
                for name in self._COUNTS:
                    if name in own and not isinstance(own[name], rushlight.Tensor):
                        own[name] = count(own[name], group, param)
                    elif name in own and isinstance(own.get("step"), rushlight.Tensor):
                        own[name] = own[name].to(own["step"].device)  # loading moved it to the parameter

    def _keys(self, group):
        """Return the names of state as large as the parameters that the options ask for."""
        return [name for name, option in self._STATE.items() if option is None or group[option]]

    def _start(self, param, state, group):
        """Fill the state of a parameter that was never updated."""
        for name, first in self._COUNTS.items():
            state[name] = count(first, group, param)
        for name in self._keys(group):
            state[name] = rushlight.zeros_like(param, memory_format=rushlight.preserve_format)

    def _allow_fused(self, fused, foreach, differentiable):
        """Check the options that exclude each other."""
        if fused and differentiable:
            raise RuntimeError("`fused` does not support `differentiable`")
        if fused:
            self._step_supports_amp_scaling = True
        if fused and foreach:
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")

    def step(self, closure: Callable[[], _Loss] | None = None) -> _Loss | None:
        """Update every parameter that has a gradient.

        Parameters
        ----------
        closure : callable, optional
            Computes the loss anew, calls backward() and returns the loss; it runs before the update.

        Returns
        -------
        Tensor, float or None
            What `closure` returned, None without one.
        """
        loss = None
        if closure is not None:
            with rushlight.enable_grad():
                loss = closure()
        scales = self._scales() if self._step_supports_amp_scaling else None
        for group in self.param_groups:
            if scales:
                self._step_scaled(group, *scales)
            elif not _C._optimizer_step(self._PLAN, group, self.state):
                self._step_unusual(group)
        return loss

    def _scales(self):
        """What GradScaler leaves to fused steps: (grad_scale, found_inf), or None."""
        scales = getattr(self, "grad_scale", None), getattr(self, "found_inf", None)
        return None if scales == (None, None) else scales

    def _step_scaled(self, group, scale, found):
        """Divide gradients by a scale, and do nothing if one was found to be infinite. On a GPU both stay
        where they are, and so does the answer."""
        pairs = self._pairs(group)
        devices = {param.device for param, _ in pairs}
        if len(devices) == 1 and (device := devices.pop()).type == "cuda":
            there = [None if x is None else x.to(device, non_blocking=True) for x in (scale, found)]
            if _C._optimizer_step(self._PLAN, group, self.state, *there):
                return
            self._begin(group, pairs)
            self._move_state(group, pairs)
            if _C._optimizer_step(self._PLAN, group, self.state, *there):
                return
        if found is not None and found.item():
            return
        for _, grad in pairs:
            if scale is not None:
                grad.div_(scale.to(grad.device))
        if not _C._optimizer_step(self._PLAN, group, self.state):
            self._step_unusual(group)

    def _move_state(self, group, pairs):
        """Bring to the GPU what a step reads that is not asked whether to happen."""
        for param, _ in pairs:
            own = self.state[param] if self._COUNTS else {}
            for name in self._COUNTS:
                if isinstance(own.get(name), rushlight.Tensor):
                    own[name] = own[name].to(param.device)

    def _pairs(self, group):
        # other threads may drop gradients
        return [(p, grad) for p in group["params"] if (grad := p.grad) is not None]

    def _begin(self, group, pairs):
        """Make the state of parameters that were never updated; others must not see half of it."""
        keeps = bool(self._COUNTS) or bool(self._keys(group))
        for param, _ in pairs if keeps else ():
            if not self.state[param]:
                fresh = {}
                self._start(param, fresh, group)
                self.state[param].update(fresh)
        return keeps

    def _step_unusual(self, group):
        """The first step, which makes the state, and whatever the operator does not take."""
        with rushlight.set_grad_enabled(group["differentiable"]):
            pairs = self._pairs(group)
            keeps = self._begin(group, pairs)
            if not _C._optimizer_step(self._PLAN, group, self.state):
                self._check_capturable(pairs, group)
                for param, grad in pairs:
                    self._check_counts(self.state[param] if keeps else {})
                    self._update(param, grad, self.state[param] if keeps else {}, group)

    def _check_counts(self, state):
        if not all(isinstance(state.get(name), rushlight.Tensor) for name in self._COUNTS):
            raise RuntimeError(
                "API has changed, `state_steps` argument must contain a list of singleton tensors"
            )

    def _check_capturable(self, params, group):
        counts = [self.state[param].get(name) for param, _ in params for name in self._COUNTS]
        there = all(isinstance(x, rushlight.Tensor) and x.is_cuda for x in counts)
        if group.get("capturable") and not (there and all(param.is_cuda for param, _ in params)):
            devices = _get_capturable_supported_devices()
            raise AssertionError(
                f"If capturable=True, {self._CAPTURABLE} must be on supported devices: {devices}."
            )
