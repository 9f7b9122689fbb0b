"""Whom a thread asks for ``__torch_function__``; :mod:`rushlight.overrides` says what that is."""

from __future__ import annotations

from . import _C

ASK_ALL, ASK_MODES, ASK_NOBODY = range(3)


class _Asking:
    """A block in which this thread asks fewer."""

    _whom = ASK_ALL

    def __enter__(self) -> None:
        self._before = _C._set_torch_function_asking(self._whom)

    def __exit__(self, exc_type: object, exc_val: object, exc_tb: object) -> None:
        _C._set_torch_function_asking(self._before)


class DisableTorchFunctionSubclass(_Asking):
    """In its ``with`` block no class is asked, modes are."""

    _whom = ASK_MODES


class DisableTorchFunction(_Asking):
    """In its ``with`` block neither classes nor modes are asked."""

    _whom = ASK_NOBODY


_C.DisableTorchFunctionSubclass, _C.DisableTorchFunction = DisableTorchFunctionSubclass, DisableTorchFunction
DisableTorchFunctionSubclass.__module__ = DisableTorchFunction.__module__ = "rushlight._C"
