"""Whether TorchScript is on, which PYTORCH_JIT=0 switches off, and the text of what is deprecated."""

import os
import sys
import warnings


def _read(value):
    if value is None or value.lower() in ("1", "true", "yes", "1v"):
        return True
    if value.lower() in ("0", "false", "no", "0v"):
        return False
    raise ValueError("Unknown setting of PYTORCH_JIT. Try using 0 or 1.")


class EnabledProxy:
    """True where scripts are wrapped, as in PyTorch; False where functions are left as they are."""

    def __init__(self):
        self.enabled = _read(os.environ.get("PYTORCH_JIT"))

    def __bool__(self):
        return self.enabled


_enabled = EnabledProxy()


def deprecated(name, instead="Please switch to `torch.compile` or `torch.export`."):
    """Warn as PyTorch does, of which Python shows nothing by default: the place is a module's."""
    if sys.version_info >= (3, 14) and "switch" in instead:
        text = f"`torch.jit.{name}` is not supported in Python 3.14+ and may break. {instead}"
    else:
        text = f"`torch.jit.{name}` is deprecated. {instead}"
    warnings.warn(text, DeprecationWarning, stacklevel=2)
