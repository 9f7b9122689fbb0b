"""Gradients: the engine's entry points and the switches for recording.

See https://docs.pytorch.org/docs/2.13/autograd.html
"""

from rushlight import _C, _homes, _missing

from ._engine import backward, grad
from .grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled, set_multithreading_enabled
from .gradcheck import gradcheck, gradgradcheck

__all__ = [
    "Function",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "inference_mode",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
]

Variable = _C.Tensor
_homes.adopt(__name__, backward, grad)

# modules that are imported when something first asks for them, and names that live in them
_LAZY = {
    name: name for name in ("anomaly_mode", "function", "functional", "graph", "profiler", "profiler_util")
}
_LAZY |= {"Function": "function"}
_LAZY |= {name: "profiler" for name in ("DeviceType", "ProfilerActivity", "kineto_available")}
_LAZY |= {"detect_anomaly": "anomaly_mode", "set_detect_anomaly": "anomaly_mode"}
_missing_name = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__, _LAZY)


def __getattr__(name):
    home = _LAZY.get(name)
    if home is None:
        return _missing_name(name)
    from importlib import import_module

    module = import_module(f"{__name__}.{home}")
    value = globals()[name] = module if home == name else getattr(module, name)
    return value
