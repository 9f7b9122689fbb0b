"""rushlight: PyTorch's nn.Module world as one small CPython extension.

``import rushlight as torch`` gives models, layers, optimisers and ``.pth`` files without torch;
``python -m rushlight script.py`` runs a script that says ``import torch``.
"""
# ruff: noqa: F401

import sys as _sys

from . import (
    _C,
    _exports,
    _generator,
    _import_hooks,
    _names,
    _overrides,
    _tensor,
    _tensor_memory,
    _untyped,
    _utils,
    functional,
    random,
)
from ._C import *  # noqa: F403
from ._C import contiguous_format as legacy_contiguous_format
from .version import __version__

_sys.modules["rushlight._C._nn"] = _C._nn  # its functions are pickled by this name
# what belongs to nn and to autograd is no name of this module
del Module, Node, Parameter  # noqa: F821
_import_hooks.share_when_sent(_C.Tensor, _C.Parameter, _C.UntypedStorage, _utils._Memory)
globals().update(_names.constants())

_exports.publish(globals())
_names.attach_methods()
_star = {n for n, value in globals().items() if n[0] != "_" and type(value) is not type(_C)}
__all__ = sorted(_star | {"load", "save", "set_printoptions"})
