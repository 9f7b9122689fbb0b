"""What a bug report needs; ``rushlight info`` prints the same."""

from rushlight import _missing
from rushlight._command import facts, info

__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)
__all__ = ["get_pretty_env_info", "main"]


def get_pretty_env_info() -> str:
    """Return versions, processor, memory, libraries and switches as lines of text.

    Examples
    --------
    >>> from rushlight.utils.collect_env import get_pretty_env_info
    >>> get_pretty_env_info().splitlines()[0].split()[0]
    'rushlight'
    """
    return "\n".join(info.lines(facts.collect()))


def main() -> None:
    """Print get_pretty_env_info()."""
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
