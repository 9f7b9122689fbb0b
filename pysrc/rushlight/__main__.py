"""python -m rushlight: the command `rushlight`, where its script is not on the path."""

import sys

from rushlight._command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], "python -m rushlight"))
