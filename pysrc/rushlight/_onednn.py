"""Where oneDNN is. C calls offer() at the first heavy operator; the first kernel that needs it opens it.

RUSHLIGHT_ONEDNN names the library, or switches it off ("0" or "off"); "1" or "on" is the default.
"""

import os
import sys

from . import _C

NAME = "libdnnl.so.3"
_OFF, _ON = ("0", "off", "no", "false"), ("", "1", "on", "yes", "true")


def _in_wheel():
    from importlib import metadata

    try:
        files = metadata.files("onednn-cpu-gomp") or ()
    except metadata.PackageNotFoundError:
        return None
    # the wheel holds its library under several names: the one of the ABI first
    found = sorted(
        (f for f in files if f.name.startswith("libdnnl.so")), key=lambda f: (f.name != NAME, len(f.name))
    )
    for file in found:
        path = file.locate()
        if os.path.exists(path):
            return os.fspath(path)
    return None


def find():
    """Return the path of the library, its bare name when only the system may have it, None when off."""
    wanted = os.environ.get("RUSHLIGHT_ONEDNN", "").strip()
    if wanted.lower() in _OFF:
        return None
    if wanted.lower() not in _ON:
        return wanted
    path = os.path.join(sys.prefix, "lib", NAME)  # where its wheel puts it, too
    return path if os.path.exists(path) else _in_wheel() or NAME


def offer():
    """Tell the C extension where oneDNN is; without it rushlight's own kernels serve."""
    path = find()
    if path:
        _C._dnnl_offer(path)


def failed(reason):
    """Say why a library that is there does not serve. Called from C, after the kernel that tried it."""
    if find() == NAME:
        return
    import warnings

    warnings.warn(
        f"oneDNN could not be loaded, rushlight's own kernels serve instead: {reason}",
        RuntimeWarning,
        stacklevel=2,
    )
