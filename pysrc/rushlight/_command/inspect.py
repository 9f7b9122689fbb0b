"""rushlight inspect: what a checkpoint holds."""

import argparse

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
    parser.add_argument("file", metavar="FILE", help="a file of torch.save or a safetensors file")
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object, described in docs/files.md"
    )
    parser.add_argument(
        "--all", action="store_true", help="list all values of a group, not the first 20 alone"
    )
    parser.add_argument("--to", metavar="OUT", help=argparse.SUPPRESS)  # what is now convert
    options = parser.parse_args(arguments)
    report = report_on(options.file)
    if options.json:
        print(contents.json_lines(report.to_dict(options.all)))
    else:
        print(report.text(options.all))
    if options.to and report.error is None:
        from . import convert

        return convert.convert(options.file, options.to, force=True)
    return 0 if report.error is None else 1
