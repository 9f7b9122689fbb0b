"""Makes ``import torch`` mean rushlight, in this process.

A finder that stands first on ``sys.meta_path`` answers for ``torch`` and ``torch.*`` and for nothing else.
``torch.nn`` is the very module ``rushlight.nn``, imported when it is first asked for; a torch that is
installed stays out of reach. A module that this version lacks raises ModuleNotFoundError, and find_spec
returns None. A second finder stands last: it answers for ``safetensors`` where that package is missing.

Which version is it? Scripts ask in order to know what torch can do, so ``torch.__version__`` and
``importlib.metadata.version("torch")`` answer with the version of the interface and, behind the plus sign as
in "2.13.0+cpu", with rushlight's own.
"""

import sys

from ..version import __version__  # before install() replaces it
from .children import teach
from .finder import Finder, SafetensorsFinder

INTERFACE = "2.13.0"
VERSION = f"{INTERFACE}+rushlight{__version__}"


def install():
    """Let torch mean rushlight from now on; a torch that was imported before is an error."""
    if Finder in sys.meta_path:
        return
    import rushlight
    from rushlight import version
    from rushlight._import_hooks import after_import
    from rushlight.torch_version import TorchVersion

    if "torch" in sys.modules and sys.modules["torch"] is not rushlight:
        raise ImportError("torch is already imported: rushlight cannot take its place in this process")
    sys.meta_path.insert(0, Finder)
    sys.meta_path.append(SafetensorsFinder)
    after_import("multiprocessing.spawn", teach)
    rushlight.__version__ = version.__version__ = TorchVersion(VERSION)
    rushlight.Tensor.__module__ = "torch"  # programs print the class
