"""rushlight: PyTorch's nn.Module world as one small CPython extension.

``import rushlight as torch`` gives models, layers, optimisers and ``.pth`` files without torch;
``python -m rushlight script.py`` runs a script that says ``import torch``.
"""
# ruff: noqa: F401

import sys as _sys

from . import (
    _C,
    _generator,
    _import_hooks,
    _missing,
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
from .autograd.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from .random import (
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
    thread_safe_generator,
)
from .version import __version__

_sys.modules["rushlight._C._nn"] = _C._nn  # its functions are pickled by this name
# what belongs to nn and to autograd is no name of this module
del Module, Node, Parameter  # noqa: F821
_import_hooks.share_when_sent(_C.Tensor, _C.Parameter, _C.UntypedStorage, _utils._Memory)
globals().update(_names.public_names())
_names.attach_methods()

# modules that are imported when something first asks for them, and names that live in them
_LAZY = {
    name: name for name in ("autograd", "backends", "cuda", "jit", "nn", "optim", "serialization", "storage")
}
_LAZY |= {
    name: name
    for name in (
        *("linalg", "overrides", "special", "utils", "version", "torch_version"),
        *("_onednn", "_tensor_str"),
    )
}
_LAZY |= {"amp": "amp", "autocast": "amp", "GradScaler": "amp"}
_LAZY |= {"_amp_foreach_non_finite_check_and_unscale_": "_C", "_amp_update_scale_": "_C"}
_LAZY |= {
    name: "_C" for name in ("_standard_gamma", "_standard_gamma_grad", "_sample_dirichlet", "_dirichlet_grad")
}
_LAZY |= {
    name: "_C"
    for name in (
        *("_safe_softmax", "_scaled_dot_product_attention_math"),
        *("_scaled_dot_product_flash_attention_for_cpu", "_embedding_bag", "_embedding_bag_forward_only"),
    )
}
_LAZY |= {
    f"{verb}_autocast_{device}_{what}": "amp._per_device"
    for device in ("cpu", "gpu", "xla", "ipu")
    for verb, what in (("is", "enabled"), ("set", "enabled"), ("get", "dtype"), ("set", "dtype"))
    if (device, what) != ("gpu", "enabled")
}
_LAZY |= {"inspect": "inspect", "safetensors": "safetensors"}
_LAZY |= {"func": "func", "summary": "_summary", "return_types": "return_types", "testing": "testing"}
_LAZY |= {name: name for name in ("__config__", "accelerator", "cpu", "mps", "mtia", "types", "xpu")}
_LAZY |= {name: name for name in ("compiler", "distributions", "multiprocessing")}
_LAZY |= {"_disable_dynamo": "compiler", "profiler": "profiler"}
_LAZY |= {"_VF": "_VF", "_pack_padded_sequence": "_C", "_pad_packed_sequence": "_C"}
_LAZY |= {"_convolution": "_C", "_convolution_mode": "_C"}
_LAZY |= {
    name: "nn._native_attention"
    for name in ("_native_multi_head_attention", "_transformer_encoder_layer_fwd")
}
_LAZY |= {"load": "serialization", "save": "serialization"}
_LAZY |= {"set_printoptions": "_tensor_str", "from_dlpack": "utils.dlpack", "to_dlpack": "utils.dlpack"}
_LAZY |= {"pca_lowrank": "_lowrank", "svd_lowrank": "_lowrank", "nuclear_norm": "_lowrank"}
_LAZY |= {title + "Storage": "storage" for title in "BFloat16 Bool Byte Char Double Float Half Int".split()}
_LAZY |= {title + "Storage": "storage" for title in "ComplexDouble ComplexFloat Long Short Typed".split()}
_LAZY |= {title + "Storage": "storage" for title in "QInt8 QInt32 QUInt8 QUInt4x2 QUInt2x4".split()}
_missing_name = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__, _LAZY)
_star = {n for n, value in globals().items() if n[0] != "_" and type(value) is not type(_C)}
__all__ = sorted(_star | {"load", "save", "set_printoptions"})


def __getattr__(name):
    home = _LAZY.get(name)
    if home is None:
        return _missing_name(name)
    from importlib import import_module

    module = import_module(f"{__name__}.{home}")
    value = globals()[name] = module if home == name else getattr(module, name)
    return value
