"""rushlight summary: the layers of a model that a file holds or that a class makes."""

import ast
import importlib
import importlib.util
import os
import sys

import rushlight

from .. import _escape
from .._files import contents
from ._guard import Failure, Parser
from .inspect import report_on

_ABOUT = "Show the layers of a model: output shapes, parameters, multiply-adds, memory."
_MORE = """\
MODEL is one of
  package.module:Name       a class, a function that makes a model, or a model;
                            the code of that module runs
  model.py:Name             the same in a file
  model.py:Name(10, p=0.1)  with arguments: numbers, texts, lists, tuples, dicts,
                            True, False, None
  model.pth                 a file with a whole pickled module; it needs --trust,
                            since opening it runs code that the file names

`import torch` means rushlight in that code. With --input-size the model runs
once on zeros, in eval mode and without gradients. A file of a state_dict has no
layers: `rushlight inspect` lists its tensors.

examples:
  {program} model.py:Net --input-size 1,3,224,224
  {program} models.text:encoder --input-size 1,16 --dtype int64
  {program} model.py:Net --json | jq '.layers[] | [.name, .parameters]'

exit status: 0, 1 where the model cannot be made or run, 2 for a wrong command
line.
"""
_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_NOBODYS = (_OURS, os.path.dirname(importlib.__file__), "<frozen ")


# ---- what went wrong in code of others ----
def _place(error):
    """Where an error was raised, by the last line that is not rushlight's own nor importlib's."""
    place, traceback = "", error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if not code.co_filename.startswith(_NOBODYS):
            place = f" ({os.path.relpath(code.co_filename)}:{traceback.tb_lineno} in {code.co_name})"
        traceback = traceback.tb_next
    return place


def _failure(what, error):
    if isinstance(error, SystemExit):  # its code goes to a shell, which hears ours
        return Failure(f"{what}: it called sys.exit({error.code!r}){_place(error)}")
    notes = "".join(f"; {note}" for note in getattr(error, "__notes__", ()))
    if call := getattr(error, "rushlight_call", None):
        notes += f"; in {call}"
    return Failure(f"{what}: {type(error).__name__}: {error}{_place(error)}{notes}")


# ---- the model ----
def _let_torch_mean_rushlight(folder):
    """Before code of others is imported, as `rushlight run` does; it is looked for in that folder first."""
    from rushlight import _alias

    _alias.install_as_torch()
    sys.path.insert(0, folder)


def _import(name):
    """The module of a dotted name, or of a file."""
    if not name.endswith(".py"):
        _let_torch_mean_rushlight(os.getcwd())
        return importlib.import_module(name)
    path = os.path.abspath(name)
    _let_torch_mean_rushlight(os.path.dirname(path))
    spec = importlib.util.spec_from_file_location(os.path.basename(name)[:-3], path)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _call_of(text):
    """'a.B(1, c=2)' as ("a.B", (1,), {"c": 2}); without parentheses the arguments are None."""
    name, bracket, _ = text.partition("(")
    if not bracket:
        return name, None, {}
    try:
        call = ast.parse(text, mode="eval").body
        if not isinstance(call, ast.Call) or ast.unparse(call.func) != name:
            raise ValueError
        args = tuple(map(ast.literal_eval, call.args))
        return name, args, {word.arg: ast.literal_eval(word.value) for word in call.keywords if word.arg}
    except (SyntaxError, ValueError):
        raise Failure(f"{text} is no call with plain arguments, such as Net(10, p=0.1)", 2) from None


def _from_code(reference):
    module_name, _, text = reference.partition(":")
    name, args, kwargs = _call_of(text)
    if module_name.endswith(".py") and not os.path.exists(module_name):
        raise Failure(f"there is no file {_escape.plain(module_name)}")
    try:
        found = _import(module_name)
    except (Exception, SystemExit) as error:
        raise _failure(f"cannot import {module_name}", error) from None
    try:
        for part in name.split("."):
            found = getattr(found, part)
    except AttributeError:
        raise Failure(f"{module_name} has no {name}") from None
    if args is None and isinstance(found, rushlight.nn.Module):
        return found
    if not callable(found):
        raise Failure(f"{reference} is {type(found).__name__}, not a class or function that makes a model")
    try:
        return found(*(args or ()), **kwargs)
    except (Exception, SystemExit) as error:
        raise _failure(f"cannot make {text}", error) from None


def _from_file(path, trust):
    report = report_on(path)
    if report.error is not None and not report.asks:
        raise Failure(f"cannot read {_escape.plain(path)}: {report.error}")
    if not report.asks:
        raise Failure(
            f"{_escape.plain(path)} holds tensors, not a module: name the class that they belong to "
            f"(model.py:Net), or list them with `rushlight inspect`"
        )
    names = ", ".join(map(_escape.plain, report.asks[:4])) + (", ..." if len(report.asks) > 4 else "")
    if not trust:
        raise Failure(
            f"{_escape.plain(path)} holds objects of classes ({names}), and opening it runs code that it "
            f"names: --trust does so, for a file whose source you trust"
        )
    _let_torch_mean_rushlight(os.getcwd())
    try:
        found = rushlight.load(path, map_location="cpu", weights_only=False)
    except (Exception, SystemExit) as error:
        raise _failure(f"cannot open {_escape.plain(path)}", error) from None
    if isinstance(found, dict):
        models = [value for value in found.values() if isinstance(value, rushlight.nn.Module)]
        found = models[0] if len(models) == 1 else found
    return found


def _model(text, trust):
    if os.path.exists(text) and not text.endswith(".py"):
        return _from_file(text, trust)
    if ":" in text:
        return _from_code(text)
    if os.path.exists(text):
        raise Failure(f"say which class: {_escape.plain(text)}:Name", 2)
    raise Failure(f"{_escape.plain(text)} is neither a file nor package.module:Name")


# ---- the input ----
def _size(text):
    try:
        size = tuple(int(part) for part in text.replace("x", ",").split(","))
    except ValueError:
        size = (-1,)
    if min(size) < 0:
        raise Failure(f"--input-size {_escape.plain(text)}: expected whole numbers, such as 1,3,224,224", 2)
    return size


def _dtype(text):
    dtype = getattr(rushlight, text, None)
    if not isinstance(dtype, rushlight.dtype):
        raise Failure(f"--dtype {_escape.plain(text)}: expected a dtype, such as int64", 2)
    return dtype


def main(arguments, program):
    parser = Parser(program, _ABOUT, _MORE.format(program=program))
    parser.add_argument("model", metavar="MODEL", help="package.module:Name, model.py:Name, or a file")
    parser.add_argument(
        "--input-size",
        metavar="N,N,...",
        action="append",
        help="the shape of the input, its batch first; again for each further argument of forward()",
    )
    parser.add_argument(
        "--dtype",
        metavar="DTYPE",
        action="append",
        help="of the inputs; by default that of the first parameter",
    )
    parser.add_argument("--depth", type=int, default=3, metavar="N", help="levels of layers; 3 by default")
    parser.add_argument("--json", action="store_true", help="print one JSON object: totals and layers")
    parser.add_argument("--trust", action="store_true", help="open a pickled module, which may run any code")
    options = parser.parse_args(arguments)
    sizes = [_size(text) for text in options.input_size or ()]
    dtypes = [_dtype(text) for text in options.dtype or ()]
    if len(dtypes) > 1 and len(dtypes) != len(sizes):
        raise Failure("give --dtype once, or once for each --input-size", 2)
    model = _model(options.model, options.trust)
    if not isinstance(model, rushlight.nn.Module):
        raise Failure(f"{_escape.plain(options.model)} gives {type(model).__name__}, not an nn.Module")
    try:
        result = rushlight.summary(
            model,
            sizes or None,
            depth=options.depth,
            dtype=dtypes if len(dtypes) > 1 else (dtypes or [None])[0],
            verbose=False,
        )
    except (Exception, SystemExit) as error:
        raise _failure("the model does not run", error) from None
    print(contents.json_lines(result.to_dict()) if options.json else result)
    return 0
