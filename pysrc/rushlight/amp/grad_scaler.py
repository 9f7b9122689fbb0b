"""Gradients in float16 are often too small to be told from 0: losses are scaled up, and gradients down again.

A scaler follows each optimizer through an iteration (``OptState``): its gradients are unscaled once, it makes
one step, which is left out if a gradient was infinite or NaN, and ``update`` begins the next iteration.
"""

from __future__ import annotations

import inspect
import warnings
from collections import abc, defaultdict
from enum import Enum

from rushlight import _C, _missing
from rushlight.autograd import no_grad

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    from rushlight._C import Tensor
    from rushlight.optim import Optimizer
    from rushlight.types import Device

    _Outputs = TypeVar("_Outputs", bound=Tensor | abc.Iterable[Any])
    _Outputs = TypeVar("_Outputs", bound=Tensor | abc.Iterable[Any])

__all__ = ["GradScaler", "OptState"]


# ---- what GradScaler keeps for each device and optimizer ----
class _MultiDeviceReplicator:
    """Copies of a tensor on the devices that ask for one."""

    def __init__(self, master_tensor):
        self.master = master_tensor
        self._per_device_tensors = {}

    def get(self, device):
        copies = self._per_device_tensors
        if device not in copies:
            copies[device] = self.master.to(device=device, non_blocking=True, copy=True)
        return copies[device]


class OptState(Enum):
    """What was done for an optimizer in this iteration."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _refresh_per_optimizer_state():
    return {"stage": OptState.READY, "found_inf_per_device": {}}


def _scalar(value, dtype, device):
    return _C.full((), value, dtype=dtype, device=device)


def _require(truth, text):
    if not truth:
        raise AssertionError(text)


def _gradients(optimizer, allow_fp16):
    """The gradients by device and dtype."""
    found = defaultdict(lambda: defaultdict(list))
    for group in optimizer.param_groups:
        for param in group["params"]:
            is_tensor = isinstance(param, _C.Tensor)
            _require(is_tensor, f"expected param to be torch.Tensor, got {type(param).__name__}")
            if param.grad is None:
                continue
            if not allow_fp16 and param.grad.dtype == _C.float16:
                raise ValueError("Attempting to unscale FP16 gradients.")
            found[param.grad.device][param.grad.dtype].append(param.grad)
    return found


__getattr__ = _missing.module_getattr(__name__)


class GradScaler:
    """Scale losses, so that small gradients do not become 0 in float16, and unscale gradients.

    A step with an infinite or NaN gradient is skipped and lowers the scale; `growth_interval` good ones raise
    it. With ``device='cuda'`` and no GPU it is disabled, with a warning.

    Parameters
    ----------
    device : str, default 'cuda'
        Type of device.
    init_scale : float, default 65536.0
        First scale.
    growth_factor : float, default 2.0
        Factor when it grows, above 1.
    backoff_factor : float, default 0.5
        Factor after a skipped step, below 1.
    growth_interval : int, default 2000
        Number of steps in a row after which it grows.
    enabled : bool, default True
        False scales nothing and skips no step.

    Raises
    ------
    AssertionError
        If a factor is out of bounds.

    Notes
    -----
    Same as torch.amp.GradScaler: https://docs.pytorch.org/docs/2.13/amp.html#torch.amp.GradScaler

    Examples
    --------
    >>> model = nn.Linear(2, 1)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    >>> scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    >>> loss = model(torch.ones(1, 2)).sum()
    >>> scaler.scale(loss).backward()
    >>> model.bias.grad
    tensor([1024.])
    >>> scaler.step(optimizer)
    >>> model.bias.grad
    tensor([1.])
    >>> scaler.update()
    >>> scaler.get_scale()
    1024.0
    """

    def __init__(
        self,
        device: Device = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = device
        self._enabled = enabled
        if device == "cuda" and enabled:
            from rushlight.cuda.amp.common import amp_definitely_not_available

            if amp_definitely_not_available():
                text = "torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling."
                warnings.warn(text, stacklevel=2)
                self._enabled = False
        if not self._enabled:
            return
        _require(growth_factor > 1.0, "The growth factor must be > 1.0.")
        _require(backoff_factor < 1.0, "The backoff factor must be < 1.0.")
        self._init_scale = init_scale
        self._scale = None  # a tensor from the first loss on, on its device
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._init_growth_tracker = 0
        self._growth_tracker = None
        self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

    def _check_scale_growth_tracker(self, funcname):
        for name in ("_scale", "_growth_tracker"):
            _require(
                getattr(self, name) is not None,
                f"Attempted {funcname} but {name} is None.  This may indicate your script did not use "
                "scaler.scale(loss or outputs) earlier in the iteration.",
            )
        return self._scale, self._growth_tracker

    def _lazy_init_scale_growth_tracker(self, dev):
        _require(self._growth_tracker is None, "_growth_tracker initialized before _scale")
        self._scale = _scalar(self._init_scale, _C.float32, dev)
        self._growth_tracker = _scalar(self._init_growth_tracker, _C.int32, dev)

    # ---- losses ----
    def _scale_on(self, device):
        if self._scale is None:
            self._lazy_init_scale_growth_tracker(device)
        return self._scale.to(device=device, non_blocking=True)

    def scale(self, outputs: _Outputs) -> _Outputs:
        """Multiply losses by the scale.

        Parameters
        ----------
        outputs : Tensor or iterable of Tensors
            Losses; lists and tuples stay what they are.

        Returns
        -------
        Tensor or iterable of Tensors
            The scaled losses; the same ones if the scaler is disabled.
        """
        if not self._enabled:
            return outputs
        if isinstance(outputs, _C.Tensor):
            return outputs * self._scale_on(outputs.device)
        if not isinstance(outputs, abc.Iterable):
            raise ValueError("outputs must be a Tensor or an iterable of Tensors")
        scaled = map(self.scale, outputs)
        return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled

    # ---- gradients ----
    def _unscale_grads_(self, optimizer, inv_scale, found_inf, allow_fp16):
        factors, found = _MultiDeviceReplicator(inv_scale), _MultiDeviceReplicator(found_inf)
        with no_grad():
            for device, by_dtype in _gradients(optimizer, allow_fp16).items():
                for grads in by_dtype.values():
                    _C._amp_foreach_non_finite_check_and_unscale_(
                        grads, found.get(device), factors.get(device)
                    )
        return found._per_device_tensors

    def unscale_(self, optimizer: Optimizer) -> None:
        """Divide the gradients of an optimizer by the scale, e.g. to clip them; step() does it if nobody did.

        Parameters
        ----------
        optimizer : Optimizer
            Optimizer whose gradients to unscale.

        Raises
        ------
        RuntimeError
            If it was called, or a step made, since the last update().
        ValueError
            If a gradient is of float16.
        """
        if not self._enabled:
            return
        scale, _ = self._check_scale_growth_tracker("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update()."
            )
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        inv_scale = scale.double().reciprocal().float()
        found_inf = _scalar(0.0, _C.float32, scale.device)
        state["found_inf_per_device"] = self._unscale_grads_(optimizer, inv_scale, found_inf, False)
        state["stage"] = OptState.UNSCALED

    def _check_inf_per_device(self, optimizer):
        scale, _ = self._check_scale_growth_tracker("_check_inf_per_device")
        one, found_inf = (_scalar(value, _C.float32, scale.device) for value in (1.0, 0.0))
        found = self._unscale_grads_(optimizer, one, found_inf, True)
        self._per_optimizer_states[id(optimizer)]["found_inf_per_device"] = found
        return found

    def _found_inf_per_device(self, optimizer):
        return self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]

    # ---- steps ----
    def _maybe_opt_step(self, optimizer, optimizer_state, *args, **kwargs):
        if sum(found.item() for found in optimizer_state["found_inf_per_device"].values()):
            return None
        return optimizer.step(*args, **kwargs)

    def _hand_over(self, optimizer, state):
        """Tell an optimizer that unscales by itself what it needs."""
        if state["stage"] is OptState.READY:
            self._check_inf_per_device(optimizer)
        scale = self._get_scale_async()
        _require(scale is not None, "_get_scale_async returned None")
        found = state["found_inf_per_device"].values()
        before = getattr(optimizer, "grad_scale", None)
        if state["stage"] is not OptState.UNSCALED:
            before = scale * (1 if before is None else before)
        optimizer.grad_scale = before
        optimizer.found_inf = sum(t.to(scale.device, non_blocking=True) for t in found)

    def _step_of_scaling_optimizer(self, optimizer, state, args, kwargs):
        if "grad_scaler" in inspect.signature(optimizer.step).parameters:
            warnings.warn(
                "GradScaler is going to stop passing itself as a keyword argument to the passed "
                "optimizer. In the near future GradScaler registers `grad_scale: Tensor` and "
                "`found_inf: Tensor` to the passed optimizer and let the optimizer use them directly.",
                FutureWarning,
                stacklevel=3,
            )
            return optimizer.step(*args, **kwargs, grad_scaler=self)
        self._hand_over(optimizer, state)
        result = optimizer.step(*args, **kwargs)
        del optimizer.grad_scale, optimizer.found_inf
        return result

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> float | None:
        """Unscale the gradients of an optimizer and make its step, unless one is infinite or NaN.

        Parameters
        ----------
        optimizer : Optimizer
            Optimizer.
        *args
            Arguments of its step().
        **kwargs
            Keyword arguments of its step().

        Returns
        -------
        float or None
            What its step() returns; None if it is skipped.

        Raises
        ------
        RuntimeError
            If a step was made since the last update(), or for a closure.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check_scale_growth_tracker("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            result = self._step_of_scaling_optimizer(optimizer, state, args, kwargs)
        else:
            if state["stage"] is OptState.READY:
                self.unscale_(optimizer)
            _require(state["found_inf_per_device"], "No inf checks were recorded for this optimizer.")
            result = self._maybe_opt_step(optimizer, state, *args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    # ---- the scale ----
    def _set_scale(self, new_scale):
        if isinstance(new_scale, float):
            self._scale.fill_(new_scale)
            return
        fits = new_scale.device.type == self._device and new_scale.numel() == 1
        _require(
            fits and new_scale.requires_grad is False,
            "new_scale should be a float or a 1-element torch.cuda.FloatTensor or "
            "torch.FloatTensor with requires_grad=False.",
        )
        self._scale.copy_(new_scale)

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Adapt the scale, at the end of an iteration, to what the steps found.

        Parameters
        ----------
        new_scale : float or Tensor, optional
            Set the scale to it instead.
        """
        if not self._enabled:
            return
        scale, growth_tracker = self._check_scale_growth_tracker("update")
        if new_scale is not None:
            self._set_scale(new_scale)
        else:
            found = [
                tensor.to(device=scale.device, non_blocking=True)
                for state in self._per_optimizer_states.values()
                for tensor in state["found_inf_per_device"].values()
            ]
            _require(found, "No inf checks were recorded prior to update.")
            for other in found[1:]:
                found[0] += other
            _C._amp_update_scale_(
                scale,
                growth_tracker,
                found[0],
                self._growth_factor,
                self._backoff_factor,
                self._growth_interval,
            )
        self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

    def _get_scale_async(self):
        return self._scale

    def get_scale(self) -> float:
        """Return the scale as a number; 1.0 when nothing is scaled."""
        if not self._enabled:
            return 1.0
        scale = self._get_scale_async()
        return self._init_scale if scale is None else scale.item()

    def get_growth_factor(self) -> float:
        """Return what the scale is multiplied by when it grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set what the scale is multiplied by when it grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """Return what the scale is multiplied by after an infinite gradient."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set what the scale is multiplied by after an infinite gradient."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """Return after how many finite steps in a row the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set after how many finite steps in a row the scale grows."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self):
        if not self._enabled:
            return 0
        tracker = self._growth_tracker
        return self._init_growth_tracker if tracker is None else tracker.item()

    def is_enabled(self) -> bool:
        """Whether anything is scaled."""
        return self._enabled

    # ---- state ----
    def state_dict(self) -> dict[str, Any]:
        """Return scale, factors, interval and the finite steps in a row as numbers; nothing when disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what ``state_dict`` returned. Raises RuntimeError for that of a disabled scaler."""
        if not self._enabled:
            return
        if len(state_dict) == 0:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved "
                "from a disabled instance of GradScaler."
            )
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._scale.fill_(state_dict["scale"])
        for name in ("growth_factor", "backoff_factor", "growth_interval"):
            setattr(self, f"_{name}", state_dict[name])
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._growth_tracker is not None:
            self._growth_tracker.fill_(state_dict["_growth_tracker"])

    def __getstate__(self):
        state = self.__dict__.copy()
        if self._enabled:
            _require(
                len(self._per_optimizer_states) == 0,
                "A GradScaler instance may only be pickled at the beginning "
                "of an iteration, or at the end after scaler.update().",
            )
            state["_init_scale"] = self.get_scale()
            state["_init_growth_tracker"] = self._get_growth_tracker()
            state["_scale"] = state["_growth_tracker"] = None
        return state

    def __setstate__(self, state):
        self.__dict__.update(state)
