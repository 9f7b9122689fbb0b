"""Which calls a library binds: the parameters of tests/data/pytorch_names.txt, tried on its functions.

A call is made under a `TorchFunctionMode` that ends it as soon as its arguments are bound, so nothing is
computed. What asks no mode is run; only a TypeError says that it does not bind. Python functions and classes
are asked for their signature.
"""

import dataclasses
import inspect
import re

NUMPY_NAMES = {"dim": "axis", "keepdim": "keepdims"}


@dataclasses.dataclass
class Parameter:
    """`name/other name: kind|kind? = default`, with a star in front of `*args` and `**kwargs`."""

    name: str
    kinds: list
    default: str = ""
    keyword_only: bool = False
    positional_only: bool = False
    other_name: str = ""

    @property
    def starred(self):
        return self.name.startswith("*")

    def __str__(self):
        kind = "|".join(k for k in self.kinds if k != "None")
        kind = f"{kind}?" if kind and "None" in self.kinds else "|".join(self.kinds)
        name = f"{self.name}/{self.other_name}" if self.other_name else self.name
        return name + (f": {kind}" if kind else "") + (f" = {self.default}" if self.default else "")


def parse(text):
    """The parameters that `(input: Tensor, dim/axis: int = 0, *, out: Tensor? = None)` says."""
    parameters, starred = [], False
    for part in re.findall(r"(?:[^,(\['\"]|\([^)]*\)|\[[^\]]*\]|'[^']*'|\"[^\"]*\")+", text.strip()[1:-1]):
        head, _, default = part.strip().partition(" = ")
        if head == "*":
            starred = True
            continue
        if head == "/":
            for p in parameters:
                p.positional_only = True
            continue
        name, _, kind = head.partition(": ")
        kinds = kind.rstrip("?").split("|") if kind else []
        if kind.endswith("?"):
            kinds.append("None")
        name, _, other = name.partition("/")
        parameters.append(Parameter(name, kinds, default, starred and name[0] != "*", False, other))
        starred |= name.startswith("*")
    return parameters


def written(parameters):
    """The text that parse() reads."""
    parts, starred, positional_only = [], False, False
    for p in parameters:
        if positional_only and not p.positional_only:
            parts.append("/")
        positional_only = p.positional_only
        if p.keyword_only and not starred:
            parts.append("*")
            starred = True
        starred |= p.starred
        parts.append(str(p))
    return f"({', '.join(parts + ['/'] * positional_only)})"


class Bound(Exception):
    """The arguments were bound."""


class Prober:
    """Tries calls of one library."""

    def __init__(self, library):
        self.library = library
        # a list has so many elements: a tensor to try with it
        self.tensors = {
            2: library.ones(2, 2),
            1: library.tensor(0),
            3: library.ones(3) > 0,
        }
        self.tensors[4] = self.tensor = library.ones(4, 1, 1, 1)
        self.one = {
            "Number": 1.5,
            "int": 1,
            "float": 0.5,
            "bool": True,
            "str": "none",
            "dtype": library.float32,
            "layout": library.strided,
            "device": "cpu",
            "Generator": library.Generator(),
            "memory_format": library.contiguous_format,
            "UntypedStorage": self.tensor.untyped_storage(),
            "type": type("Sub", (library.Tensor,), {}),
            "None": None,
        }
        # of parameters without a type
        self.by_name = {"dim": 0, "dims": [0], "size": [2, 2], "dtype": float, "hook": print, "keepdim": True}
        self.by_name["ndarray"] = self.tensor.numpy()
        self.tensor_names = {"input", "other", "tensor", "tensors", "gradient", "inputs", "out", "args"}

        class Ending(library.overrides.TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                raise Bound

        self.mode = Ending

    def example(self, kind, length):
        """A value of a kind, lists with so many elements."""
        if kind.endswith("[]"):
            return [self.example(kind.removesuffix("[]").removesuffix("?"), length)] * length
        return self.tensors[length] if kind == "Tensor" else self.one[kind]

    def values(self, p, length):
        """[(kind, example)] of each kind that a parameter takes."""
        kinds = [k for k in p.kinds if k.removesuffix("[]").removesuffix("?") in {"Tensor", *self.one}]
        if kinds:
            return [(kind, self.example(kind, length)) for kind in kinds]
        name = p.name.strip("*")
        return [("", self.tensors[length] if name in self.tensor_names else self.by_name.get(name, 1))]

    def binds(self, function, args, kwargs):
        if inspect.isclass(function):  # a constructor does more than bind
            try:
                inspect.signature(function).bind(*args, **kwargs)
            except (TypeError, ValueError):
                return False
            return True
        if inspect.isfunction(inspect.unwrap(function)):
            signature = inspect.signature(function)
            try:
                signature.bind(*args, **kwargs)
            except TypeError:
                return False
            if all(p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in signature.parameters.values()):
                return True
        try:
            with self.mode():
                function(*args, **kwargs)
        except TypeError:
            return False
        except Exception:  # Bound, or it was bound and then refused the values
            pass
        return type(function).__name__ != "method_descriptor" or self.runs(function, args, kwargs)

    def runs(self, function, args, kwargs):
        """Is a method called with the right arguments? Some ask the mode before they look at them."""
        try:
            function(*args, **kwargs)
        except TypeError as error:
            return not re.search("unexpected keyword|positional argument|invalid combination", str(error))
        except Exception:
            pass
        return True

    def attempts(self, parameters, method, length):
        """(what is tried, args, kwargs) of every way to pass each parameter."""
        first = [self.tensors[length]] if method else []
        value = {p.name: self.values(p, length)[0][1] for p in parameters}
        required = [p for p in parameters if not p.default and not p.starred and not p.keyword_only]
        named = {p.name: value[p.name] for p in parameters if p.keyword_only and not p.default}
        plain = first + [value[p.name] for p in required]
        plain += [value[p.name] for p in parameters if p.starred and not required and p.name[1] != "*"] * 2
        yield "", plain, named
        for i, p in enumerate(required, len(first)):
            for kind, other in self.values(p, length)[1:]:
                yield f"{p.name}: {kind}", [*plain[:i], other, *plain[i + 1 :]], named
            if p.positional_only:
                continue
            rest = {q.name: value[q.name] for q in required[i - len(first) :]}
            yield f"{p.name}=", plain[:i], named | rest
            if p.other_name:
                rest[p.other_name] = rest.pop(p.name)
                yield f"{p.other_name}=", plain[:i], named | rest
        positional = []
        for p in (p for p in parameters if p.default and not p.starred):
            for kind, other in self.values(p, length):
                yield f"{p.name}: {kind}" if kind else f"{p.name}=", plain, named | {p.name: other}
            if p.other_name:
                yield f"{p.other_name}=", plain, named | {p.other_name: value[p.name]}
            if not p.keyword_only:
                positional.append(value[p.name])
                yield f"{p.name} by position", plain + positional, named

    def lacking(self, function, parameters, method):
        """What of an overload does not bind; [""] when none of it does. A list may have 1 to 4 elements."""
        ways = [list(self.attempts(parameters, method, length)) for length in self.tensors]
        failed = []
        for several in zip(*ways, strict=True):
            if not any(self.binds(function, args, kwargs) for _, args, kwargs in several):
                failed.append(several[0][0])
                if not several[0][0]:
                    return [""]
        for p in parameters:
            kinds = [f"{p.name}: {kind}" for kind, _ in self.values(p, 1)]
            if p.default and all(kind in failed for kind in kinds):
                failed = list(dict.fromkeys(f"{p.name}=" if what in kinds else what for what in failed))
        return failed


def find(library, name):
    """What `torch.linalg.inv` is in a library; AttributeError: it has no such name."""
    for part in name.split(".")[1:]:
        library = getattr(library, part)
    return library


def read(path):
    """{name: (kind, [parameters of each overload])} of the table."""
    names = {}
    with open(path) as f:
        for line in f:
            name, kind, *text = line.rstrip("\n").split("\t")
            names.setdefault(name, (kind, []))[1].extend(map(parse, text))
    return names
