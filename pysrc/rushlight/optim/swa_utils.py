"""Averages of a model's parameters: stochastic weight averaging (SWA) and moving averages (EMA).

See https://docs.pytorch.org/docs/2.13/optim.html#weight-averaging-swa-and-ema
"""

from __future__ import annotations

import math
from copy import deepcopy
from itertools import chain

import rushlight
from rushlight import _missing
from rushlight.nn import Module
from rushlight.nn.modules.batchnorm import _BatchNorm

from .lr_scheduler import LRScheduler, _format_param, _warn_get_lr_called_within_step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, Literal

    from rushlight._C import Tensor
    from rushlight.optim import Optimizer
    from rushlight.types import Device

__all__ = [
    "AveragedModel",
    "SWALR",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]
__getattr__ = _missing.lacks(__name__)
__dir__ = _missing.shows(__name__)

PARAM_LIST = tuple[rushlight.Tensor, ...] | list[rushlight.Tensor]


# ---- functions for one tensor, and for lists of tensors ----
def _need_decay(decay) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def _can_lerp(tensor):
    return tensor.is_floating_point() or tensor.is_complex()


def _lerp(averages, currents, weight) -> None:
    for average, current in zip(averages, currents, strict=True):
        average.lerp_(current, weight)


def get_ema_multi_avg_fn(decay: float = 0.999) -> Any:
    """Return a function that changes a list of averages in place: ``decay`` of them stays; a decay that is
    not from 0 to 1 raises ValueError."""
    _need_decay(decay)

    @rushlight.no_grad()
    def ema_update(ema_param_list, current_param_list, _) -> None:
        if _can_lerp(ema_param_list[0]):
            _lerp(ema_param_list, current_param_list, 1 - decay)
            return
        for average, current in zip(ema_param_list, current_param_list, strict=True):
            average.copy_(average * decay + current * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn() -> Any:
    """Return a function that changes a list of averages in place: all models count the same."""

    @rushlight.no_grad()
    def swa_update(averaged_param_list, current_param_list, num_averaged) -> None:
        if _can_lerp(averaged_param_list[0]):
            _lerp(averaged_param_list, current_param_list, float(1 / (num_averaged + 1)))
            return
        for average, current in zip(averaged_param_list, current_param_list, strict=True):
            if isinstance(num_averaged, rushlight.Tensor):
                average.addcdiv_(current - average, num_averaged + 1)
            else:
                average.add_(current - average, alpha=1.0 / (num_averaged + 1))

    return swa_update


def get_ema_avg_fn(decay: float = 0.999) -> Any:
    """Return a function that computes a new average, in which ``decay`` of the old one stays; a decay that is
    not from 0 to 1 raises ValueError."""
    _need_decay(decay)

    @rushlight.no_grad()
    def ema_update(ema_param, current_param, num_averaged):
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Any:
    """Return a function that computes a new average, in which all models count the same."""

    @rushlight.no_grad()
    def swa_update(averaged_param, current_param, num_averaged):
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


# ---- models ----
class AveragedModel(Module):
    """Holds the average of the parameters that ``update_parameters(model)`` was called with.

    ``module`` begins as a copy of ``model``, on ``device`` where that is given; ``n_averaged``, a 0-dim int64
    buffer, counts. Averages are those of SWA, or ``avg_fn(average, current, n_averaged)`` computes each of
    them, or ``multi_avg_fn(averages, currents, n_averaged)`` changes a list of them, of one device and dtype,
    in place; both raise AssertionError. Buffers are averaged with ``use_buffers``, otherwise copied.

    See https://docs.pytorch.org/docs/2.13/generated/torch.optim.swa_utils.AveragedModel.html
    """

    def __init__(
        self,
        model: Module,
        device: Device = None,
        avg_fn: Callable[[Tensor, Tensor, Tensor | int], Tensor] | None = None,
        multi_avg_fn: Any = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", rushlight.tensor(0, dtype=rushlight.long, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Tensor:
        """Call the averaged model."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Average the parameters with those of ``model``; the first time they are copied."""
        averages, currents = self.parameters(), model.parameters()
        if self.use_buffers:
            averages = chain(self.module.parameters(), self.module.buffers())
            currents = chain(currents, model.buffers())
        pairs = [(a.detach(), c.detach().to(a.device)) for a, c in zip(averages, currents)]
        if self.n_averaged == 0:
            for average, current in pairs:
                average.copy_(current)
        elif self.avg_fn is not None and self.multi_avg_fn is None:
            self._average_each(pairs, self.avg_fn)
        else:
            self._average_lists(pairs)
        if not self.use_buffers:
            for average, current in zip(self.module.buffers(), model.buffers(), strict=True):
                average.detach().copy_(current.detach().to(average.device))
        self.n_averaged += 1

    def _average_each(self, pairs, avg_fn) -> None:
        for average, current in pairs:
            average.copy_(avg_fn(average, current, self.n_averaged.to(average.device)))

    def _average_lists(self, pairs) -> None:
        alike = {}
        for pair in pairs:
            alike.setdefault((pair[0].device, pair[0].dtype), []).append(pair)
        for (device, _), group in alike.items():
            if self.multi_avg_fn is None and device.type != "cuda":
                self._average_each(group, get_swa_avg_fn())
                continue
            averages, currents = (list(tensors) for tensors in zip(*group))
            (self.multi_avg_fn or get_swa_multi_avg_fn())(averages, currents, self.n_averaged.to(device))


@rushlight.no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Device = None) -> None:
    """Compute the running statistics of all batch norms anew, as means over the batches of ``loader``.

    A batch is a tensor or a list or tuple that begins with one; ``device`` is where it goes before the model.

    See https://docs.pytorch.org/docs/2.13/generated/torch.optim.swa_utils.update_bn.html
    """
    momenta = {module: module.momentum for module in model.modules() if isinstance(module, _BatchNorm)}
    if not momenta:
        return
    was_training = model.training
    model.train()
    for norm in momenta:
        norm.reset_running_stats()
        norm.momentum = None  # every batch counts the same
    for batch in loader:
        if isinstance(batch, (list, tuple)):
            batch = batch[0]
        model(batch if device is None else batch.to(device))
    for norm, momentum in momenta.items():
        norm.momentum = momentum
    model.train(was_training)


# ---- the learning rate ----
class SWALR(LRScheduler):
    """Goes from the learning rates that there are to ``swa_lr`` in ``anneal_epochs``, and stays there.

    ``swa_lr`` is one for all groups or a list; ``anneal_strategy`` is "cos" or "linear".

    See https://docs.pytorch.org/docs/2.13/generated/torch.optim.swa_utils.SWALR.html
    """

    _unsaved = ("optimizer", "anneal_func")

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float,
        anneal_epochs: int = 10,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        last_epoch: int = -1,
    ) -> None:
        for lr, group in zip(_format_param("swa_lr", optimizer, swa_lr), optimizer.param_groups):
            group["swa_lr"] = lr
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._set_anneal_func(anneal_strategy)
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    @staticmethod
    def _linear_anneal(t):
        return t

    @staticmethod
    def _cosine_anneal(t):
        return (1 - math.cos(math.pi * t)) / 2

    def _set_anneal_func(self, anneal_strategy) -> None:
        self._anneal_strategy = anneal_strategy
        self.anneal_func = self._cosine_anneal if anneal_strategy == "cos" else self._linear_anneal

    @staticmethod
    def _get_initial_lr(lr, swa_lr, alpha):
        """What the learning rate was when the way to ``swa_lr`` began, of which a part alpha is over."""
        return swa_lr if alpha == 1 else (lr - alpha * swa_lr) / (1 - alpha)

    def _part(self, step):
        return self.anneal_func(max(0, min(1, step / max(1, self.anneal_epochs))))

    def get_lr(self) -> Any:
        """Compute the learning rates of this step from those of the step before."""
        _warn_get_lr_called_within_step(self)
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._part(step - 1), self._part(step)
        lrs = []
        for group in self.optimizer.param_groups:
            first = self._get_initial_lr(group["lr"], group["swa_lr"], before)
            lrs.append(group["swa_lr"] * now + first * (1 - now))
        return lrs

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what state_dict() returned."""
        super().load_state_dict(state_dict)
        self._set_anneal_func(self._anneal_strategy)
