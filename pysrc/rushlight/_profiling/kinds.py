"""What can be profiled, on what, and where in a program: PyTorch's enumerations."""

from enum import Enum

__all__ = ["DeviceType", "ProfilerActivity", "RecordScope", "supported_activities"]


class _Kind(Enum):
    def __int__(self) -> int:
        return self.value

    __index__ = __int__


class ProfilerActivity(_Kind):
    """What a profiler records: the work of this kind of device."""

    CPU = 0
    XPU = 1
    MTIA = 4
    CUDA = 2
    HPU = 3
    PrivateUse1 = 5


DeviceType = _Kind(
    "DeviceType",
    "CPU CUDA MKLDNN OPENGL OPENCL IDEEP HIP FPGA MAIA XLA Vulkan Metal XPU MPS Meta HPU VE Lazy IPU MTIA "
    "PrivateUse1",
    start=0,
)
DeviceType.__doc__ = "The kinds of device that an event may have run on; here it is always the CPU."
RecordScope = _Kind(
    "RecordScope",
    "FUNCTION BACKWARD_FUNCTION TORCHSCRIPT_FUNCTION KERNEL_FUNCTION_DTYPE CUSTOM_CLASS BUILD_FEATURE "
    "LITE_INTERPRETER USER_SCOPE STATIC_RUNTIME_OP STATIC_RUNTIME_MODEL",
    start=0,
)
RecordScope.__doc__ = "Which part of a program an event stands for."
for _each in (ProfilerActivity, DeviceType, RecordScope):
    _each.__module__ = "rushlight.profiler"


def supported_activities():
    """Return the set of activities that can be recorded: the CPU's.

    Examples
    --------
    >>> torch.profiler.supported_activities()
    {<ProfilerActivity.CPU: 0>}

    Reference
    ---------
    https://docs.pytorch.org/docs/2.13/profiler.html
    """
    return {ProfilerActivity.CPU}
