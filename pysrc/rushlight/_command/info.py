"""rushlight info: what a bug report needs."""

import json

from .. import _C, _escape
from ._guard import Parser
from .facts import collect

_ABOUT = "Show versions, processor, memory, libraries and switches."
_MORE = """\
Paste all of it into a bug report. Look through it first: paths are shown, and
the environment variables that matter.

examples:
  {program}
  {program} --json | jq .processor.capability
"""


def _build(f):
    yield "rushlight", f"{f['version']} ({f['folder']})"
    yield "extension", f"{f['extension']}, {f['mode']} build, {f['compiler']}"


def _python(f):
    extra = ", virtual environment" if f["virtual_environment"] else ""
    text = f"{f['version']}, {f['implementation']}, {f['bits']} bits ({f['executable']}{extra})"
    if f["built_for"] != f["version"]:
        text += f"; the extension was built with {f['built_for']}"
    yield "Python", text


def _system(f):
    about = ", ".join(filter(None, (f["distribution"], f["libc"])))
    yield "system", f"{f['name']} {f['release']} {f['machine']}" + (f", {about}" if about else "")


def _processor(f):
    yield "processor", f["model"]
    yield (
        "instructions",
        f"{f['capability']} used; the processor has {' '.join(f['features']) or 'none of note'}",
    )
    limit = f", {f['cgroup_limit']} granted by its cgroup" if f["cgroup_limit"] else ""
    yield "CPUs", f"{f['online']} online, {f['allowed']} for this process{limit}"
    lacking = f"; only one works: {f['one_thread']}" if f["one_thread"] else ""
    yield "threads", f"{f['threads']}{lacking}"


def _memory(f):
    texts = [f"{_escape.size(f['total'])} in all" if f["total"] else "unknown"]
    texts += [f"{_escape.size(f['available'])} available"] if f["available"] else []
    texts += [f"{_escape.size(f['cgroup_limit'])} granted by the cgroup"] if f["cgroup_limit"] else []
    yield "memory", f"{', '.join(texts)}; {_escape.size(f['cache_limit'])} kept at most for later tensors"


def _library(title, f, otherwise=""):
    if "reason" in f:
        yield title, f"not used: {f['reason']}{otherwise}"
    else:
        yield title, f"{f['version']} ({f['path']})"


def _libraries(facts):
    yield from _library("oneDNN", facts["onednn"], "; rushlight's own kernels serve")
    lapack = facts["lapack"]
    if "reason" in lapack:
        yield from _library("LAPACK", lapack, "; rushlight's own factorisations serve")
    else:
        yield "LAPACK", f"that of SciPy {lapack['version']}"
    yield from _library("NumPy", facts["numpy"])
    cuda = facts["cuda"]
    yield "CUDA", _escape.count(cuda["devices"], "GPU") if "devices" in cuda else cuda["reason"]
    yield "packages", ", ".join(f"{name} {version or '-'}" for name, version in facts["packages"].items())


# what rushlight's switches may be; None: anything
_VALUES = {
    "RUSHLIGHT_ISA": tuple(reversed(_C._isas())),
    "RUSHLIGHT_FENCE": ("1", "2"),
    "RUSHLIGHT_KERNELS": ("ref",),
    **dict.fromkeys(("RUSHLIGHT_CACHE_BYTES", "RUSHLIGHT_ONEDNN", "RUSHLIGHT_SCIPY", "RUSHLIGHT_TRACE")),
}


def _switch(name, value):
    """A switch that is set, and whether rushlight knows it."""
    if not name.startswith("RUSHLIGHT_"):
        return f"{name}={value}"
    if name not in _VALUES:
        return f"{name}={value} (unknown to this build)"
    known = _VALUES[name]
    ignored = f" (ignored: it is {' or '.join(known)})" if known and value not in known else ""
    return f"{name}={value}{ignored}"


def lines(facts):
    """Return facts as lines of text."""
    rows = [*_build(facts["rushlight"]), *_python(facts["python"]), *_system(facts["system"])]
    rows += [*_processor(facts["processor"]), *_memory(facts["memory"]), *_libraries(facts)]
    switches = [_switch(*each) for each in facts["environment"].items()] or ["no switch is set"]
    rows += [("" if i else "environment", text) for i, text in enumerate(switches)]
    width = max(len(name) for name, _ in rows)
    return [f"{name.ljust(width)}  {_escape.plain(text)}" for name, text in rows]


def main(arguments, program):
    parser = Parser(program, _ABOUT, _MORE.format(program=program))
    parser.add_argument("--json", action="store_true", help="the same as one JSON object")
    options = parser.parse_args(arguments)
    facts = collect()
    print(json.dumps(facts, indent=2) if options.json else "\n".join(lines(facts)))
    return 0
