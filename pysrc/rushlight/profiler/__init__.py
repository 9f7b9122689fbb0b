"""Where the time goes: records the operators that run, shows tables, writes traces.

See https://docs.pytorch.org/docs/2.13/profiler.html
"""

from rushlight import _missing
from rushlight._profiling.kinds import (
    DeviceType,
    ProfilerActivity,
    RecordScope,  # noqa: F401
    supported_activities,
)
from rushlight.autograd.profiler import KinetoStepTracker, kineto_available, record_function  # noqa: F401

from .profiler import (
    ProfilerAction,
    _ExperimentalConfig,  # noqa: F401
    _KinetoProfile,  # noqa: F401
    profile,
    schedule,
    tensorboard_trace_handler,
)

__all__ = [
    "DeviceType",
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]
__getattr__ = _missing.module_getattr(__name__)
