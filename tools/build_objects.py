"""The compile cache of setup.py: what is made of nothing new is not made again.

    build/objects/<key>/command          compiler, its version, flags; the key is the hash of this text
                       /csrc/core/view.o made anew unless it is newer than every file that view.d names
                       /csrc/core/view.d what the compiler read (-MMD)

Builds that compile with the same words share a folder, whichever interpreter asks. Every file appears under
its name complete (os.replace), so that two builds may run at the same time.
"""

import functools
import hashlib
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

LAUNCHERS = {"ccache", "sccache"}  # stand before the compiler and change nothing that it makes


class Failed(Exception):
    """A command and what it printed."""


def run(command):
    """Runs a compiler or linker; its warnings are passed on."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    except OSError as why:
        raise Failed(f"{command[0]}: {why}") from None
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)}\n{done.stdout}")
    if done.stdout:
        sys.stderr.write(done.stdout)


def replace(path, text):
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}")
    unfinished.write_text(text)
    os.replace(unfinished, path)


def renew(path, text):
    """Writes a generated source; one that would say the same stays as old as it is."""
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace(path, text)


def identity(command):
    """Which compiler a command starts, in lines: the name it goes by does not count, its version does."""
    words = list(command)
    while len(words) > 1 and Path(words[0]).name in LAUNCHERS:
        words.pop(0)
    program = os.path.realpath(shutil.which(words[0]) or words[0])
    return [program, version(tuple(words)), *words[1:]]


@functools.cache
def version(words):
    try:
        done = subprocess.run([*words, "--version"], stdout=subprocess.PIPE, text=True)
    except OSError as why:
        raise Failed(f"{words[0]}: {why}") from None
    return done.stdout.partition(" ")[2].strip()  # the first word is the name


@functools.cache
def changed(name):
    try:
        return os.stat(name).st_mtime_ns
    except FileNotFoundError:
        return sys.maxsize


def prerequisites(depfile):
    r"""The names in "object: csrc/a.c csrc/a\ b.h \", a rule of make."""
    text = depfile.read_text().partition(":")[2].replace("\\\n", " ")
    names = re.findall(r"(?:\\.|\S)+", text)
    return [re.sub(r"\\(.)", r"\1", name).replace("$$", "$") for name in names]


def is_fresh(target):
    try:
        made = target.stat().st_mtime_ns
        names = prerequisites(target.with_suffix(".d"))
    except FileNotFoundError:
        return False
    return bool(names) and all(changed(name) < made for name in names)


class Objects:
    """The objects that one command makes.

    strict are the flags that make warnings errors. What was made with them serves without them too, not the
    other way round. Paths of one environment are given as hidden, and about says in the key what they are.
    """

    def __init__(self, root, command, flags, *, strict=(), is_strict=False, hidden=(), about=""):
        self.command = [*command, *flags, *hidden, *(strict if is_strict else ())]
        lenient = [*identity(command), about, *flags]
        self.text = "\n".join([*lenient, *(strict if is_strict else ()), ""])
        self.folder = self.folder_of(root, self.text)
        self.places = [self.folder, self.folder_of(root, "\n".join([*lenient, *strict, ""]))]

    @staticmethod
    def folder_of(root, text):
        return Path(root, hashlib.sha256(text.encode()).hexdigest()[:16])

    def make(self, source):
        """(its object, whether that had to be compiled)"""
        name = Path(source).with_suffix(".o")
        for place in self.places:
            if is_fresh(place / name):
                return place / name, False
        target = self.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if not (self.folder / "command").exists():
            replace(self.folder / "command", self.text)
        # --coverage writes the object's name into the object
        unfinished = target if "--coverage" in self.command else target.with_suffix(f".{os.getpid()}.o")
        depfile = target.with_suffix(f".{os.getpid()}.d")
        start = time.time_ns()
        dependencies = ["-MMD", "-MT", "object", "-MF", str(depfile)]
        run([*self.command, *dependencies, "-c", source, "-o", str(unfinished)])
        os.utime(unfinished, ns=(start, start))  # an edit since the start is newer
        os.replace(depfile, target.with_suffix(".d"))
        os.replace(unfinished, target)
        return target, True


def make_all(jobs):
    """The objects of [(Objects, source)], made on all cores, and how many had to be compiled."""
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        running = [pool.submit(objects.make, source) for objects, source in jobs]
        try:
            made = [each.result() for each in running]
        except Failed:
            pool.shutdown(cancel_futures=True)
            raise
    return [target for target, _ in made], sum(compiled for _, compiled in made)


def link(command, objects, options, target):
    """Links unless target was linked by this command from these very objects."""
    inputs = [f"{each} {each.stat().st_mtime_ns}" for each in objects]
    text = "\n".join([*identity(command), *options, *inputs, ""])
    stamp = target.with_suffix(".link")
    if target.exists() and stamp.exists() and stamp.read_text() == f"{text}{target.stat().st_mtime_ns}\n":
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f"{os.getpid()}.{target.name}")
    run([*command, *map(str, objects), *options, "-o", str(unfinished)])
    made = unfinished.stat().st_mtime_ns
    os.replace(unfinished, target)
    replace(stamp, f"{text}{made}\n")
