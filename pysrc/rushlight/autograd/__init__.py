"""Switches for the recording of gradients."""

from rushlight import _C, _missing

from .grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled, set_multithreading_enabled

__all__ = [
    "Variable",
    "backward",
    "enable_grad",
    "grad",
    "inference_mode",
    "no_grad",
    "set_grad_enabled",
    "set_multithreading_enabled",
]

Variable = _C.Tensor
__getattr__ = _missing.lacks(__name__)


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, inputs=None):
    """Compute gradients; see Tensor.backward."""
    tensors = (tensors,) if isinstance(tensors, _C.Tensor) else tuple(tensors)
    gradients = (grad_tensors,) if isinstance(grad_tensors, _C.Tensor) else grad_tensors
    for tensor, gradient in zip(tensors, gradients or [None] * len(tensors)):
        tensor.backward(gradient, retain_graph, create_graph, inputs)


def grad(outputs, inputs, grad_outputs=None, **options):
    """Return gradients; this version has no engine for that yet."""
    version = _missing.__version__
    raise NotImplementedError(f"rushlight {version} computes no gradients yet: it has no autograd engine")
