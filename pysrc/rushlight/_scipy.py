"""LAPACK, where SciPy is installed. C calls offer() at the first factorisation of a large matrix.

SciPy gives the functions that it was built with to other extensions, as capsules whose names are their
signatures. RUSHLIGHT_SCIPY=0 leaves it alone.
"""

import os
from importlib import import_module

from . import _C

_OFF = ("0", "off", "no", "false")
_ANOTHER = "SciPy's LAPACK is another one"


def find():
    """Give the C extension SciPy's LAPACK; return None, or why that cannot be."""
    wanted = os.environ.get("RUSHLIGHT_SCIPY", "").strip()
    if wanted.lower() in _OFF:
        return f"RUSHLIGHT_SCIPY={wanted}"
    try:
        capsules = tuple(import_module(module).__pyx_capi__[name] for name, module in _C._lapack_names())
    except (ImportError, AttributeError, KeyError) as error:
        return f"SciPy does not serve: {type(error).__name__}: {error}"
    try:
        _C._lapack_offer(capsules)
    except ValueError as error:
        return f"{_ANOTHER}: {error}"
    return None


def offer():
    """Find SciPy's LAPACK; without it, rushlight's own factorisations serve."""
    reason = find()
    if reason is not None and reason.startswith(_ANOTHER):
        import warnings

        warnings.warn(
            reason.replace(":", ", rushlight's own factorisations serve instead:", 1),
            RuntimeWarning,
            stacklevel=2,
        )
