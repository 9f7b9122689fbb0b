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
__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)

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
    """Return a `multi_avg_fn` of `AveragedModel` for an exponential moving average (EMA).

    Parameters
    ----------
    decay : float, default 0.999
        Part of the old average that stays, in [0, 1].

    Returns
    -------
    callable
        ``(averages, parameters, n_averaged)``, which changes the list of averages in place.

    Raises
    ------
    ValueError
        If `decay` is not in [0, 1].

    Examples
    --------
    >>> averages = [torch.tensor(1.0)]
    >>> torch.optim.swa_utils.get_ema_multi_avg_fn(0.9)(averages, [torch.tensor(2.0)], 1)
    >>> averages
    [tensor(1.1000)]
    """
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
    """Return a `multi_avg_fn` of `AveragedModel` for stochastic weight averaging (SWA).

    Returns
    -------
    callable
        ``(averages, parameters, n_averaged)``, which changes the list of averages in place.

    Examples
    --------
    >>> averages = [torch.tensor(1.0)]
    >>> torch.optim.swa_utils.get_swa_multi_avg_fn()(averages, [torch.tensor(4.0)], 2)
    >>> averages
    [tensor(2.)]
    """

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
    """Return an `avg_fn` of `AveragedModel` for an exponential moving average (EMA).

    Parameters
    ----------
    decay : float, default 0.999
        Part of the old average that stays, in [0, 1].

    Returns
    -------
    callable
        ``(average, parameter, n_averaged) -> decay * average + (1 - decay) * parameter``

    Raises
    ------
    ValueError
        If `decay` is not in [0, 1].

    Examples
    --------
    >>> average = torch.optim.swa_utils.get_ema_avg_fn(0.9)
    >>> average(torch.tensor(1.0), torch.tensor(2.0), 1)
    tensor(1.1000)
    """
    _need_decay(decay)

    @rushlight.no_grad()
    def ema_update(ema_param, current_param, num_averaged):
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Any:
    """Return an `avg_fn` of `AveragedModel` for stochastic weight averaging (SWA): all models count the same.

    Returns
    -------
    callable
        ``(average, parameter, n_averaged) -> average + (parameter - average) / (n_averaged + 1)``

    Examples
    --------
    >>> average = torch.optim.swa_utils.get_swa_avg_fn()
    >>> average(torch.tensor(1.0), torch.tensor(4.0), 2)
    tensor(2.)
    """

    @rushlight.no_grad()
    def swa_update(averaged_param, current_param, num_averaged):
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


# ---- models ----
class AveragedModel(Module):
    """Average a model over training: stochastic weight averaging (SWA), moving averages (EMA).

    Parameters
    ----------
    model : Module
        Model to average; it is copied.
    device : device, optional
        Where the average is kept; where the model is if not given.
    avg_fn : callable, optional
        Computes a new average from ``(average, parameter, n_averaged)``; if not given, all models count the
        same (SWA).
    multi_avg_fn : callable, optional
        Changes averages in place, from ``(averages, parameters, n_averaged)`` with lists of tensors.
    use_buffers : bool, default False
        Also average the buffers; otherwise they are copied.

    Attributes
    ----------
    module : Module
        The average, which a call runs.
    n_averaged : Tensor
        Number of models averaged.

    Raises
    ------
    AssertionError
        If both `avg_fn` and `multi_avg_fn` are given.

    Notes
    -----
    Same as torch.optim.swa_utils.AveragedModel:
    https://docs.pytorch.org/docs/2.13/optim.html#weight-averaging-swa-and-ema

    References
    ----------
    P. Izmailov et al., "Averaging weights leads to wider optima and better generalization", 2018,
    https://arxiv.org/abs/1803.05407

    Examples
    --------
    >>> model = nn.Linear(1, 1, bias=False)
    >>> average = torch.optim.swa_utils.AveragedModel(model)
    >>> for value in (1.0, 2.0, 6.0):
    ...     _ = nn.init.constant_(model.weight, value)
    ...     average.update_parameters(model)
    >>> average.module.weight.item()
    3.0
    >>> average(torch.ones(1, 1)).item()
    3.0
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
        """Take the parameters of a model into the average; the first time they are copied.

        Parameters
        ----------
        model : Module
            Model with parameters of the same shapes.
        """
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
    """Compute the running statistics of all batch normalization layers anew, as means over batches.

    An averaged model needs that before it is evaluated.

    Parameters
    ----------
    loader : iterable
        Batches: tensors, or lists or tuples that begin with one.
    model : Module
        Model, which is called with each batch in training mode.
    device : device, optional
        Where batches go first.

    Notes
    -----
    Same as torch.optim.swa_utils.update_bn:
    https://docs.pytorch.org/docs/2.13/optim.html#weight-averaging-swa-and-ema

    Examples
    --------
    >>> model = nn.BatchNorm1d(1)
    >>> torch.optim.swa_utils.update_bn([torch.tensor([[1.0], [3.0]]), torch.tensor([[3.0], [5.0]])], model)
    >>> model.running_mean, model.running_var
    (tensor([3.]), tensor([2.]))
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
    """Anneal the learning rate to a constant one, for stochastic weight averaging (SWA).

    Parameters
    ----------
    optimizer : Optimizer
        Optimizer whose learning rates to set.
    swa_lr : float or list of floats
        Learning rate at the end; a list has one for each group.
    anneal_epochs : int, default 10
        Number of epochs until then.
    anneal_strategy : {'cos', 'linear'}, default 'cos'
        How the learning rate goes there.
    last_epoch : int, default -1
        Epoch to go on from; -1 begins, others need ``'initial_lr'`` in every group of the optimizer.

    Raises
    ------
    ValueError
        If `anneal_strategy` is unknown, `anneal_epochs` is negative or no int, or a list has another length
        than there are groups.
    KeyError
        If `last_epoch` is not -1 and a group has no ``'initial_lr'``.

    Notes
    -----
    Same as torch.optim.swa_utils.SWALR:
    https://docs.pytorch.org/docs/2.13/optim.html#weight-averaging-swa-and-ema

    Examples
    --------
    >>> optimizer = torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=1.0)
    >>> scheduler = torch.optim.swa_utils.SWALR(optimizer, 0.5, anneal_epochs=2, anneal_strategy="linear")
    >>> for epoch in range(4):
    ...     print(epoch, scheduler.get_last_lr())
    ...     optimizer.step()
    ...     scheduler.step()
    0 [1.0]
    1 [0.75]
    2 [0.5]
    3 [0.5]
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
