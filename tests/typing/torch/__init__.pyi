"""torch for type checkers of programs that say `import torch` and run as `rushlight run`."""

from rushlight import *
from rushlight import __version__ as __version__
