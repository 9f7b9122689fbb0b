"""Schedulers that move learning rate and momentum against each other."""

from __future__ import annotations

import math
from functools import partial

from ._base import (
    LRScheduler,
    _format_param,
    _update_param_group_val,
    _warn_get_lr_called_within_step,
    function_state,
    need_optimizer,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Literal

    from rushlight._C import Tensor
    from rushlight.optim import Optimizer


class _MomentumLR(LRScheduler):
    """Can move the momentum of groups too, which optimisers with ``betas`` have there."""

    def _begin_momentum(self, base_momentum, max_momentum, last_epoch):
        """Check and note the bounds of the momentum; (lower bounds, upper bounds) of all groups."""
        defaults = self.optimizer.defaults
        if "momentum" not in defaults and "betas" not in defaults:
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.use_beta1 = "betas" in defaults
        lower = _format_param("base_momentum", self.optimizer, base_momentum)
        upper = _format_param("max_momentum", self.optimizer, max_momentum)
        if last_epoch == -1:
            for low, high, group in zip(lower, upper, self.optimizer.param_groups, strict=True):
                self._write_momentum(group, high)
                group["max_momentum"] = high
                group["base_momentum"] = low
        return lower, upper

    def _write_momentum(self, group, momentum) -> None:
        if self.use_beta1:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum


class CyclicLR(_MomentumLR):
    """Cycle the learning rate between two bounds, linearly; the momentum goes the other way.

    step() is called after each batch.

    Parameters
    ----------
    optimizer : Optimizer
        Optimizer whose learning rates to set.
    base_lr : float or list of floats
        Lower bound, where a cycle begins; a list has one for each group.
    max_lr : float or list of floats
        Upper bound of the first cycle.
    step_size_up : int, default 2000
        Number of steps from the lower to the upper bound.
    step_size_down : int, optional
        Number of steps back; `step_size_up` if not given.
    mode : {'triangular', 'triangular2', 'exp_range'}, default 'triangular'
        Height of the cycles: the same; halved with each cycle; times `gamma` with each step.
    gamma : float, default 1.0
        Factor of 'exp_range'.
    scale_fn : callable, optional
        Computes the height, as a part of the first; then `mode` does not count.
    scale_mode : {'cycle', 'iterations'}, default 'cycle'
        What `scale_fn` takes: the number of the cycle or of the step.
    cycle_momentum : bool, default True
        Also cycle the momentum, or beta1, which falls while the learning rate rises.
    base_momentum : float, default 0.8
        Lower bound of the momentum.
    max_momentum : float, default 0.9
        Upper bound of the momentum.
    last_epoch : int, default -1
        Step to go on from; -1 begins.

    Raises
    ------
    ValueError
        If `mode` is unknown, a list has another length than there are groups, or `cycle_momentum` meets an
        optimizer without momentum.

    Notes
    -----
    Same as torch.optim.lr_scheduler.CyclicLR:
    https://docs.pytorch.org/docs/2.13/generated/torch.optim.lr_scheduler.CyclicLR.html

    References
    ----------
    L. Smith, "Cyclical learning rates for training neural networks", 2017, https://arxiv.org/abs/1506.01186

    Examples
    --------
    >>> optimizer = torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=0.1, momentum=0.9)
    >>> scheduler = torch.optim.lr_scheduler.CyclicLR(optimizer, base_lr=0.1, max_lr=0.5, step_size_up=2)
    >>> for batch in range(5):
    ...     print(f"{scheduler.get_last_lr()[0]:.2f} {optimizer.param_groups[0]['momentum']:.2f}")
    ...     optimizer.step()
    ...     scheduler.step()
    0.10 0.90
    0.30 0.85
    0.50 0.80
    0.30 0.85
    0.10 0.90
    """

    _unsaved = ("optimizer", "_scale_fn_ref", "_scale_fn_custom")

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: Literal["triangular", "triangular2", "exp_range"] = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: Literal["cycle", "iterations"] = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float = 0.8,
        max_momentum: float = 0.9,
        last_epoch: int = -1,
    ) -> None:
        need_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = _format_param("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for lr, group in zip(base_lrs, optimizer.param_groups, strict=True):
                _update_param_group_val(group, "lr", lr)
        self.max_lrs = _format_param("max_lr", optimizer, max_lr)
        step_size_up = float(step_size_up)
        self.total_size = step_size_up + (step_size_up if step_size_down is None else float(step_size_down))
        self.step_ratio = step_size_up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode
        self._init_scale_fn()
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.base_momentums, self.max_momentums = self._begin_momentum(
                base_momentum, max_momentum, last_epoch
            )
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    # ---- the height of a cycle ----
    def _init_scale_fn(self) -> None:
        if self._scale_fn_custom is not None:
            return
        self.scale_mode = "cycle"
        if self.mode == "triangular":
            self._scale_fn_ref = self._triangular_scale_fn
        elif self.mode == "triangular2":
            self._scale_fn_ref = self._triangular2_scale_fn
        else:
            self._scale_fn_ref = partial(self._exp_range_scale_fn, self.gamma)
            self.scale_mode = "iterations"

    def scale_fn(self, x: Any) -> float:
        """Return the height of cycle or epoch ``x``, as a part of the first one."""
        scale = self._scale_fn_ref if self._scale_fn_custom is None else self._scale_fn_custom
        return scale(x)

    @staticmethod
    def _triangular_scale_fn(x):
        return 1.0

    @staticmethod
    def _triangular2_scale_fn(x):
        return 1 / (2.0 ** (x - 1))

    @staticmethod
    def _exp_range_scale_fn(gamma, x):
        return gamma**x

    def get_lr(self) -> list[float | Tensor]:
        """Compute the learning rates of ``last_epoch``; with ``cycle_momentum`` also set the momentum."""
        _warn_get_lr_called_within_step(self)
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        part = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)

        def offsets(lower, upper):
            return [(high - low) * part * scale for low, high in zip(lower, upper, strict=True)]

        lrs = [low + offset for low, offset in zip(self.base_lrs, offsets(self.base_lrs, self.max_lrs))]
        if self.cycle_momentum:
            down = offsets(self.base_momentums, self.max_momentums)
            momentums = [high - offset for high, offset in zip(self.max_momentums, down)]
            for group, momentum in zip(self.optimizer.param_groups, momentums, strict=True):
                self._write_momentum(group, momentum)
        return lrs

    def state_dict(self) -> dict[str, Any]:
        """Return all attributes but the optimiser; of ``scale_fn`` those of a callable object."""
        custom = self._scale_fn_custom
        return super().state_dict() | {"_scale_fn_custom": None if custom is None else function_state(custom)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what state_dict() returned, also into a callable object."""
        state = state_dict["_scale_fn_custom"]
        super().load_state_dict(
            {key: value for key, value in state_dict.items() if key != "_scale_fn_custom"}
        )
        if state is not None:
            self._scale_fn_custom.__dict__.update(state)
        self._init_scale_fn()


class OneCycleLR(_MomentumLR):
    """Raise the learning rate to `max_lr`, then decay it far below the initial one: the 1cycle policy.

    The momentum goes the other way. step() is called after each batch, `total_steps` times at most.

    Parameters
    ----------
    optimizer : Optimizer
        Optimizer whose learning rates to set.
    max_lr : float or list of floats
        Largest learning rate; a list has one for each group.
    total_steps : int, optional
        Number of steps of the cycle; ``epochs * steps_per_epoch`` if not given.
    epochs : int, optional
        Number of epochs.
    steps_per_epoch : int, optional
        Number of steps in an epoch.
    pct_start : float, default 0.3
        Part of the cycle during which the learning rate rises.
    anneal_strategy : {'cos', 'linear'}, default 'cos'
        How the learning rate goes from one to the other.
    cycle_momentum : bool, default True
        Also change the momentum, or beta1, which falls while the learning rate rises.
    base_momentum : float or list of floats, default 0.85
        Smallest momentum.
    max_momentum : float or list of floats, default 0.95
        Largest momentum.
    div_factor : float, default 25.0
        The initial learning rate is ``max_lr / div_factor``.
    final_div_factor : float, default 1e4
        The last learning rate is the initial one divided by it.
    three_phase : bool, default False
        Go down to the initial learning rate as fast as up, and then on to the last.
    last_epoch : int, default -1
        Step to go on from; -1 begins.

    Raises
    ------
    ValueError
        If neither `total_steps` nor both `epochs` and `steps_per_epoch` are given or they are no positive
        ints, `pct_start` is no float in [0, 1], `anneal_strategy` is unknown, or `cycle_momentum` meets an
        optimizer without momentum; in step() after `total_steps` steps.

    Notes
    -----
    Same as torch.optim.lr_scheduler.OneCycleLR:
    https://docs.pytorch.org/docs/2.13/generated/torch.optim.lr_scheduler.OneCycleLR.html

    References
    ----------
    L. Smith, N. Topin, "Super-convergence: Very fast training of neural networks using large learning rates",
    2018, https://arxiv.org/abs/1708.07120

    Examples
    --------
    >>> optimizer = torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=0.1, momentum=0.9)
    >>> scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=5, pct_start=0.4)
    >>> for batch in range(5):
    ...     print(f"{scheduler.get_last_lr()[0]:.4f}")
    ...     optimizer.step()
    ...     if batch < 4:
    ...         scheduler.step()
    0.0400
    1.0000
    0.7500
    0.2500
    0.0000
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        need_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = self._count_steps(total_steps, epochs, steps_per_epoch)
        self._schedule_phases = self._phases(pct_start, three_phase)
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._anneal_func_type = anneal_strategy
        max_lrs = _format_param("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for high, group in zip(max_lrs, optimizer.param_groups):
                group["initial_lr"] = high / div_factor
                group["max_lr"] = high
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._begin_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    @staticmethod
    def _count_steps(total_steps, epochs, steps_per_epoch):
        if total_steps is not None:
            if total_steps <= 0 or not isinstance(total_steps, int):
                raise ValueError(f"Expected positive integer total_steps, but got {total_steps}")
            return total_steps
        if epochs is None or steps_per_epoch is None:
            raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        for name, n in (("epochs", epochs), ("steps_per_epoch", steps_per_epoch)):
            if not isinstance(n, int) or n <= 0:
                raise ValueError(f"Expected positive integer {name}, but got {n}")
        return epochs * steps_per_epoch

    def _phases(self, pct_start, three_phase):
        """The parts of the cycle: where each ends, and the names in groups of what it goes from and to."""

        def phase(end_step, *names):
            keys = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")
            return dict(zip(keys, (end_step, *names)))

        total = self.total_steps
        up = phase(float(pct_start * total) - 1, "initial_lr", "max_lr", "max_momentum", "base_momentum")
        if not three_phase:
            return [up, phase(total - 1, "max_lr", "min_lr", "base_momentum", "max_momentum")]
        middle = float(2 * pct_start * total) - 2
        return [
            up,
            phase(middle, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
            phase(total - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum"),
        ]

    # ---- from one value to another ----
    def _anneal_func(self, start, end, pct):
        cos = self._anneal_func_type == "cos"
        return (self._annealing_cos if cos else self._annealing_linear)(start, end, pct)

    @staticmethod
    def _annealing_cos(start, end, pct):
        return end + (start - end) / 2.0 * (math.cos(math.pi * pct) + 1)

    @staticmethod
    def _annealing_linear(start, end, pct):
        return (end - start) * pct + start

    def _place(self, step):
        """(the phase that a step lies in, which part of that phase is over)."""
        start = 0.0
        *phases, phase = self._schedule_phases
        for earlier in phases:
            if step <= earlier["end_step"]:
                phase = earlier
                break
            start = earlier["end_step"]
        return phase, (step - start) / (phase["end_step"] - start)

    def get_lr(self) -> list[float | Tensor]:
        """Compute the learning rates of ``last_epoch`` steps; with ``cycle_momentum`` set the momentum."""
        _warn_get_lr_called_within_step(self)
        if self.last_epoch > self.total_steps:
            raise ValueError(
                f"Tried to step {self.last_epoch} times. "
                f"The specified number of total steps is {self.total_steps}"
            )
        phase, part = self._place(self.last_epoch)
        lrs = []
        for group in self.optimizer.param_groups:
            lrs.append(self._anneal_func(group[phase["start_lr"]], group[phase["end_lr"]], part))
            if self.cycle_momentum:
                start, end = group[phase["start_momentum"]], group[phase["end_momentum"]]
                self._write_momentum(group, self._anneal_func(start, end, part))
        return lrs
