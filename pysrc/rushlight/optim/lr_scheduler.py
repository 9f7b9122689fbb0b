"""Schedules of learning rates: how the ``lr`` of an optimiser's groups changes from epoch to epoch.

``scheduler.step()`` belongs behind ``optimizer.step()``. A learning rate that is a tensor stays that tensor:
it is filled in place.

See https://docs.pytorch.org/docs/2.13/optim.html#how-to-adjust-learning-rate
"""

from __future__ import annotations

import math
import types
import warnings
from bisect import bisect_right
from collections import Counter
from functools import partial, wraps
from weakref import ref

import rushlight
from rushlight import _missing
from rushlight.optim.optimizer import Optimizer, _to_scalar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, Literal

    from rushlight._C import Tensor
    from rushlight.optim import Optimizer

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]


__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)


# ---- what all schedulers share: the count of epochs, writing learning rates into groups, state dicts ----
_ORDER_PAGE = "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
_OVERRIDDEN = (
    "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. "
    "Please, make sure to call `optimizer.step()` before `lr_scheduler.step()`. " + _ORDER_PAGE
)
_WRONG_ORDER = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. "
    "In PyTorch 1.1.0 and later, you should call them in the opposite order: "
    "`optimizer.step()` before `lr_scheduler.step()`.  Failure to do this "
    "will result in PyTorch skipping the first value of the learning rate schedule. " + _ORDER_PAGE
)
EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. "
    "Please use `scheduler.step()` to step the scheduler. During the deprecation, if epoch is different "
    "from None, the closed form is used instead of the new chainable form, where available. "
    "Please open an issue if you are unable to replicate your use case: "
    "https://github.com/pytorch/pytorch/issues/new/choose."
)
_NOT_RESUMABLE = """\
param 'initial_lr' is not specified in param_groups[{}] when resuming scheduler with last_epoch >= 0.
This typically happens when:
1. You're trying to resume training from a checkpoint but haven't properly loaded the optimizer state
2. You're using last_epoch >= 0 for a fresh training run (not recommended)"""


# ---- values of groups ----
def _own(value):
    """A copy of a tensor, which its group writes to in place; other values as they are."""
    return value.clone() if isinstance(value, rushlight.Tensor) else value


def _format_param(name, optimizer, param):
    """Return a value for each group: one for all, or a list of as many as there are groups."""
    groups = optimizer.param_groups
    if not isinstance(param, (list, tuple)):
        param = [param] * len(groups)
    elif len(param) != len(groups):
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. "
            f"{name} has {len(param)} values, param_groups has {len(groups)}."
        )
    return [_own(value) for value in param]


def _param_groups_val_list(optimizer, key):
    """Return the values of a key in all groups; tensors are copies."""
    return [_own(group[key]) for group in optimizer.param_groups]


def _update_param_group_val(param_group, key, val):
    """Set a value of a group; a tensor stays that tensor and is filled."""
    if isinstance(param_group[key], rushlight.Tensor):
        param_group[key].fill_(_to_scalar(val))
    else:
        param_group[key] = val


# ---- functions that users give ----
def function_state(function):
    """What a state dict keeps of a function: the attributes of an object, nothing of a plain function."""
    return None if isinstance(function, types.FunctionType) else function.__dict__.copy()


# ---- which call we are in ----
class _Raised:
    """Raises a flag of a scheduler while its block runs."""

    _flag = None

    def __init__(self, o) -> None:
        self.o = o

    def __enter__(self):
        setattr(self.o, self._flag, True)
        return self

    def __exit__(self, type, value, traceback) -> None:
        setattr(self.o, self._flag, False)


class _enable_get_lr_call(_Raised):
    """While it runs get_lr() does not warn."""

    _flag = "_get_lr_called_within_step"


class _initial_mode(_Raised):
    """While it runs the step is the one that makes the scheduler begin."""

    _flag = "_is_initial"


def _warn_get_lr_called_within_step(lr_scheduler) -> None:
    if not lr_scheduler._get_lr_called_within_step:
        warnings.warn(
            "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
            UserWarning,
            stacklevel=3,  # who called get_lr()
        )


# ---- the base class ----
def need_optimizer(optimizer) -> None:
    """Refuse what is no optimiser."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def _note_steps(optimizer) -> None:
    """Make an optimiser note in ``_opt_called`` that its step was called; once, for all its schedulers."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    weak, function = ref(optimizer), optimizer.step.__func__

    @wraps(function)
    def step(*args, **kwargs):
        owner = weak()
        owner._opt_called = True
        return function(owner, *args, **kwargs)

    step._wrapped_by_lr_sched = True
    optimizer.step = step


class LRScheduler:
    """Implement what all learning rate schedulers share: the count of epochs and setting the learning rates.

    The base class of schedulers. A subclass returns the learning rates of all groups from get_lr(). Training
    calls ``optimizer.step()`` for each batch and ``scheduler.step()`` after each epoch.

    Parameters
    ----------
    optimizer : Optimizer
        Optimizer whose learning rates to set.
    last_epoch : int, default -1
        Epoch to go on from; -1 begins, others need ``'initial_lr'`` in every group of the optimizer.

    Attributes
    ----------
    base_lrs : list of floats
        Initial learning rates of the groups.
    last_epoch : int
        Current epoch.

    Raises
    ------
    TypeError
        If `optimizer` is no Optimizer.
    KeyError
        If `last_epoch` is not -1 and a group has no ``'initial_lr'``.

    Notes
    -----
    Same as torch.optim.lr_scheduler.LRScheduler:
    https://docs.pytorch.org/docs/2.13/generated/torch.optim.lr_scheduler.LRScheduler.html

    Examples
    --------
    >>> class Halving(torch.optim.lr_scheduler.LRScheduler):
    ...     def get_lr(self):
    ...         return [lr / 2**self.last_epoch for lr in self.base_lrs]
    >>> optimizer = torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=0.8)
    >>> scheduler = Halving(optimizer)
    >>> for epoch in range(2):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.2]
    """

    _get_lr_called_within_step = False
    _is_initial = False
    _unsaved = ("optimizer",)  # attributes that are not in the state dict as they stand

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        need_optimizer(optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _own(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(_NOT_RESUMABLE.format(i))
        self.base_lrs = _param_groups_val_list(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _note_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        """Set the learning rates of the epoch to begin with."""
        self._step_count = 0
        with _initial_mode(self):
            self.step()

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the scheduler as a dict: its attributes without the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key not in self._unsaved}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the state of the scheduler from what state_dict() returned.

        Parameters
        ----------
        state_dict : dict
            What state_dict() of a scheduler of the same class returned.
        """
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[float | Tensor]:
        """Return the learning rates of all groups that the last step set; tensors are copies."""
        return self._last_lr

    def get_lr(self) -> list[float | Tensor]:
        """Compute the learning rates of all groups for ``last_epoch``; step() calls it."""
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch and set its learning rates.

        It warns where the first call comes before ``optimizer.step()``.

        Parameters
        ----------
        epoch : int, optional
            Deprecated: the epoch to go to.
        """
        if self._step_count == 1:
            if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
                warnings.warn(_OVERRIDDEN, UserWarning, stacklevel=2)
            elif not getattr(self.optimizer, "_opt_called", False):
                warnings.warn(_WRONG_ORDER, UserWarning, stacklevel=2)
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch=None) -> None:
        """step() without its warnings: an epoch that is given takes the closed form, where there is one."""
        compute = self.get_lr
        with _enable_get_lr_call(self):
            if epoch is None:
                self.last_epoch += 1
            else:
                self.last_epoch = epoch
                compute = getattr(self, "_get_closed_form_lr", compute)
            lrs = compute()
        self._write_lrs(lrs)

    def _write_lrs(self, lrs) -> None:
        for group, lr in zip(self.optimizer.param_groups, lrs, strict=True):
            _update_param_group_val(group, "lr", lr)
        self._last_lr = _param_groups_val_list(self.optimizer, "lr")


class _LRScheduler(LRScheduler):
    """The old name of the base class."""


# ---- schedulers that ask functions of the user ----
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


# ---- schedulers that multiply the learning rates of all groups by one factor ----
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


# ---- schedulers that follow half waves of a cosine ----
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


# ---- schedulers that move learning rate and momentum against each other ----
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


# ---- the scheduler that looks at how training goes ----
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


# ---- schedulers made of schedulers ----
class _SeveralLR(LRScheduler):
    """Has a list of schedulers of one optimiser."""

    _unsaved = ("optimizer", "_schedulers")

    def _check(self, optimizer, schedulers) -> None:
        name = type(self).__name__
        for i, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(f"{name} at index {i} should have `optimizer` as its attribute.")
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(
                    f"{name} does not support `ReduceLROnPlateau` scheduler as it "
                    "requires additional kwargs to be specified when calling `step`, "
                    f"but got one at index {i} in the given schedulers sequence."
                )
            if optimizer != scheduler.optimizer:
                raise ValueError(
                    f"{name} expects all schedulers to belong to the same optimizer, but "
                    f"got scheduler {type(scheduler).__name__} at index {i} has {scheduler.optimizer}, "
                    f"which is different from {type(optimizer).__name__}."
                )

    def state_dict(self) -> Any:
        """Return all attributes but the optimiser, with the state dicts of the schedulers."""
        return super().state_dict() | {"_schedulers": [s.state_dict() for s in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what state_dict() returned, also into the schedulers."""
        states = state_dict["_schedulers"]
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "_schedulers"})
        for i, state in enumerate(states):
            self._schedulers[i].load_state_dict(state)


class SequentialLR(_SeveralLR):
    """Run several learning rate schedulers one after the other.

    Parameters
    ----------
    optimizer : Optimizer
        Optimizer whose learning rates to set.
    schedulers : list of LRSchedulers
        Schedulers of this optimizer, in their order.
    milestones : list of ints
        Epochs at which the second scheduler begins, the third, and so on; each begins with its epoch 0.
    last_epoch : int, default -1
        Epoch to go on from.

    Raises
    ------
    ValueError
        If there is no scheduler, their number is not one more than that of the milestones, one belongs to
        another optimizer or is a `ReduceLROnPlateau`.
    TypeError
        If a scheduler has no attribute ``optimizer``.

    Notes
    -----
    Same as torch.optim.lr_scheduler.SequentialLR:
    https://docs.pytorch.org/docs/2.13/generated/torch.optim.lr_scheduler.SequentialLR.html

    Examples
    --------
    >>> optimizer = torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=1.0)
    >>> warmup = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.5, total_iters=2)
    >>> decay = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> scheduler = torch.optim.lr_scheduler.SequentialLR(optimizer, [warmup, decay], milestones=[2])
    >>> for epoch in range(5):
    ...     print(epoch, scheduler.get_last_lr())
    ...     optimizer.step()
    ...     scheduler.step()
    0 [0.5]
    1 [0.75]
    2 [1.0]
    3 [0.5]
    4 [0.25]
    """

    def __init__(
        self, optimizer: Optimizer, schedulers: Any, milestones: list[int], last_epoch: int = -1
    ) -> None:
        if len(schedulers) < 1:
            raise ValueError(f"{type(self).__name__} expects at least one scheduler, but got no scheduler.")
        self._check(optimizer, schedulers)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more "
                f"than the number of milestone points, but got number of schedulers {len(schedulers)} "
                f"and the number of milestones to be equal to {len(milestones)}"
            )
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        for group in optimizer.param_groups:  # every scheduler has set its own first values
            _update_param_group_val(group, "lr", group["initial_lr"])
        self.recursive_undo()
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def recursive_undo(self, sched: Any = None) -> None:
        """Take back the first step of every scheduler, also in those that have schedulers themselves."""
        sched = self if sched is None else sched
        if hasattr(sched, "_schedulers"):
            for each in sched._schedulers:
                self.recursive_undo(each)
        elif hasattr(sched, "last_epoch"):
            sched.last_epoch -= 1

    def step(self) -> None:
        """Make a step of the scheduler whose turn it is."""
        self.last_epoch += 1
        turn = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[turn]
        if turn > 0 and self._milestones[turn - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_SeveralLR):
    """Run several learning rate schedulers at once, each on what the one before leaves.

    Parameters
    ----------
    schedulers : sequence of LRSchedulers
        Schedulers of one optimizer; all of them step together.
    optimizer : Optimizer, optional
        Optimizer whose learning rates to set; that of the first scheduler if not given.

    Raises
    ------
    ValueError
        If there is no scheduler, or one belongs to another optimizer or is a `ReduceLROnPlateau`.
    TypeError
        If a scheduler has no attribute ``optimizer``.

    Notes
    -----
    Same as torch.optim.lr_scheduler.ChainedScheduler:
    https://docs.pytorch.org/docs/2.13/generated/torch.optim.lr_scheduler.ChainedScheduler.html

    Examples
    --------
    >>> optimizer = torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=1.0)
    >>> constant = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
    >>> decay = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> scheduler = torch.optim.lr_scheduler.ChainedScheduler([constant, decay])
    >>> for epoch in range(4):
    ...     print(epoch, scheduler.get_last_lr())
    ...     optimizer.step()
    ...     scheduler.step()
    0 [0.5]
    1 [0.25]
    2 [0.25]
    3 [0.125]
    """

    def __init__(self, schedulers: Any, optimizer: Optimizer | None = None) -> None:
        if len(schedulers) < 1:
            raise ValueError(
                f"{type(self).__name__} expects at least one scheduler to be chained, but got no scheduler."
            )
        optimizer = optimizer or schedulers[0].optimizer
        self._check(optimizer, schedulers)
        self._schedulers = schedulers
        self.optimizer = optimizer
        self._last_lr = _param_groups_val_list(optimizer, "lr")

    def step(self) -> None:
        """Make a step of every scheduler."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = _param_groups_val_list(self._schedulers[-1].optimizer, "lr")
