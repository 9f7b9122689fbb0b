"""LAPACK, where SciPy is installed. C calls offer() at the first factorisation of a large matrix.

SciPy gives the functions that it was built with to other extensions, as capsules whose names are their
signatures. RUSHLIGHT_SCIPY=0 leaves it alone.
"""

import os
from importlib import import_module

from . import _C

_OFF = ("0", "off", "no", "false")


def offer():
    """Give the C extension SciPy's LAPACK; without it, rushlight's own factorisations serve."""
    if os.environ.get("RUSHLIGHT_SCIPY", "").strip().lower() in _OFF:
        return
    try:
        capsules = tuple(import_module(module).__pyx_capi__[name] for name, module in _C._lapack_names())
    except (ImportError, AttributeError, KeyError):
        return
    try:
        _C._lapack_offer(capsules)
    except ValueError as reason:
        import warnings

        warnings.warn(
            f"SciPy's LAPACK is another one, rushlight's own factorisations serve instead: {reason}",
            RuntimeWarning,
            stacklevel=2,
        )
