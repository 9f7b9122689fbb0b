"""The scheduler that looks at how training goes."""

from __future__ import annotations

import math
import warnings

from ._base import (
    EPOCH_DEPRECATION_WARNING,
    LRScheduler,
    _param_groups_val_list,
    _update_param_group_val,
    need_optimizer,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    from rushlight.optim import Optimizer


class ReduceLROnPlateau(LRScheduler):
    """Reduce the learning rate when a metric, such as the validation loss, has stopped improving.

    Parameters
    ----------
    optimizer : Optimizer
        Optimizer whose learning rates to set.
    mode : {'min', 'max'}, default 'min'
        Whether lower or higher values are better.
    factor : float, default 0.1
        Factor of a reduction, below 1.
    patience : int, default 10
        Number of epochs without improvement that are allowed; the one after them reduces.
    threshold : float, default 1e-4
        How much better than the best a value must be to count.
    threshold_mode : {'rel', 'abs'}, default 'rel'
        Whether `threshold` is a part of the best value or a difference.
    cooldown : int, default 0
        Number of epochs after a reduction that do not count.
    min_lr : float or list of floats, default 0
        Smallest learning rate; a list has one for each group.
    eps : float, default 1e-8
        Smaller changes of a learning rate are not made.

    Raises
    ------
    ValueError
        If `factor` is 1 or more, a mode is unknown, or a list has another length than there are groups.
    TypeError
        If `optimizer` is no Optimizer.

    Notes
    -----
    Same as torch.optim.lr_scheduler.ReduceLROnPlateau:
    https://docs.pytorch.org/docs/2.13/generated/torch.optim.lr_scheduler.ReduceLROnPlateau.html

    Examples
    --------
    >>> optimizer = torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
    >>> for loss in (0.9, 0.5, 0.5, 0.5, 0.4):
    ...     scheduler.step(loss)
    ...     print(loss, scheduler.get_last_lr())
    0.9 [1.0]
    0.5 [1.0]
    0.5 [1.0]
    0.5 [0.1]
    0.4 [0.1]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: Literal["min", "max"] = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: Literal["rel", "abs"] = "rel",
        cooldown: int = 0,
        min_lr: list[float] | float = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        self.factor = factor
        need_optimizer(optimizer)
        self.optimizer = optimizer
        n = len(optimizer.param_groups)
        if not isinstance(min_lr, (list, tuple)):
            self.default_min_lr = min_lr
            self.min_lrs = [min_lr] * n
        elif len(min_lr) != n:
            raise ValueError(f"expected {n} min_lrs, got {len(min_lr)}")
        else:
            self.default_min_lr = None
            self.min_lrs = list(min_lr)
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = _param_groups_val_list(optimizer, "lr")
        self._init_is_better(mode, threshold, threshold_mode)
        self._reset()

    def _init_is_better(self, mode, threshold, threshold_mode) -> None:
        if mode not in {"min", "max"}:
            raise ValueError("mode " + mode + " is unknown!")
        if threshold_mode not in {"rel", "abs"}:
            raise ValueError("threshold mode " + threshold_mode + " is unknown!")
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode

    def _reset(self) -> None:
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    @property
    def in_cooldown(self) -> Any:
        """Whether epochs do not count yet, after the last reduction."""
        return self.cooldown_counter > 0

    def _is_better(self, a, best):
        sign = -1.0 if self.mode == "min" else 1.0
        margin = sign * self.threshold
        bound = best * (1.0 + margin) if self.threshold_mode == "rel" else best + margin
        return a < bound if self.mode == "min" else a > bound

    def step(self, metrics: Any, epoch: int | None = None) -> None:
        """Count an epoch with its metric, and reduce the learning rates when it is time.

        Parameters
        ----------
        metrics : float or Tensor
            Value of the metric.
        epoch : int, optional
            Deprecated: the number of the epoch.
        """
        current = float(metrics)
        if epoch is None:
            epoch = self.last_epoch + 1
        else:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self.last_epoch = epoch
        self._count(current)
        if self.num_bad_epochs > self.patience:
            self._reduce_lr(epoch)
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = _param_groups_val_list(self.optimizer, "lr")

    def _count(self, current) -> None:
        if self._is_better(current, self.best):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0

    def _reduce_lr(self, epoch) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"The number of param groups in the `optimizer` ({len(groups)}) differs "
                    f"from when `ReduceLROnPlateau` was initialized ({len(self.min_lrs)}), usually due to "
                    "a new param group being added to the optimizer. Please modify the `min_lrs` field "
                    "to match the length of the `optimizer` param groups."
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for min_lr, group in zip(self.min_lrs, groups):
            old = float(group["lr"])
            new = max(old * self.factor, min_lr)
            if old - new > self.eps:
                _update_param_group_val(group, "lr", new)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what state_dict() returned."""
        super().load_state_dict(state_dict)
        self._init_is_better(self.mode, self.threshold, self.threshold_mode)
