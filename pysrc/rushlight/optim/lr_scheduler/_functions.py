"""Schedulers that ask functions of the user."""

from __future__ import annotations

from ._base import (
    LRScheduler,
    _param_groups_val_list,
    _warn_get_lr_called_within_step,
    function_state,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from rushlight._C import Tensor
    from rushlight.optim import Optimizer


class _FunctionsLR(LRScheduler):
    """Has a function of the epoch for each group; the same one where only one is given."""

    _unsaved = ("optimizer", "lr_lambdas")

    def _keep(self, optimizer, lr_lambda) -> None:
        self.optimizer = optimizer
        n = len(optimizer.param_groups)
        if not isinstance(lr_lambda, (list, tuple)):
            lr_lambda = [lr_lambda] * n
        elif len(lr_lambda) != n:
            raise ValueError(f"Expected {n} lr_lambdas, but got {len(lr_lambda)}")
        self.lr_lambdas = list(lr_lambda)

    def state_dict(self) -> Any:
        """Return all attributes but the optimiser; of functions only the attributes of callable objects."""
        return super().state_dict() | {"lr_lambdas": [function_state(fn) for fn in self.lr_lambdas]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what state_dict() returned, also into the callable objects."""
        states = state_dict["lr_lambdas"]
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "lr_lambdas"})
        for i, state in enumerate(states):
            if state is not None:
                self.lr_lambdas[i].__dict__.update(state)


class LambdaLR(_FunctionsLR):
    """Multiply the initial learning rates by a function of the epoch.

    Parameters
    ----------
    optimizer : Optimizer
        Optimizer whose learning rates to set.
    lr_lambda : callable or list of callables
        Takes the epoch and returns the factor; a list has one for each group. state_dict() keeps the
        attributes of callable objects and nothing of plain functions.
    last_epoch : int, default -1
        Epoch to go on from; -1 begins, others need ``'initial_lr'`` in every group of the optimizer.

    Raises
    ------
    ValueError
        If a list has another length than there are groups.
    KeyError
        If `last_epoch` is not -1 and a group has no ``'initial_lr'``.

    Notes
    -----
    Same as torch.optim.lr_scheduler.LambdaLR:
    https://docs.pytorch.org/docs/2.13/generated/torch.optim.lr_scheduler.LambdaLR.html

    Examples
    --------
    >>> optimizer = torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=1.0)
    >>> warmup = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: min(1.0, (epoch + 1) / 4))
    >>> for epoch in range(5):
    ...     print(epoch, warmup.get_last_lr())
    ...     optimizer.step()
    ...     warmup.step()
    0 [0.25]
    1 [0.5]
    2 [0.75]
    3 [1.0]
    4 [1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | list[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        self._keep(optimizer, lr_lambda)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float | Tensor]:
        """Compute the learning rates of ``last_epoch`` from the initial ones."""
        _warn_get_lr_called_within_step(self)
        return [lr * fn(self.last_epoch) for fn, lr in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(_FunctionsLR):
    """Multiply the learning rates of the epoch before by a function of the epoch.

    Parameters
    ----------
    optimizer : Optimizer
        Optimizer whose learning rates to set.
    lr_lambda : callable or list of callables
        Takes the epoch and returns the factor; a list has one for each group. state_dict() keeps the
        attributes of callable objects and nothing of plain functions.
    last_epoch : int, default -1
        Epoch to go on from; -1 begins, others need ``'initial_lr'`` in every group of the optimizer.

    Raises
    ------
    ValueError
        If a list has another length than there are groups.
    TypeError
        If `lr_lambda` cannot be called.
    KeyError
        If `last_epoch` is not -1 and a group has no ``'initial_lr'``.

    Notes
    -----
    Same as torch.optim.lr_scheduler.MultiplicativeLR:
    https://docs.pytorch.org/docs/2.13/generated/torch.optim.lr_scheduler.MultiplicativeLR.html

    Examples
    --------
    >>> optimizer = torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 0.5)
    >>> for epoch in range(3):
    ...     print(epoch, scheduler.get_last_lr())
    ...     optimizer.step()
    ...     scheduler.step()
    0 [1.0]
    1 [0.5]
    2 [0.25]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | list[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        self._keep(optimizer, lr_lambda)
        for fn in self.lr_lambdas:
            if not callable(fn):
                raise TypeError(f"lr_lambda should be a function, but got {type(fn).__name__}")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float | Tensor]:
        """Compute the learning rates of ``last_epoch`` from those of the epoch before."""
        _warn_get_lr_called_within_step(self)
        lrs = _param_groups_val_list(self.optimizer, "lr")
        if self._is_initial:
            return lrs
        return [lr * fn(self.last_epoch) for fn, lr in zip(self.lr_lambdas, lrs, strict=True)]
