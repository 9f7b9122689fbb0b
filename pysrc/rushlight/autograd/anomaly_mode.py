"""detect_anomaly: find the forward call whose derivative fails or gives nan."""

from __future__ import annotations

import warnings

from rushlight import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["detect_anomaly", "set_detect_anomaly"]


class detect_anomaly:
    """Detect anomalies within a context: find the forward call whose backward fails or gives NaN.

    Nodes remember where they were made, and a failing backward prints it. Slow, with a warning: for
    debugging.

    Parameters
    ----------
    check_nan : bool, default True
        Raise RuntimeError in backward for a gradient with NaN.

    Notes
    -----
    Same as torch.autograd.detect_anomaly:
    https://docs.pytorch.org/docs/2.13/autograd.html#torch.autograd.detect_anomaly
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.prev = _C.is_anomaly_enabled()
        self.check_nan = check_nan
        self.prev_check_nan = _C.is_anomaly_check_nan_enabled()
        warnings.warn(
            "Anomaly Detection has been enabled. "
            "This mode will increase the runtime "
            "and should only be enabled for debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        _C.set_anomaly_enabled(True, self.check_nan)

    def __exit__(self, *args: Any) -> None:
        _C.set_anomaly_enabled(self.prev, self.prev_check_nan)


class set_detect_anomaly:
    """Enable or disable the detection of anomalies in backward.

    As a function from now on, as a context manager within it. See detect_anomaly().

    Parameters
    ----------
    mode : bool
        Whether it is on.
    check_nan : bool, default True
        Raise RuntimeError in backward for a gradient with NaN.

    Notes
    -----
    Same as torch.autograd.set_detect_anomaly:
    https://docs.pytorch.org/docs/2.13/autograd.html#torch.autograd.set_detect_anomaly

    Examples
    --------
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> with torch.autograd.set_detect_anomaly(True):
    ...     (x**2).backward()
    >>> x.grad
    tensor(4.)
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.prev = _C.is_anomaly_enabled()
        self.prev_check_nan = _C.is_anomaly_check_nan_enabled()
        _C.set_anomaly_enabled(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *args: Any) -> None:
        _C.set_anomaly_enabled(self.prev, self.prev_check_nan)
