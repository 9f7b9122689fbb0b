"""Parameter: a Tensor that a Module registers when it is assigned."""

from rushlight._C import Parameter
from rushlight._missing import lacks

__all__ = ["Parameter", "is_lazy"]
__getattr__ = lacks(__name__)


def is_lazy(param):
    """Whether a parameter still waits for its shape: never."""
    return False
