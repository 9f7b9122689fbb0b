"""Schedulers that multiply the learning rates of all groups by one factor."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter

from ._base import LRScheduler, _param_groups_val_list, _warn_get_lr_called_within_step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from rushlight.optim import Optimizer


class _FactorLR(LRScheduler):
    """``_factor()`` is what the learning rates are multiplied by at this epoch, None where they stay;
    ``_closed_factor()`` is what they were multiplied by since the beginning."""

    def get_lr(self) -> Any:
        """Compute the learning rates of ``last_epoch`` from those of the epoch before."""
        _warn_get_lr_called_within_step(self)
        factor = self._factor()
        if factor is None:
            return _param_groups_val_list(self.optimizer, "lr")
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def _get_closed_form_lr(self):
        factor = self._closed_factor()
        return [base_lr * factor for base_lr in self.base_lrs]


class StepLR(_FactorLR):
    """Decay the learning rate by a factor every `step_size` epochs.

    Parameters
    ----------
    optimizer : Optimizer
        Optimizer whose learning rates to set.
    step_size : int
        Number of epochs between two decays.
    gamma : float, default 0.1
        Factor of a decay.
    last_epoch : int, default -1
        Epoch to go on from; -1 begins, others need ``'initial_lr'`` in every group of the optimizer.

    Raises
    ------
    KeyError
        If `last_epoch` is not -1 and a group has no ``'initial_lr'``.

    Notes
    -----
    Same as torch.optim.lr_scheduler.StepLR:
    https://docs.pytorch.org/docs/2.13/generated/torch.optim.lr_scheduler.StepLR.html

    Examples
    --------
    >>> optimizer = torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    >>> for epoch in range(5):
    ...     print(epoch, scheduler.get_last_lr())
    ...     optimizer.step()
    ...     scheduler.step()
    0 [1.0]
    1 [1.0]
    2 [0.5]
    3 [0.5]
    4 [0.25]
    """

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self):
        return None if self.last_epoch == 0 or self.last_epoch % self.step_size else self.gamma

    def _closed_factor(self):
        return self.gamma ** (self.last_epoch // self.step_size)


class MultiStepLR(_FactorLR):
    """Decay the learning rate by a factor at given epochs, the milestones.

    Parameters
    ----------
    optimizer : Optimizer
        Optimizer whose learning rates to set.
    milestones : iterable of ints
        Epochs of the decays; one that stands there twice decays twice.
    gamma : float, default 0.1
        Factor of a decay.
    last_epoch : int, default -1
        Epoch to go on from; -1 begins, others need ``'initial_lr'`` in every group of the optimizer.

    Raises
    ------
    KeyError
        If `last_epoch` is not -1 and a group has no ``'initial_lr'``.

    Notes
    -----
    Same as torch.optim.lr_scheduler.MultiStepLR:
    https://docs.pytorch.org/docs/2.13/generated/torch.optim.lr_scheduler.MultiStepLR.html

    Examples
    --------
    >>> optimizer = torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 3], gamma=0.5)
    >>> for epoch in range(4):
    ...     print(epoch, scheduler.get_last_lr())
    ...     optimizer.step()
    ...     scheduler.step()
    0 [1.0]
    1 [0.5]
    2 [0.5]
    3 [0.25]
    """

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self):
        if self.last_epoch not in self.milestones:
            return None
        return self.gamma ** self.milestones[self.last_epoch]

    def _closed_factor(self):
        return self.gamma ** bisect_right(sorted(self.milestones.elements()), self.last_epoch)


class ConstantLR(_FactorLR):
    """Multiply the learning rate by a constant factor during the first `total_iters` epochs.

    Parameters
    ----------
    optimizer : Optimizer
        Optimizer whose learning rates to set.
    factor : float, default 1/3
        Factor of the first epochs, in [0, 1].
    total_iters : int, default 5
        Epoch from which the learning rate is the initial one again.
    last_epoch : int, default -1
        Epoch to go on from; -1 begins, others need ``'initial_lr'`` in every group of the optimizer.

    Raises
    ------
    ValueError
        If `factor` is not in [0, 1].
    KeyError
        If `last_epoch` is not -1 and a group has no ``'initial_lr'``.

    Notes
    -----
    Same as torch.optim.lr_scheduler.ConstantLR:
    https://docs.pytorch.org/docs/2.13/generated/torch.optim.lr_scheduler.ConstantLR.html

    Examples
    --------
    >>> optimizer = torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
    >>> for epoch in range(4):
    ...     print(epoch, scheduler.get_last_lr())
    ...     optimizer.step()
    ...     scheduler.step()
    0 [0.5]
    1 [0.5]
    2 [1.0]
    3 [1.0]
    """

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self):
        if self.last_epoch == 0:
            return self.factor
        return 1.0 / self.factor if self.last_epoch == self.total_iters else None

    def _closed_factor(self):
        return self.factor + (self.last_epoch >= self.total_iters) * (1 - self.factor)


class LinearLR(_FactorLR):
    """Multiply the learning rate by a factor that changes linearly: a linear warm-up or decay.

    Parameters
    ----------
    optimizer : Optimizer
        Optimizer whose learning rates to set.
    start_factor : float, default 1/3
        Factor of the first epoch, in (0, 1].
    end_factor : float, default 1.0
        Factor from epoch `total_iters` on, in [0, 1].
    total_iters : int, default 5
        Number of epochs from the one to the other.
    last_epoch : int, default -1
        Epoch to go on from; -1 begins, others need ``'initial_lr'`` in every group of the optimizer.

    Raises
    ------
    ValueError
        If `start_factor` is not in (0, 1] or `end_factor` not in [0, 1].
    KeyError
        If `last_epoch` is not -1 and a group has no ``'initial_lr'``.

    Notes
    -----
    Same as torch.optim.lr_scheduler.LinearLR:
    https://docs.pytorch.org/docs/2.13/generated/torch.optim.lr_scheduler.LinearLR.html

    Examples
    --------
    >>> optimizer = torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.25, total_iters=3)
    >>> for epoch in range(5):
    ...     print(epoch, scheduler.get_last_lr())
    ...     optimizer.step()
    ...     scheduler.step()
    0 [0.25]
    1 [0.5]
    2 [0.75]
    3 [1.0]
    4 [1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError(
                "Starting multiplicative factor expected to be greater than 0 and less or equal to 1."
            )
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self):
        if self.last_epoch == 0:
            return self.start_factor
        if self._is_initial or self.last_epoch > self.total_iters:
            return None
        rise = self.end_factor - self.start_factor
        return 1.0 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise)

    def _closed_factor(self):
        done = min(self.total_iters, self.last_epoch)
        return self.start_factor + (self.end_factor - self.start_factor) * done / self.total_iters


class ExponentialLR(_FactorLR):
    """Decay the learning rate by a factor every epoch.

    Parameters
    ----------
    optimizer : Optimizer
        Optimizer whose learning rates to set.
    gamma : float
        Factor of a decay.
    last_epoch : int, default -1
        Epoch to go on from; -1 begins, others need ``'initial_lr'`` in every group of the optimizer.

    Raises
    ------
    KeyError
        If `last_epoch` is not -1 and a group has no ``'initial_lr'``.

    Notes
    -----
    Same as torch.optim.lr_scheduler.ExponentialLR:
    https://docs.pytorch.org/docs/2.13/generated/torch.optim.lr_scheduler.ExponentialLR.html

    Examples
    --------
    >>> optimizer = torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> for epoch in range(3):
    ...     print(epoch, scheduler.get_last_lr())
    ...     optimizer.step()
    ...     scheduler.step()
    0 [1.0]
    1 [0.5]
    2 [0.25]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self):
        return None if self._is_initial else self.gamma

    def _closed_factor(self):
        return self.gamma**self.last_epoch


class PolynomialLR(_FactorLR):
    """Decay the learning rate to 0 by a polynomial: ``(1 - epoch / total_iters)**power`` of the initial one.

    Parameters
    ----------
    optimizer : Optimizer
        Optimizer whose learning rates to set.
    total_iters : int, default 5
        Epoch at which the learning rate becomes 0.
    power : float, default 1.0
        Power of the polynomial; 1 decays linearly.
    last_epoch : int, default -1
        Epoch to go on from; -1 begins, others need ``'initial_lr'`` in every group of the optimizer.

    Raises
    ------
    KeyError
        If `last_epoch` is not -1 and a group has no ``'initial_lr'``.

    Notes
    -----
    Same as torch.optim.lr_scheduler.PolynomialLR:
    https://docs.pytorch.org/docs/2.13/generated/torch.optim.lr_scheduler.PolynomialLR.html

    Examples
    --------
    >>> optimizer = torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=4, power=2.0)
    >>> for epoch in range(5):
    ...     print(epoch, scheduler.get_last_lr())
    ...     optimizer.step()
    ...     scheduler.step()
    0 [1.0]
    1 [0.5625]
    2 [0.25]
    3 [0.0625]
    4 [0.0]
    """

    def __init__(
        self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1
    ) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def _left(self, epoch):
        return 1.0 - epoch / self.total_iters

    def _factor(self):
        if self._is_initial or self.last_epoch > self.total_iters:
            return None
        return (self._left(self.last_epoch) / self._left(self.last_epoch - 1)) ** self.power

    def _closed_factor(self):
        return self._left(min(self.total_iters, self.last_epoch)) ** self.power
