"""The wheel rushlight-cuda: rushlight/_cuda*.so alone, which lands beside the files of rushlight."""

import runpy
import shutil
import sysconfig
import zipfile
from pathlib import Path

MOST = 40_000_000  # bytes of a wheel
METADATA = """\
Metadata-Version: 2.4
Name: rushlight-cuda
Version: {version}
Summary: rushlight's kernels for NVIDIA GPUs.
License-Expression: MIT
License-File: LICENSE
Requires-Python: >=3.11
Requires-Dist: rushlight=={version}
Classifier: Environment :: GPU :: NVIDIA CUDA :: 13
Classifier: Operating System :: POSIX :: Linux
Description-Content-Type: text/markdown

`pip install rushlight-cuda` lets rushlight run on NVIDIA GPUs of compute capability 8.0 and later, with
driver 580 or later.
"""
WHEEL = "Wheel-Version: 1.0\nGenerator: rushlight\nRoot-Is-Purelib: false\nTag: {tag}\n"


def version_of(tree):
    found = {}
    exec((tree / "pysrc" / "rushlight" / "version.py").read_text(), found)
    return found["__version__"]


def tag_of(library):
    """cp311-cp311-linux_x86_64 of _cuda.cpython-311-x86_64-linux-gnu.so"""
    number = library.name.split(".")[1].split("-")[1]
    return f"cp{number}-cp{number}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def assemble(tree, library, folder):
    """The wheel of a library that setup.py built in a tree of sources."""
    version, tag = version_of(tree), tag_of(library)
    info = f"rushlight_cuda-{version}.dist-info"
    files = {
        f"rushlight/{library.name}": library.read_bytes(),
        f"{info}/licenses/LICENSE": (tree / "LICENSE").read_bytes(),
        f"{info}/METADATA": METADATA.format(version=version).encode(),
        f"{info}/WHEEL": WHEEL.format(tag=tag).encode(),
    }
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    made = folder / f"rushlight_cuda-{version}-{tag}.whl"
    write(made, contents_of(tree)["recorded"](files, info))
    return made


def contents_of(tree):
    """What rushlight/_alias/contents.py defines, which knows RECORD; rushlight itself is not imported."""
    return runpy.run_path(str(tree / "pysrc" / "rushlight" / "_alias" / "contents.py"))


def write(made, files):
    """Write a wheel of {path: bytes}; the same files give the same bytes."""
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)


def sizes(tree):
    """A table of the objects of csrc/cuda that nvcc made last, the largest first."""
    newest = {}
    for o in sorted(tree.glob("build/objects/*/csrc/cuda/**/*.o"), key=lambda o: o.stat().st_mtime):
        source = Path("csrc", o.as_posix().rpartition("/csrc/")[2]).with_suffix(".cu")
        if (Path(tree) / source).exists() and is_of_nvcc(o):
            newest[source.relative_to("csrc/cuda")] = o.stat().st_size
    rows = sorted(newest.items(), key=lambda row: -row[1])
    lines = [f"| {name} | {size >> 10} |" for name, size in rows]
    return "\n".join(["| file | KB |", "| --- | --: |", *lines, f"| all | {sum(newest.values()) >> 10} |"])


def is_of_nvcc(target):
    folder = next(p for p in target.parents if p.name == "csrc").parent
    return "nvcc" in (folder / "command").read_text().partition("\n")[0]
