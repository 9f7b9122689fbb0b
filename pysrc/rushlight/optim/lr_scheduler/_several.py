"""Schedulers made of schedulers."""

from __future__ import annotations

from bisect import bisect_right

from ._base import LRScheduler, _param_groups_val_list, _update_param_group_val
from ._plateau import ReduceLROnPlateau

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight.optim import Optimizer


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
