"""Which ways attention may take: switches, their order, and what PyTorch asks of CUDA."""

from __future__ import annotations

import enum
from contextlib import contextmanager

from rushlight import _C
from rushlight._deprecated import deprecated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class SDPBackend(enum.Enum):
    """Name the ways in which attention may be computed.

    FLASH_ATTENTION computes in blocks, MATH by separate operators. The others are names only: where they
    alone are allowed, attention raises.

    Notes
    -----
    Same as torch.nn.attention.SDPBackend:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.attention.SDPBackend.html

    Examples
    --------
    >>> torch.nn.attention.SDPBackend.FLASH_ATTENTION
    <SDPBackend.FLASH_ATTENTION: 1>
    """

    __module__ = "rushlight.nn.attention"

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __int__(self):
        return self.value

    __index__ = __int__


SWITCHES = {
    "cudnn": SDPBackend.CUDNN_ATTENTION,
    "flash": SDPBackend.FLASH_ATTENTION,
    "mem_efficient": SDPBackend.EFFICIENT_ATTENTION,
    "math": SDPBackend.MATH,
    "overrideable": SDPBackend.OVERRIDEABLE,
}
_on = dict.fromkeys(SWITCHES, True)
_order = [1, 2, 0, 3, 4]
_reduces_halves = False


def is_on(name):
    """Is a way of SWITCHES allowed?"""
    return _on[name]


def switch(name, enabled):
    """Allow a way of SWITCHES, or not; RuntimeError unless ``enabled`` is a bool."""
    if not isinstance(enabled, bool):
        raise RuntimeError(f"set_sdp_use_math expects a bool, but got {type(enabled).__name__}")
    _on[name] = enabled
    _C._set_attention(_on["flash"], _on["math"])


def order():
    """Return the numbers of all ways, those first that are tried first."""
    return list(_order)


def set_order(numbers):
    """Keep which ways are to be tried first; on the CPU FLASH_ATTENTION always is, as in PyTorch."""
    _order[:] = numbers


class SDPAParams:
    """The arguments of a call of attention, to ask what could compute it."""

    def __init__(
        self,
        query: Any,
        key: str,
        value: float,
        attn_mask: Any,
        dropout: float,
        is_causal: Any,
        enable_gqa: Any,
        /,
    ) -> None:
        self._given = query, key, value, attn_mask, dropout, is_causal, enable_gqa

    query, key, value, attn_mask, dropout, is_causal, enable_gqa = (
        property(lambda self, n=n: self._given[n]) for n in range(7)
    )


def _getter(switched, name):
    def enabled():
        return is_on(switched)

    enabled.__name__ = enabled.__qualname__ = name
    enabled.__doc__ = f"Is {SWITCHES[switched].name} allowed?"
    return enabled


def _setter(switched, name):
    def enable(enabled: bool):
        switch(switched, enabled)

    enable.__name__ = enable.__qualname__ = name
    enable.__doc__ = f"Allow {SWITCHES[switched].name}, or not."
    return enable


def allow_fp16_bf16_reduction_math_sdp(enabled: bool):
    """Accepted; halves are always computed in float32."""
    global _reduces_halves
    if not isinstance(enabled, bool):
        raise RuntimeError(f"set_sdp_use_math expects a bool, but got {type(enabled).__name__}")
    _reduces_halves = enabled


def fp16_bf16_reduction_math_sdp_allowed():
    """Return what allow_fp16_bf16_reduction_math_sdp() was given."""
    return _reduces_halves


def is_flash_attention_available():
    """Return False: there is no CUDA."""
    return False


def is_ck_sdpa_available():
    """Return False: there is no ROCm."""
    return False


def can_use_flash_attention(params: Any, debug: bool = False) -> Any:
    """Return False: these are kernels of GPUs, as in PyTorch."""
    return False


def can_use_efficient_attention(params: Any, debug: bool = False) -> Any:
    """Return False: these are kernels of GPUs, as in PyTorch."""
    return False


def can_use_cudnn_attention(params, debug=False):
    """Return False: these are kernels of GPUs, as in PyTorch."""
    return False


@contextmanager
@deprecated(
    "`torch.backends.cuda.sdp_kernel()` is deprecated. In the future, this context manager will be removed. "
    "Please see `torch.nn.attention.sdpa_kernel()` for the new context manager, with updated signature.",
    category=FutureWarning,
)
def sdp_kernel(
    enable_flash: bool = True,
    enable_math: bool = True,
    enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
):
    """Allow some ways in a block; use :func:`rushlight.nn.attention.sdpa_kernel` instead."""
    from rushlight.nn.attention import sdpa_kernel

    wanted = {
        "flash": enable_flash,
        "mem_efficient": enable_mem_efficient,
        "math": enable_math,
        "cudnn": enable_cudnn,
    }
    with sdpa_kernel([SWITCHES[name] for name, on in wanted.items() if on]) as context:
        yield context


OF_CUDA = {
    **{f"{name}_sdp_enabled": _getter(name, f"{name}_sdp_enabled") for name in SWITCHES if name[0] != "o"},
    **{f"enable_{name}_sdp": _setter(name, f"enable_{name}_sdp") for name in SWITCHES if name[0] != "o"},
    **{
        each.__name__: each
        for each in (
            *(SDPAParams, sdp_kernel, is_flash_attention_available, is_ck_sdpa_available),
            *(can_use_flash_attention, can_use_efficient_attention, can_use_cudnn_attention),
            *(allow_fp16_bf16_reduction_math_sdp, fp16_bf16_reduction_math_sdp_allowed),
        )
    },
}
