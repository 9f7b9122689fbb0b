"""detect_anomaly: find the forward call whose derivative fails or gives nan."""

from __future__ import annotations

import warnings

from rushlight import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["detect_anomaly", "set_detect_anomaly"]


class detect_anomaly:
    """While the block runs, nodes remember where they were made; a failing backward prints it.

    With ``check_nan`` a gradient that has nan is a RuntimeError. Slow: for debugging.
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
    """Switch detect_anomaly on or off, at once as a function or for a block."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.prev = _C.is_anomaly_enabled()
        self.prev_check_nan = _C.is_anomaly_check_nan_enabled()
        _C.set_anomaly_enabled(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *args: Any) -> None:
        _C.set_anomaly_enabled(self.prev, self.prev_check_nan)
