"""The files of the distribution ``torch`` that means rushlight, as a wheel or an environment has them.

It imports nothing of rushlight, so that tools/make_packages.py can run it where rushlight is not built.
"""

import ast
import base64
import hashlib
import re
from pathlib import Path

_LEFT_OUT = {"_alias", "_command", "__main__"}
_DEFINES = ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef
_WHEEL = "Wheel-Version: 1.0\nGenerator: rushlight\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def info_of(version):
    """Return the name of the folder that describes the distribution."""
    return f"torch-{version}.dist-info"


# ---- for type checkers: each module of torch has the names of rushlight's ----
# They are .py files, though no program runs them, since pyright warns of stubs without a source.
def _names(source):
    """What a module defines by itself."""
    for node in ast.parse(source).body:
        if isinstance(node, _DEFINES):
            yield node.name
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name))


def _same_names(module, source):
    """Its public names, and by themselves the others, which a star leaves out."""
    lines = [f'"""torch{module[len("rushlight") :]} is {module}."""', f"from {module} import *"]
    private = sorted({name for name in _names(source) if name[0] == "_" and name[:2] != "__"})
    lines += [f"from {module} import {name} as {name}" for name in private]
    if module == "rushlight":
        lines.append("from rushlight import __version__ as __version__")
    return "\n".join([*lines, ""]).encode()


def _modules(package):
    found = {path.relative_to(package).with_suffix(""): path for path in sorted(package.rglob("*.py"))}
    found |= {path.relative_to(package).with_suffix(""): path for path in sorted(package.rglob("*.pyi"))}
    for path, source in found.items():
        if path.parts[0] not in _LEFT_OUT:
            name = ".".join(("rushlight", *path.parts)).removesuffix(".__init__")
            suffix = "pyi" if str(path) == "__init__" else "py"  # torch/__init__.py is what programs run
            yield f"torch/{path}.{suffix}", _same_names(name, source.read_text(encoding="utf-8"))


# ---- all of it ----
def record_line(name, data):
    """Return the line by which RECORD tells a file."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}"


def version_in(package):
    """Return the version of the distribution: 2.13.0+rushlight0.1.0."""
    text = (Path(package) / "_alias" / "site" / "torch.dist-info" / "METADATA").read_text(encoding="utf-8")
    return re.search("^Version: (.*)$", text, re.M)[1]


def recorded(made, info):
    """Return {path: bytes} with RECORD, which lists them, in the folder ``info``."""
    lines = [record_line(*each) for each in made.items()]
    return {**made, f"{info}/RECORD": "\n".join([*lines, f"{info}/RECORD,,", ""]).encode()}


def files(package):
    """Return {path: bytes} of the distribution, less RECORD, for a folder that is the package rushlight."""
    package, info = Path(package), info_of(version_in(package))
    site = package / "_alias" / "site"
    made = {"torch/__init__.py": (site / "torch" / "__init__.py").read_bytes(), "torch/py.typed": b""}
    made |= _modules(package)
    for name in ("METADATA", "top_level.txt"):
        made[f"{info}/{name}"] = (site / "torch.dist-info" / name).read_bytes()
    made[f"{info}/WHEEL"] = _WHEEL.encode()
    return made
