"""What use_deterministic_algorithms() does besides."""

import sys
import types

from rushlight import _deterministic


class _Module(types.ModuleType):
    @property
    def fill_uninitialized_memory(self):
        """Whether deterministic algorithms fill what empty() makes."""
        return _deterministic._fill_uninitialized_memory()

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode):
        if not isinstance(mode, bool):
            raise RuntimeError(f"expected a bool, but got {type(mode).__name__}")
        _deterministic._fill_uninitialized_memory(mode)


sys.modules[__name__].__class__ = _Module
