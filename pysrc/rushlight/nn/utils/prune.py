"""Masks that keep chosen entries of a parameter at zero.

A pruned ``weight`` becomes the parameter ``weight_orig`` and the buffer ``weight_mask``; before each forward
a hook, the pruning method, puts their product where the weight was. Methods on the same parameter are
collected in a PruningContainer.
"""

from __future__ import annotations

from rushlight import _homes

from ._masks import (  # noqa: F401
    _compute_norm,
    _compute_nparams_toprune,
    _count_to_prune,
    _keep_slices,
    _largest,
    _validate_pruning_amount,
    _validate_pruning_amount_init,
    _validate_pruning_dim,
    _validate_structured_pruning,
    _zero_largest,
)
from ._pruning_base import BasePruningMethod, PruningContainer, _check_scores, _find_hooks
from ._pruning_functions import (
    custom_from_mask,
    global_unstructured,
    identity,
    is_pruned,
    l1_unstructured,
    ln_structured,
    random_structured,
    random_unstructured,
    remove,
)
from ._pruning_methods import (
    CustomFromMask,
    Identity,
    L1Unstructured,
    LnStructured,
    RandomStructured,
    RandomUnstructured,
)

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]

_homes.adopt(
    __name__,
    _find_hooks,
    _check_scores,
    BasePruningMethod,
    PruningContainer,
    Identity,
    RandomUnstructured,
    L1Unstructured,
    RandomStructured,
    LnStructured,
    CustomFromMask,
    identity,
    random_unstructured,
    l1_unstructured,
    random_structured,
    ln_structured,
    custom_from_mask,
    global_unstructured,
    remove,
    is_pruned,
)
