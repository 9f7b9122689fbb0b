"""Names of ``torch._C`` that are written in Python and that few programs ask for."""

from ._dispatch_keys import DispatchKey, DispatchKeySet

__all__ = ["DispatchKey", "DispatchKeySet", "_log_api_usage_once"]


def _log_api_usage_once(event, /):
    """Do nothing: PyTorch tells a logger, which nobody installs, that something was used."""
