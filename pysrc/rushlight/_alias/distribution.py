"""The distribution that ``importlib.metadata`` finds under the name torch."""

from importlib import metadata
from pathlib import Path

from . import VERSION, __version__


class TorchDistribution(metadata.Distribution):
    """Describes rushlight in the place of torch."""

    def read_text(self, filename):
        if filename == "METADATA":
            return (
                f"Metadata-Version: 2.1\nName: torch\nVersion: {VERSION}\n"
                f"Summary: rushlight {__version__} in the place of torch\n"
            )
        return "torch\n" if filename == "top_level.txt" else None

    def locate_file(self, path):
        return Path(__file__).parent.parent.parent / path
