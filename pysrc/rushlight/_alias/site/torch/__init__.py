"""torch is rushlight here: `rushlight alias install` or `rushlight run` has put this file on the path."""

import sys

try:
    from rushlight import _alias
except ImportError as error:
    raise ImportError(
        f"{__file__} stands for rushlight, which {sys.executable} cannot import: {error}"
    ) from error
_alias.replace(sys.modules[__name__])
