"""Schedulers that follow half waves of a cosine."""

from __future__ import annotations

import math

from ._base import (
    LRScheduler,
    _enable_get_lr_call,
    _param_groups_val_list,
    _warn_get_lr_called_within_step,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor
    from rushlight.optim import Optimizer


def _wave(epoch, length):
    """1 + cos: from 2 to 0 in ``length`` epochs."""
    return 1 + math.cos(math.pi * epoch / length)


class CosineAnnealingLR(LRScheduler):
    """Decay the learning rate along a cosine to `eta_min` in `T_max` epochs, then raise it again.

    At epoch t it is ``eta_min + (initial - eta_min) * (1 + cos(pi * t / T_max)) / 2``, as long as nothing
    else changes it.

    Parameters
    ----------
    optimizer : Optimizer
        Optimizer whose learning rates to set.
    T_max : int
        Epoch at which the learning rate is `eta_min`: half a wave.
    eta_min : float, default 0.0
        Smallest learning rate.
    last_epoch : int, default -1
        Epoch to go on from; -1 begins, others need ``'initial_lr'`` in every group of the optimizer.

    Raises
    ------
    KeyError
        If `last_epoch` is not -1 and a group has no ``'initial_lr'``.

    Notes
    -----
    Same as torch.optim.lr_scheduler.CosineAnnealingLR:
    https://docs.pytorch.org/docs/2.13/generated/torch.optim.lr_scheduler.CosineAnnealingLR.html

    References
    ----------
    I. Loshchilov, F. Hutter, "SGDR: Stochastic gradient descent with warm restarts", 2017,
    https://arxiv.org/abs/1608.03983

    Examples
    --------
    >>> optimizer = torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)
    >>> for epoch in range(5):
    ...     print(f"{scheduler.get_last_lr()[0]:.3f}")
    ...     optimizer.step()
    ...     scheduler.step()
    1.000
    0.854
    0.500
    0.146
    0.000
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float | Tensor]:
        """Compute the learning rates of ``last_epoch`` from those of the epoch before."""
        _warn_get_lr_called_within_step(self)
        lrs = _param_groups_val_list(self.optimizer, "lr")
        if self._is_initial:
            return lrs
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            # up from the bottom, which no factor does
            rise = 1 - math.cos(math.pi / self.T_max)
            return [
                lr + (base_lr - self.eta_min) * rise / 2
                for base_lr, lr in zip(self.base_lrs, lrs, strict=True)
            ]
        factor = _wave(self.last_epoch, self.T_max) / _wave(self.last_epoch - 1, self.T_max)
        return [factor * (lr - self.eta_min) + self.eta_min for lr in lrs]

    def _get_closed_form_lr(self):
        height = _wave(self.last_epoch, self.T_max)
        return [self.eta_min + (base_lr - self.eta_min) * height / 2 for base_lr in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Decay the learning rate along a cosine to `eta_min`, restart at the initial one, and so on (SGDR).

    Parameters
    ----------
    optimizer : Optimizer
        Optimizer whose learning rates to set.
    T_0 : int
        Number of epochs until the first restart.
    T_mult : int, default 1
        Factor by which the number of epochs grows after each restart.
    eta_min : float, default 0.0
        Smallest learning rate.
    last_epoch : int, default -1
        Epoch to go on from; -1 begins, others need ``'initial_lr'`` in every group of the optimizer.

    Raises
    ------
    ValueError
        If `T_0` or `T_mult` is no positive int or `eta_min` no number.
    KeyError
        If `last_epoch` is not -1 and a group has no ``'initial_lr'``.

    Notes
    -----
    Same as torch.optim.lr_scheduler.CosineAnnealingWarmRestarts:
    https://docs.pytorch.org/docs/2.13/generated/torch.optim.lr_scheduler.CosineAnnealingWarmRestarts.html

    References
    ----------
    I. Loshchilov, F. Hutter, "SGDR: Stochastic gradient descent with warm restarts", 2017,
    https://arxiv.org/abs/1608.03983

    Examples
    --------
    >>> optimizer = torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2, T_mult=2)
    >>> for epoch in range(7):
    ...     print(f"{scheduler.get_last_lr()[0]:.3f}")
    ...     optimizer.step()
    ...     scheduler.step()
    1.000
    0.500
    1.000
    0.854
    0.500
    0.146
    1.000
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float | Tensor]:
        """Compute the learning rates of ``T_cur`` epochs after a restart."""
        _warn_get_lr_called_within_step(self)
        height = _wave(self.T_cur, self.T_i)
        return [self.eta_min + (base_lr - self.eta_min) * height / 2 for base_lr in self.base_lrs]

    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch and set its learning rates.

        Parameters
        ----------
        epoch : int or float, optional
            Epoch to go to, which may be a fraction such as ``epoch + batch / batches``.

        Raises
        ------
        ValueError
            If `epoch` is negative.
        """
        if epoch is None and self.last_epoch >= 0:
            epoch = self.last_epoch + 1
            self.T_cur = self.T_cur + 1
            if self.T_cur >= self.T_i:
                self.T_cur = self.T_cur % self.T_i
                self.T_i = self.T_i * self.T_mult
        else:
            epoch = 0 if epoch is None else epoch
            self._seek(epoch)
        self.last_epoch = math.floor(epoch)
        with _enable_get_lr_call(self):
            lrs = self.get_lr()
        self._write_lrs(lrs)

    def _seek(self, epoch) -> None:
        """Find the restart before an epoch: after n of them T_0 * (1 + T_mult + ... ) epochs are over."""
        if epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        if epoch < self.T_0:
            self.T_i = self.T_0
            self.T_cur = epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**n - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**n
