"""Exceptions of PyTorch's TorchDynamo; of these only InvalidBackend is ever raised."""

from __future__ import annotations

__all__ = [
    "BackendCompilerFailed",
    "InternalTorchDynamoError",
    "InvalidBackend",
    "RecompileError",
    "RecompileLimitExceeded",
    "ResetRequired",
    "TorchDynamoException",
    "TorchRuntimeError",
    "Unsupported",
    "UserError",
]


class TorchDynamoException(RuntimeError):
    """An exception of the compiler."""


class InternalTorchDynamoError(TorchDynamoException):
    """An error within the compiler."""


class ResetRequired(TorchDynamoException):
    """A change that a compiler which ran before forbids."""


class ShortenTraceback(TorchDynamoException):
    """An error whose traceback leaves the compiler out."""


class InvalidBackend(TorchDynamoException):
    """A name that is none of a backend."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"Invalid backend: {name!r}, see `torch._dynamo.list_backends()` for available backends."
        )


class BackendCompilerFailed(ShortenTraceback):
    """An error of a backend."""


class Unsupported(TorchDynamoException):
    """Code that the compiler does not take."""


class UserError(Unsupported):
    """Code that is wrong."""


class TorchRuntimeError(TorchDynamoException):
    """An error of an operator while the compiler looks at it."""


class RecompileError(TorchDynamoException):
    """A compilation that settings forbid."""


class RecompileLimitExceeded(Unsupported):
    """More compilations than settings allow."""
