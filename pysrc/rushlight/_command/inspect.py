"""rushlight inspect: what a checkpoint holds."""

import argparse
import sys

from .. import _escape
from .._files import contents
from ..inspect import Report
from ._guard import Failure, Parser, reason

_ABOUT = "Show what a checkpoint holds, without running anything of it."
_MORE = """\
Tensors, values, shared memory, versions of modules, and the classes that the
file asks for are listed; nothing is imported or executed. Files of torch.save
are read (every version since PyTorch 0.1), and safetensors files. Names that a
terminal would obey are shown with escapes.

examples:
  {program} model.pth
  {program} checkpoints/*.pth
  {program} model.pth --json | jq '.tensors[] | [.name, .shape]'

exit status: 0, 1 where the contents cannot be listed (a damaged file, or none
of a known format), 2 for a wrong command line.
"""


def report_on(path, **options):
    """Return the Report on a file that somebody named."""
    try:
        return Report(path, **options)
    except (OSError, MemoryError) as error:
        raise Failure(f"cannot open {_escape.plain(path)}: {reason(error)}") from None


def main(arguments, program):
    parser = Parser(program, _ABOUT, _MORE.format(program=program))
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="files of torch.save or safetensors files, listed in turn"
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="print one JSON object, described in docs/files.md; of several files a list of them",
    )
    parser.add_argument(
        "--all", action="store_true", help="list all values of a group, not the first 20 alone"
    )
    parser.add_argument("--to", metavar="OUT", help=argparse.SUPPRESS)  # what is now convert
    options = parser.parse_args(arguments)
    if options.to and len(options.files) > 1:
        raise Failure("--to takes one file", 2)
    status, between = 0, ""
    if options.json and len(options.files) > 1:
        print("[")
    for path in options.files:
        try:
            report = report_on(path)
        except Failure as failure:  # the others are listed all the same
            if len(options.files) == 1:
                raise
            print(f"{program}: {_escape.line(str(failure))}", file=sys.stderr)
            status = 1
            continue
        status = status or int(report.error is not None)
        said = contents.json_lines(report.to_dict(options.all)) if options.json else report.text(options.all)
        print(f"{between}{said}")
        between = ",\n" if options.json else "\n"
    if options.json and len(options.files) > 1:
        print("]")
    if options.to and status == 0:
        from . import convert

        return convert.convert(options.files[0], options.to, force=True)
    return status
