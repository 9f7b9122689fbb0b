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
    """Multiplies the initial learning rates by what ``lr_lambda(epoch)`` returns.

    ``lr_lambda`` is one function for all groups or a list of one for each. A state dict keeps the
    attributes of callable objects and nothing of plain functions; a pickle holds functions by their names.

    See https://docs.pytorch.org/docs/2.13/generated/torch.optim.lr_scheduler.LambdaLR.html
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
    """Multiplies the learning rates of the epoch before by what ``lr_lambda(epoch)`` returns.

    ``lr_lambda`` is as for LambdaLR.

    See https://docs.pytorch.org/docs/2.13/generated/torch.optim.lr_scheduler.MultiplicativeLR.html
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
