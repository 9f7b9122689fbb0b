"""What all schedulers share: the count of epochs, writing learning rates into groups, state dicts."""

from __future__ import annotations

import types
import warnings
from functools import wraps
from weakref import ref

import rushlight
from rushlight.optim.optimizer import Optimizer, _to_scalar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Tensor

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
