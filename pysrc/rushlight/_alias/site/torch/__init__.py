"""torch is rushlight here: `rushlight alias install` or `rushlight run` has put this file on the path."""

import sys

if __name__ == "torch":  # not where a tool imports all that the package has
    try:
        from rushlight import _alias
    except ImportError as error:
        raise ImportError(
            f"{__file__} stands for rushlight, which {sys.executable} cannot import: {error}"
        ) from error
    _alias.replace(sys.modules[__name__])
