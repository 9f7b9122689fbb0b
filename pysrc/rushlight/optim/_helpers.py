"""What optimizers that others write import from torch.optim.optimizer, besides the class."""

import functools
from collections.abc import Iterable
from typing import Any, TypeAlias

import rushlight

_ON_DEVICES = ["cuda", "xpu", "hpu", "privateuseone", "xla"]

ParamsT: TypeAlias = (
    "Iterable[rushlight.Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, rushlight.Tensor]]"
)
StateDict: TypeAlias = dict[str, Any]

_params_doc = "params: tensors, pairs of name and tensor, or dicts that are groups with options of their own."
_foreach_doc = "foreach: accepted; one kernel goes over all parameters in any case."
_fused_doc = "fused: float16 and bfloat16 are computed in float32 and rounded once."
_capturable_doc = "capturable: counts of steps lie on the GPU; refused by step() on the CPU."
_differentiable_doc = "differentiable: step() leaves a history, so that a gradient goes through it."
_maximize_doc = "maximize: climb instead of descending."


def _use_grad_for_differentiable(step):
    """Wrap a step so that it records gradients if the option differentiable is on, and else none."""

    @functools.wraps(step)
    def wrapper(self, *args, **kwargs):
        with rushlight.set_grad_enabled(bool(self.defaults["differentiable"])):
            return step(self, *args, **kwargs)

    return wrapper


def _disable_dynamo_if_unsupported(single_tensor_fn=None):
    """Return a decorator that changes nothing: Python always runs."""
    return lambda function: function


def _get_value(x):
    return x.item() if isinstance(x, rushlight.Tensor) else x


def _stack_if_compiling(x):
    return x


def _dispatch_sqrt(x):
    return x.sqrt() if isinstance(x, rushlight.Tensor) else x**0.5


def _to_scalar(x):
    """Make a tensor of one element one without dimensions; numbers stay."""
    return x.squeeze() if isinstance(x, rushlight.Tensor) and x.dim() != 0 else x


def _get_scalar_dtype(is_fused=None):
    """Return the dtype of counts of steps."""
    double = not is_fused and rushlight.get_default_dtype() == rushlight.float64
    return rushlight.float64 if double else rushlight.float32


def _view_as_real(params, *state_and_grads):
    """Replace complex tensors in the lists by views of their parts."""
    for i, param in enumerate(params):
        if param.is_complex():
            for tensors in (params, *state_and_grads):
                tensors[i] = rushlight.view_as_real(tensors[i])


def _default_to_fused_or_foreach(params, differentiable, use_fused=False):
    """Return (fused, foreach): which of PyTorch's implementations it would take by default."""
    there = not differentiable and all(p is None or p.device.type in ("cpu", "cuda") for p in params)
    fused = use_fused and there and all(p is None or p.is_floating_point() for p in params)
    on_gpus = not differentiable and all(p is None or p.is_cuda for p in params)
    return fused, on_gpus and not fused


def _device_dtype_check_for_fused(p, cuda_unsupported=False):
    if not p.is_floating_point():
        devices = ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone"]
        if cuda_unsupported:
            devices.remove("cuda")
        raise RuntimeError(
            "`fused=True` requires all the params to be floating point Tensors of "
            f"supported devices: {devices} but {p.dtype} and {p.device.type}"
        )


def _get_capturable_supported_devices(supports_xla=True):
    return _ON_DEVICES[:] if supports_xla else _ON_DEVICES[:-1]
