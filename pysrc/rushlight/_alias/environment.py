"""The distribution ``torch`` in an environment: what is there, putting it there, taking it away.

RECORD says by hashes what is ours. A file that has another hash, or that another distribution lists in its
own RECORD, is not, and stays.
"""

import contextlib
import csv
import importlib
import os
import shutil
import site
import sysconfig
import tempfile
from dataclasses import dataclass, field
from importlib import metadata
from importlib.machinery import PathFinder
from pathlib import Path

from . import SITE, VERSION, contents

_WORK = ".rushlight-alias-"  # folders of installs that go on, or that were killed
_BY_INSTALLERS = {"INSTALLER", "REQUESTED", "direct_url.json", "RECORD"}


class Refused(Exception):
    """What was asked for cannot be done; the environment is as it was."""


def folder_of_packages():
    """Return where packages of this interpreter lie: beside rushlight's own distribution, if that is one."""
    known = [sysconfig.get_path("purelib"), *site.getsitepackages(), site.getusersitepackages()]
    with contextlib.suppress(metadata.PackageNotFoundError):
        beside = os.path.realpath(metadata.distribution("rushlight").locate_file(""))
        for folder in known:
            if os.path.realpath(folder) == beside:
                return Path(folder)
    return Path(known[0])


def _is_ours(version):
    return version.partition("+")[2].startswith("rushlight")


# ---- what is there ----
def _listed(info):
    """{path relative to the folder: its hash in RECORD, or ""} of a distribution."""
    try:
        with open(info / "RECORD", encoding="utf-8", newline="") as file:
            return {row[0]: row[1] for row in csv.reader(file) if len(row) > 1}
    except FileNotFoundError:
        return {}


@dataclass
class State:
    """What a folder of packages has under the name torch."""

    folder: Path
    info: Path | None = None  # of the alias
    version: str = ""
    intact: list[str] = field(default_factory=list)  # files of the alias, paths within the folder
    changed: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    strange: list[str] = field(default_factory=list)  # beside them, of nobody or of others
    other: tuple[str, str] | None = None  # (version, place) of a torch that is not ours
    removed: int = 0

    @property
    def whole(self):
        return self.info is not None and not (self.changed or self.missing or self.other)


def _distributions(path):
    """(version, dist-info or egg-info) of each distribution called torch on a path."""
    for each in metadata.distributions(name="torch", path=[str(folder) for folder in path]):
        yield each.version or "", Path(getattr(each, "_path", each.locate_file("")))


def _compiled(folder, sources):
    """The bytecode that Python left beside sources."""
    for name in sources:
        if name.endswith(".py"):
            source = folder / name
            yield from source.parent.glob(f"__pycache__/{source.stem}.*.pyc")


def _read(state, others):
    """Sort the files of the alias by what became of them."""
    listed = _listed(state.info)
    of_others = {name for info in others for name in _listed(info)}
    for name, recorded in listed.items():
        path = state.folder / name
        if not recorded:  # RECORD itself, bytecode
            continue
        if not path.is_file():
            state.missing.append(name)
        elif name in of_others or contents.record_line(name, path.read_bytes()).split(",")[1] != recorded:
            state.changed.append(name)
        else:
            state.intact.append(name)
    known = {state.folder / name for name in listed} | {*_compiled(state.folder, state.intact)}
    known |= {state.info / name for name in _BY_INSTALLERS}
    for path in sorted([*(state.folder / "torch").rglob("*"), *state.info.rglob("*")]):
        if path not in known and (path.is_symlink() or not path.is_dir()):
            state.strange.append(str(path.relative_to(state.folder)))


def look(folder, path=()):
    """Return the state of a folder; ``path`` are others, in which a torch that is not ours counts, too."""
    importlib.invalidate_caches()  # which know folders by the time of their last change
    folder = Path(folder)
    state, others = State(folder), []
    for version, info in _distributions([folder]):
        if _is_ours(version):
            state.info, state.version = info, version
        else:
            others.append(info)
            state.other = (version, str(folder))
    if state.info is not None:
        _read(state, others)
    for version, info in _distributions([each for each in path if each]):
        if not _is_ours(version):
            state.other = state.other or (version, str(info.parent))
    if state.other is None:
        state.other = _without_metadata(state, [str(folder), *path])
    return state


def _without_metadata(state, path):
    """A module torch that no distribution describes."""
    with open(os.path.join(SITE, "torch", "__init__.py"), "rb") as file:
        own = file.read()
    spec = PathFinder.find_spec("torch", [each for each in path if each])
    if spec is None or not spec.has_location:
        return None
    with open(spec.origin, "rb") as file:
        if file.read() == own:
            return None
    if state.info is not None and "torch/__init__.py" in state.intact:
        return None
    return "of unknown version", os.path.dirname(spec.origin)


# ---- putting it there ----
def _write(files, folder):
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def _sweep(folder):
    """Delete what installs left that were killed."""
    for old in folder.glob(f"{_WORK}*"):
        shutil.rmtree(old)


def _move(source, target, undo):
    os.rename(source, target)
    undo.callback(os.rename, target, source)


def install(folder, path=()):
    """Put the alias into a folder of packages; return the number of its files, 0 if it is there already."""
    state = look(folder, path)
    if state.other:
        raise Refused(
            f"torch {state.other[0]} is installed in {state.other[1]}, and stays; "
            "`rushlight run` needs no alias, and `pip uninstall torch` makes room for one"
        )
    if state.whole and state.version == VERSION:
        return 0
    if state.changed or state.strange:
        raise Refused(
            f"{state.folder}/{(state.changed + state.strange)[0]} is not the alias's own, and stays"
        )
    if state.info is None and (state.folder / "torch").exists():
        raise Refused(f"{state.folder}/torch is in the way, and no distribution says whose it is")
    state.folder.mkdir(parents=True, exist_ok=True)
    _sweep(state.folder)
    info = contents.info_of(VERSION)
    files = {**contents.files(Path(SITE).parents[1]), f"{info}/INSTALLER": b"rushlight\n"}
    files = contents.recorded(files, info)
    work = Path(tempfile.mkdtemp(prefix=_WORK, dir=state.folder))
    try:
        _write(files, work / "new")
        with contextlib.ExitStack() as undo:
            if state.info is not None:
                (work / "old").mkdir()
                _move(state.info, work / "old" / state.info.name, undo)
                if (state.folder / "torch").exists():
                    _move(state.folder / "torch", work / "old" / "torch", undo)
            # first what tells whose the files are
            for name in (info, "torch"):
                _move(work / "new" / name, state.folder / name, undo)
            undo.pop_all()
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return len(files)


# ---- taking it away ----
def _drop_empty(folder):
    """Delete a folder with those in it, as far as no file is there."""
    for inner in sorted(folder.rglob("*"), reverse=True):
        if inner.is_dir() and not inner.is_symlink() and not any(inner.iterdir()):
            inner.rmdir()
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def remove(folder):
    """Take the alias out of a folder of packages; return the state that was found."""
    state = look(folder)
    if state.folder.is_dir():
        _sweep(state.folder)
    if state.info is None:
        return state
    inside, described = [], []
    for name in state.intact:
        (described if (state.folder / name).parent == state.info else inside).append(name)
    paths = [*_compiled(state.folder, inside), *(state.folder / name for name in inside)]
    # last what tells whose the files are
    paths += [state.folder / name for name in described]
    paths += [state.info / name for name in _BY_INSTALLERS if name != "RECORD"] + [state.info / "RECORD"]
    for path in dict.fromkeys(paths):
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
            state.removed += 1
    for folder in (state.folder / "torch", state.info):
        _drop_empty(folder)
    return state
