"""The named tuples that operators with several results answer, by the names of these operators."""

from . import _C, _missing

globals().update(_C._return_types())
all_return_types = [cls for _, cls in sorted(_C._return_types().items())]
__all__ = [*"pytree_register_structseq all_return_types".split(), *sorted(_C._return_types())]
_missing_name = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)


def __getattr__(name):
    """Give what registers such classes as nodes of trees; of these here, ``utils._pytree`` does it."""
    if name != "pytree_register_structseq":
        return _missing_name(name)
    from .utils._pytree import pytree_register_structseq

    return pytree_register_structseq
