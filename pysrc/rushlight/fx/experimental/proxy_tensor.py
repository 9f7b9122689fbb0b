"""Whether operators are being written into a graph: they never are, as nothing here makes graphs of them."""

from __future__ import annotations

from rushlight import _missing

__all__ = ["get_proxy_mode"]
__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)


def get_proxy_mode() -> None:
    """Return the mode that writes operators into a graph: None, as PyTorch answers outside of make_fx.

    Notes
    -----
    Same as torch.fx.experimental.proxy_tensor.get_proxy_mode.
    """
    return None
