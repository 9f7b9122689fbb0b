"""What a module says about a name that this version lacks."""

from .version import __version__


def lacks(module):
    """Make the ``__getattr__`` of a module: an AttributeError that names the version."""

    def __getattr__(name):
        text = f"module '{module}' has no attribute '{name}'"
        if not name.startswith("__"):
            text += f" (rushlight {__version__} does not have it)"
        raise AttributeError(text)

    return __getattr__


def refuse(what):
    """Make the error for a case that exists in PyTorch and not in this version."""
    return NotImplementedError(f"{what} (rushlight {__version__} does not have it)")
