"""How :func:`rushlight.nn.functional.scaled_dot_product_attention` is computed."""

from __future__ import annotations

from contextlib import contextmanager
from warnings import warn

from rushlight import _missing
from rushlight.backends import _sdp
from rushlight.backends._sdp import (  # noqa: F401  (scripts take SDPAParams from here)
    SDPAParams,
    SDPBackend,
    can_use_efficient_attention,
    can_use_flash_attention,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["SDPBackend", "sdpa_kernel", "WARN_FOR_UNFUSED_KERNELS"]
WARN_FOR_UNFUSED_KERNELS = False
_missing_name = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)


def __getattr__(name):
    if name in ("bias", "flex_attention"):
        from importlib import import_module

        return import_module(f"{__name__}.{name}")
    return _missing_name(name)


def _raise_kernel_warnings(params):
    """Warn of kernels that cannot serve, where WARN_FOR_UNFUSED_KERNELS asks for it."""
    if not WARN_FOR_UNFUSED_KERNELS:
        return
    for title, can_use in (("Efficient", can_use_efficient_attention), ("Flash", can_use_flash_attention)):
        if not can_use(params):
            warn(f"{title} attention can't be used because:", stacklevel=2)


def _cur_sdpa_kernel_backends(with_priority=False):
    backends = [backend for name, backend in _sdp.SWITCHES.items() if _sdp.is_on(name)]
    return sorted(backends, key=lambda b: _sdp.order().index(b.value)) if with_priority else backends


def _sdpa_kernel(backends, set_priority=False):
    for name, backend in _sdp.SWITCHES.items():
        _sdp.switch(name, backend in backends)
    if set_priority:
        first = [int(backend) for backend in backends]
        _sdp.set_order(first + [number for number in _sdp.order() if number not in first])


@contextmanager
def sdpa_kernel(backends: Any, set_priority: bool = False) -> Any:
    """Choose within a context how attention may be computed.

    Parameters
    ----------
    backends : SDPBackend or list of SDPBackends
        Ways that are allowed.
    set_priority : bool, default False
        Prefer them in this order, which changes nothing on the CPU.

    Raises
    ------
    AssertionError
        If `backends` is something else.

    Notes
    -----
    Same as torch.nn.attention.sdpa_kernel:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.attention.sdpa_kernel.html

    Examples
    --------
    >>> from rushlight.nn.attention import SDPBackend, sdpa_kernel
    >>> q = torch.ones(1, 2, 3, 4)
    >>> with sdpa_kernel(SDPBackend.MATH):
    ...     F.scaled_dot_product_attention(q, q, q).shape
    torch.Size([1, 2, 3, 4])
    """
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError(
            "Backend must be an instance of SDPBackend or a list of SDPBackend instances, "
            f"got {type(backends).__name__}"
        )
    wanted = list(dict.fromkeys([backends] if isinstance(backends, SDPBackend) else backends))
    before, order = _cur_sdpa_kernel_backends(), _sdp.order()
    try:
        _sdpa_kernel(wanted, set_priority)
        yield {}
    finally:
        _sdpa_kernel(before)
        _sdp.set_order(order)
