"""Writes tests/data/pytorch_names.txt: the public names of PyTorch, their kinds, parameters and defaults.

python tools/pytorch_table.py tests/data/pytorch_names.txt    (make names: where PyTorch 2.13 is installed)

A line is an overload: name, kind, parameters. Those of what PyTorch writes in C++ stand in its stubs and, of
linalg and special, in the schemas of its operators; those of its Python functions in their signatures.
"""

import ast
import inspect
import pathlib
import re
import sys
import types
import typing

import torch
import torch.distributions
import torch.futures
import torch.hub
import torch.multiprocessing
import torch.optim.lr_scheduler
import torch.optim.swa_utils
import torch.overrides
import torch.testing
import torch.utils._pytree
import torch.utils.benchmark
import torch.utils.data

from binding import NUMPY_NAMES, Prober, parse, written

ROOT = pathlib.Path(torch.__file__).parent
SPACES = {
    "torch": torch,
    "torch.Tensor": torch.Tensor,
    "torch.linalg": torch.linalg,
    "torch.special": torch.special,
    "torch.nn.functional": torch.nn.functional,
    "torch.random": torch.random,
    "torch.autograd": torch.autograd,
    "torch.overrides": torch.overrides,
    "torch.testing": torch.testing,
    "torch.nn": torch.nn,
    "torch.nn.init": torch.nn.init,
    "torch.nn.utils": torch.nn.utils,
    "torch.optim": torch.optim,
    "torch.optim.lr_scheduler": torch.optim.lr_scheduler,
    "torch.optim.swa_utils": torch.optim.swa_utils,
    "torch.utils.data": torch.utils.data,
    "torch.distributions": torch.distributions,
    "torch.amp": torch.amp,
    "torch.multiprocessing": torch.multiprocessing,
    "torch.utils._pytree": torch.utils._pytree,
    "torch.hub": torch.hub,
    "torch.futures": torch.futures,
    "torch.utils.benchmark": torch.utils.benchmark,
}
# of these, what constructors take
CLASSES_OF = ("torch.nn", "torch.optim", "torch.utils.data", "torch.distributions", "torch.amp")
# what PyTorch's annotations and schemas call a type: what the table calls it
ATOMS = {
    "_int": "int",
    "SymInt": "int",
    "_float": "float",
    "_bool": "bool",
    "_complex": "complex",
    "Scalar": "Number",
    "_dtype": "dtype",
    "ScalarType": "dtype",
    "_layout": "layout",
    "Layout": "layout",
    "_device": "device",
    "Device": "device",
    "DeviceLikeType": "device",
    "_size": "int[]",
    "Size": "int[]",
    "MemoryFormat": "memory_format",
    "_qscheme": "qscheme",
    "IntLikeType": "int",
    "_symsize": "int[]",
    "SymFloat": "float",
}
NOT_TORCHS = {"torch", "TYPE_CHECKING", "USE_GLOBAL_DEPS", "USE_RTLD_GLOBAL_WITH_LIBTORCH"}
SEQUENCES = {"Sequence", "list", "List", "Tuple", "tuple", "Iterable"}


def atoms(node):
    """The types that an annotation allows, as a list of the table's words."""
    match node:
        case ast.Constant(value=None):
            return ["None"]
        case ast.Constant(value=str(text)):
            return atoms(ast.parse(text, mode="eval").body)
        case ast.BinOp(left=left, right=right):
            return atoms(left) + atoms(right)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return [ATOMS.get(name, name)]
        case ast.Subscript(value=ast.Name(id=name) | ast.Attribute(attr=name), slice=inside):
            parts = inside.elts if isinstance(inside, ast.Tuple) else [inside]
            parts = [p for p in parts if not (isinstance(p, ast.Constant) and p.value is ...)]
            if name == "Optional":
                return [*atoms(parts[0]), "None"]
            if name == "Union":
                return [atom for part in parts for atom in atoms(part)]
            if name == "Literal":
                return [type(part.value).__name__ for part in parts]
            if name.startswith("BroadcastingList"):
                return [*atoms(parts[0]), atoms(parts[0])[0] + "[]"]
            if name in SEQUENCES and parts:
                return [joined(atoms(parts[0])) + "[]"]
            return [name]
    return ["Any"]


def joined(kinds):
    kinds = list(dict.fromkeys(kinds))
    if "complex" in kinds and "Number" in kinds:
        kinds.remove("complex")
    optional = "None" in kinds
    kinds = [k for k in kinds if k != "None"]
    text = "|".join(kinds) or "None"
    return f"{text}?" if optional and kinds else text


def kind_text(annotation):
    if annotation is None or annotation is inspect.Parameter.empty:
        return ""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    try:
        return joined(atoms(ast.parse(text, mode="eval").body))
    except SyntaxError:
        return "Any"


def plain_default(value):
    if isinstance(value, (type(None), bool, int, float, str)):
        return repr(value)
    if isinstance(value, (tuple, list)) and all(isinstance(v, (int, float)) for v in value):
        return repr(value)
    return str(value) if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)) else "..."


def one(name, kind, default):
    return name + (f": {kind}" if kind else "") + (f" = {default}" if default else "")


def node_kind(arg):
    return kind_text(arg.annotation and ast.unparse(arg.annotation))


def stub_arguments(node, method):
    """The parameters of a function of a stub."""
    a = node.args
    parts = []
    positional = a.posonlyargs + a.args
    defaults = [None] * (len(positional) - len(a.defaults)) + a.defaults
    for i, (arg, default) in enumerate(zip(positional, defaults, strict=True)):
        if i == 0 and method:
            continue
        name = "input" if arg.arg == "self" else arg.arg
        parts.append(one(name, node_kind(arg), default and ast.unparse(default)))
    if a.vararg:
        parts.append(one(f"*{a.vararg.arg}", node_kind(a.vararg), ""))
    elif a.kwonlyargs:
        parts.append("*")
    for arg, default in zip(a.kwonlyargs, a.kw_defaults, strict=True):
        # the stub writes some out= without a default; the function has one
        text = "None" if arg.arg == "out" else default and ast.unparse(default)
        kind = node_kind(arg)
        kind += "?" if arg.arg == "out" and not kind.endswith("?") else ""
        parts.append(one(arg.arg, kind, text))
    if a.kwarg:
        parts.append(f"**{a.kwarg.arg}")
    return ", ".join(parts)


def from_stub(path, cls=None):
    """{name: {parameters}} of a stub's functions, or of a class in it; {name: None} of its attributes."""
    body = ast.parse((ROOT / path).read_text()).body
    if cls:
        body = next(n.body for n in body if isinstance(n, ast.ClassDef) and n.name == cls)
    found = {}
    for node in body:
        if isinstance(node, ast.FunctionDef):
            if any("property" in ast.unparse(d) for d in node.decorator_list):
                continue
            found.setdefault(node.name, []).append(stub_arguments(node, cls is not None))
    return found


def from_signature(function, method):
    """The parameters of a Python function, as a list of one."""
    # of the two functions between which return_indices decides
    while str(inspect.signature(function)) == "(*args, **kwargs)" and getattr(function, "__closure__", None):
        halves = [c.cell_contents for c in function.__closure__ if inspect.isfunction(c.cell_contents)]
        if not halves:
            break
        function = halves[0]
    parts, starred = [], False
    for i, p in enumerate(inspect.signature(function, follow_wrapped=True).parameters.values()):
        if i == 0 and method:
            continue
        if p.kind is p.VAR_POSITIONAL or (p.kind is p.KEYWORD_ONLY and not starred):
            starred = True
            if p.kind is p.KEYWORD_ONLY:
                parts.append("*")
        stars = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        default = "" if p.default is p.empty else plain_default(p.default)
        parts.append(one(stars + p.name, kind_text(p.annotation), default))
    return [", ".join(parts)]


def schema_kind(text):
    optional = text.endswith("?")
    text = re.sub(r"\[\d*\]", "[]", text.rstrip("?"))
    base = text.removesuffix("[]")
    return ATOMS.get(base, base) + "[]" * text.endswith("[]") + "?" * optional


def from_schemas(operator):
    """The parameters of each overload of aten's operator; out= joins the overload that it belongs to."""
    overloads = {}
    for schema in torch._C._jit_get_schemas_for_operator(f"aten::{operator}"):
        results = [a for a in schema.arguments if a.is_out]
        parts, starred = [], False
        for a in schema.arguments:
            if a.is_out:
                continue
            if a.kwarg_only and not starred:
                parts.append("*")
                starred = True
            default = plain_default(a.default_value) if a.has_default_value() else ""
            parts.append(one("input" if a.name == "self" else a.name, schema_kind(str(a.real_type)), default))
        key = tuple(parts)
        overloads[key] = overloads.get(key, 0) or len(results)
    texts = []
    for parts, results in overloads.items():
        if any("Dimname" in p for p in parts):
            continue
        kind = "Tensor?" if results == 1 else "Tensor[]?"
        out = ([] if "*" in parts else ["*"]) + [one("out", kind, "None")] if results else []
        texts.append(", ".join([*parts, *out]))
    return texts


def kind_of(value, method):
    if isinstance(value, types.ModuleType):
        return "module"
    if inspect.isclass(value):
        return "class"
    if method and (inspect.isdatadescriptor(value) or isinstance(value, property)):
        return "property"
    return ("method" if method else "function") if callable(value) else "constant"


def is_public(space, name, value):
    """PyTorch's own: not what its modules import from elsewhere."""
    if space == "torch.Tensor":
        ours = name.startswith("__") and name in dir(object)
        return not ours and (not name.startswith("_") or (name.startswith("__") and callable(value)))
    if name.startswith("_") or name in NOT_TORCHS or isinstance(value, typing.TypeVar):
        return False
    if isinstance(value, types.ModuleType):
        return value.__name__ == f"{space}.{name}"
    home = getattr(value, "__module__", None)
    home = home if isinstance(home, str) else "torch"
    if space == "torch":
        return home.startswith("torch")
    if space in ("torch.linalg", "torch.nn.functional"):
        ours = inspect.isbuiltin(value) or home in ("torch._C._nn", space)
        return callable(value) and name.islower() and ours
    return home.startswith(space) or name in getattr(SPACES[space], "__all__", ())


def checked(prober, function, parameters, method):
    """The parameters as PyTorch itself binds them, with their second names; None: it does not."""
    lacking = prober.lacking(function, parameters, method)
    if lacking == [""]:
        return None
    for p in parameters:
        p.positional_only = f"{p.name}=" in lacking and not p.default
        p.kinds = [k for k in p.kinds if f"{p.name}: {k}" not in lacking]
        p.refused = p.default and (f"{p.name}=" in lacking or p.kinds == ["None"])
    parameters = [p for p in parameters if not p.refused]
    for i, p in enumerate(parameters):
        if f"{p.name} by position" in lacking and not any(q.starred for q in parameters[i:]):
            for q in parameters[i:]:
                q.keyword_only = True
            break
    for p in parameters:
        p.other_name = NUMPY_NAMES.get(p.name, "")
    lacking = prober.lacking(function, parameters, method)
    for p in parameters:
        if f"{p.other_name}=" in lacking:
            p.other_name = ""
    return parameters


def covers(a, b):
    """Does a take all that b takes?"""

    def needed(parameters):
        return [(p.name, p.kinds) for p in parameters if not p.default]

    names = {p.name: p for p in a}
    optional = [p for p in b if p.default]
    order = [p.name for p in a if not p.keyword_only][: len([p for p in b if not p.keyword_only])]
    return (
        needed(a) == needed(b)
        and all(p.name in names and set(p.kinds) <= set(names[p.name].kinds) for p in optional)
        and order == [p.name for p in b if not p.keyword_only]
    )


def overloads(prober, function, texts, method):
    """The different overloads among texts, as PyTorch binds them."""
    found = []
    for text in sorted(set(texts)):
        parameters = checked(prober, function, parse(f"({text})"), method)
        if parameters is not None:
            found.append(parameters)
    found.sort(key=len, reverse=True)
    kept = []
    for parameters in found:
        if not any(covers(other, parameters) for other in kept):
            kept.append(parameters)
    return sorted(written(p) for p in kept)


def lines():
    prober = Prober(torch)
    functions = from_stub("_C/_VariableFunctions.pyi")
    nn = from_stub("_C/_nn.pyi")
    methods = from_stub("_C/__init__.pyi", "TensorBase")
    core = from_stub("_C/__init__.pyi")
    for space, home in SPACES.items():
        method = space == "torch.Tensor"
        for name in sorted(dir(home)):
            value = getattr(home, name, None)
            if not is_public(space, name, value):
                continue
            kind = kind_of(inspect.getattr_static(home, name) if method else value, method)
            texts = [""]
            if kind == "class" and space.startswith(CLASSES_OF) and inspect.isfunction(value.__init__):
                texts = from_signature(value, False)
                bound = overloads(prober, value, texts, False)
                yield from (f"{space}.{name}\t{kind}\t{text}" for text in bound)
                if bound:
                    continue
            if kind in ("function", "method"):
                if inspect.isfunction(inspect.unwrap(value)):
                    texts = from_signature(value, method)
                elif method:
                    texts = methods.get(name)
                elif space in ("torch.linalg", "torch.special"):
                    texts = from_schemas(value.__name__)
                elif space == "torch.nn.functional":
                    texts = nn.get(name) or nn.get(value.__name__) or functions.get(name)
                else:
                    texts = functions.get(name) or core.get(name)
                texts = ["?"] if texts is None else texts
            if kind not in ("function", "method") or texts == ["?"]:
                yield f"{space}.{name}\t{kind}"
                continue
            bound = overloads(prober, value, texts, method)
            yield from (f"{space}.{name}\t{kind}\t{text}" for text in bound)
            if not bound:
                yield f"{space}.{name}\t{kind}"


if __name__ == "__main__":
    with open(sys.argv[1], "w") as f:
        f.writelines(f"{line}\n" for line in lines())
