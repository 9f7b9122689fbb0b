"""Calls every operator of the table with whatever its schema allows, and worse, for as long as is said.

python tests/fuzz/fuzz_ops.py --calls 50000                 (make fuzz CALLS=50000)
python tests/fuzz/fuzz_ops.py --replay 0 1234               what call 1234 of seed 0 was, and once more
python tests/fuzz/fuzz_ops.py --difference                  with all kernels and with the reference kernels
python tests/fuzz/fuzz_ops.py --fail 40                     an allocation of each call fails, the 40th at most
python tests/fuzz/fuzz_ops.py --threads 4                   each call in four threads at once

A call may return or raise. It may not crash, hang, raise a SystemError, give a tensor outside of its memory
or leave objects alive. Calls run in child processes, a chunk each, that write down every program before they
run it; a child that dies is a finding, and another goes on behind the call.
"""

import argparse
import ctypes
import faulthandler
import gc
import json
import mmap
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1] / "tools")]
SLOTS, SLOT, NUMBER = 8, 16384, 8  # the last programs, one in each slot
BLOCK = 250  # calls between two looks at what is alive
ASAN = "ASAN_OPTIONS" in os.environ
CAPS = "handle_abort=1:handle_sigill=1:allocator_may_return_null=1"
CAPS += ":max_allocation_size_mb=400:soft_rss_limit_mb=2500"
ROOM = 1 << 30  # bytes that a child may take beside what it starts with


def limit_memory(room):
    """At most `room` writable bytes beside what the process has. Fences reserve addresses without access."""
    used = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_DATA, (used + room, used + room))


# ---- the child ----
class Child:
    def __init__(self, options):
        import fuzz_calls
        import fuzz_difference
        import fuzz_kit

        self.options, self.calls, self.kit = options, fuzz_calls, fuzz_kit
        self.table, self.kind = fuzz_calls.table(), fuzz_calls.Program
        if options.difference or options.threads > 1:
            self.table, self.kind = fuzz_difference.table(self.table), fuzz_difference.Program
        self.differ = fuzz_difference.differ if options.difference else None
        lists = (options.exclude, options.only, options.without, options.having)
        self.exclude, self.only, self.without, self.having = (set(filter(None, w.split(","))) for w in lists)
        self.seen = {}  # operator: [returned, raised]
        self.given = given_programs(options)

    def write(self, **finding):
        print(json.dumps(finding), flush=True)

    def program(self, number):
        if self.given:
            return "given", self.given[number] if number < len(self.given) else None
        program = self.kind(self.table, self.options.seed, number)
        text = program.text()
        has = self.calls.features(text)
        unwanted = program.id in self.exclude or has & self.without or (self.having and not has & self.having)
        if unwanted or (self.only and program.id not in self.only):
            text = None
        return program.id, text

    def run(self, text, number=0, name=""):
        """Nothing, or what is wrong; and whether it returned."""
        if self.differ:
            return self.differ(self.kit, text, name)
        if self.options.threads > 1:
            done = []
            threads = [
                threading.Thread(target=lambda: done.append(self.once(text)))
                for _ in range(self.options.threads)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            return next((one for one in done if one[0]), done[0])
        return self.once(text, number % self.options.fail if self.options.fail else -1)

    def once(self, text, failing=-1):
        kit, names = self.kit, vars(self.kit).copy()
        kit.torch.default_generator.manual_seed(7)
        try:
            kit._C._fail_alloc(failing)
            exec(text, names)
            error = None
        except Exception as caught:
            error = wrong(caught)
        finally:
            kit._C._fail_alloc(-1)
            kit._C._set_grad_enabled(True)
        return error, "r" in names

    def calls_of(self, first, last):
        """(number, name, program) of those that are wanted."""
        for number in range(first, last):
            name, text = self.program(number)
            if text is not None:
                yield number, name, text

    def alive(self):
        gc.collect()
        return self.kit._C._live()

    def chunk(self, first, last, record):
        gc.disable()
        for start in range(first, last, BLOCK):
            stop, before = min(start + BLOCK, last), self.alive()
            for number, name, text in self.calls_of(start, stop):
                record(number, text)
                error, returned = self.run(text, number, name)
                self.seen.setdefault(name, [0, 0])[not returned] += 1
                if error:
                    self.write(
                        kind="differs" if self.differ else "raises", number=number, name=name, what=error
                    )
            if grown(before, self.alive()):
                self.name_leaks(start, stop)
        megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        self.write(kind="done", seen=self.seen, megabytes=megabytes)

    def name_leaks(self, start, stop):
        """The same calls again, with a look after each."""
        before, guilty = self.alive(), 0
        for number, name, text in self.calls_of(start, stop):
            self.run(text, number, name)
            left = grown(before, before := self.alive())
            if left:
                self.write(kind="leaks", number=number, name=name, what=str(left))
                guilty += 1
        if not guilty:
            self.write(kind="leaks", number=start, name="?", what=f"somewhere up to {stop}")


def given_programs(options):
    """Those of --programs: a blank line stands between two."""
    return Path(options.programs).read_text().strip().split("\n\n") if options.programs else []


def grown(before, after):
    return {kind: after[kind] - before[kind] for kind in before if after[kind] > before[kind]}


def wrong(error):
    """Why this exception is none that a call may raise; None if it may."""
    text = str(error)
    if isinstance(error, MemoryError):  # Python's own has no text
        return None
    kinds = (SystemError, AssertionError, RecursionError, ZeroDivisionError, NameError, SyntaxError)
    if (isinstance(error, kinds) and "not compiled with CUDA" not in text) or not text:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {text} ({os.path.basename(where.filename)}:{where.lineno})"
    return None


def child(options):
    warnings.simplefilter("ignore")
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # no child outlives its parent
    work = Child(options)
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    if not ASAN:
        faulthandler.enable()
        limit_memory(ROOM)
    with open(options.ring, "r+b") as file:
        ring = mmap.mmap(file.fileno(), 0)

        def record(number, text):
            slot = text.encode("utf-8", "replace")[: SLOT - 2 * NUMBER]
            at = NUMBER + number % SLOTS * SLOT
            ring[at : at + 2 * NUMBER + len(slot)] = (
                number.to_bytes(NUMBER, "little") + len(slot).to_bytes(NUMBER, "little") + slot
            )
            ring[:NUMBER] = (number + 1).to_bytes(NUMBER, "little")

        work.chunk(options.first, options.first + options.calls, record)


def last_call(ring):
    """(number, program) of the call that a child made last."""
    data = Path(ring).read_bytes()
    number = int.from_bytes(data[:NUMBER], "little") - 1
    if number < 0:
        return -1, ""
    at = NUMBER + number % SLOTS * SLOT + NUMBER
    size = int.from_bytes(data[at : at + NUMBER], "little")
    return number, data[at + NUMBER : at + NUMBER + size].decode()


# ---- the parent ----
class Chunk:
    """A child process at work, or what it left."""

    def __init__(self, options, folder, first, stop):
        self.first, self.stop, self.options = first, stop, options
        self.ring, self.out, self.err = (f"{folder}/{first}.{part}" for part in ("ring", "out", "err"))
        with open(self.ring, "wb") as file:
            file.truncate(NUMBER + SLOTS * SLOT)
        environment = dict(os.environ, UBSAN_OPTIONS="print_stacktrace=1")
        if ASAN:
            environment["ASAN_OPTIONS"] += ":" + CAPS
        command = [sys.executable, __file__, "--child", "--ring", self.ring]
        command += ["--first", str(first), "--calls", str(stop - first), "--seed", str(options.seed)]
        for name in ("exclude", "only", "without", "having", "programs", "fail", "threads"):
            command += [f"--{name}", str(getattr(options, name))]
        command += ["--difference"] * options.difference
        with open(self.out, "wb") as out, open(self.err, "wb") as err:
            self.process = subprocess.Popen(command, stdout=out, stderr=err, env=environment)
        self.at, self.since, self.used, self.hung = -1, time.monotonic(), 0.0, False

    def watch(self):
        """True while it runs; a call that takes too long is ended."""
        if self.process.poll() is not None:
            return False
        with open(self.ring, "rb") as file:
            at = int.from_bytes(file.read(NUMBER), "little")
        used = processor_seconds(self.process.pid)
        if at != self.at:
            self.at, self.since, self.used = at, time.monotonic(), used
        limit = self.options.limit
        if used - self.used > limit or time.monotonic() - self.since > 8 * limit:
            self.hung = True
            self.process.send_signal(signal.SIGUSR1)
            time.sleep(0.5)
            self.process.kill()
            self.process.wait()
            return False
        return True

    def findings(self):
        """What went wrong, and where to go on."""
        found, done = [], False
        for line in Path(self.out).read_text(errors="replace").splitlines():
            item = json.loads(line)
            if item["kind"] == "done":
                done = item
            else:
                found.append(item)
        number, text = last_call(self.ring)
        status = self.process.returncode
        if done and status == 0:
            return found, done, self.stop
        error = Path(self.err).read_text(errors="replace")
        found.append(
            {
                "kind": "hangs" if self.hung else "dies",
                "number": number,
                "program": text,
                "what": f"exit status {status}\n{essence(error)}",
                "where": place(error),
            }
        )
        if done:  # the thread sanitizer tells at the end what it saw
            return found, done, self.stop
        return found, None, self.stop if number < 0 else max(number, self.first) + 1


def processor_seconds(pid):
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def essence(error):
    """The lines of a child's stderr that matter."""
    lines = [line for line in error.splitlines() if "failed to allocate" not in line]
    for i, line in enumerate(lines):
        if (
            "ERROR: AddressSanitizer" in line
            or "WARNING: ThreadSanitizer" in line
            or "runtime error" in line
            or "Fatal Python" in line
        ):
            return "\n".join(lines[i : i + 14])
    return "\n".join(lines[-14:])


def place(error):
    """The innermost lines of our own sources, so that equal findings are told once."""
    return " ".join(re.findall(r"csrc/\S+?\.c:\d+", error)[:2])


def parent(options):
    findings, told, seen = 0, {}, {}
    begun, work = time.monotonic(), Child(options)
    with tempfile.TemporaryDirectory() as folder:
        stop = options.first + options.calls
        waiting = [(n, min(n + options.chunk, stop)) for n in range(options.first, stop, options.chunk)][::-1]
        running = []
        while waiting or running:
            while waiting and len(running) < options.jobs:
                running.append(Chunk(options, folder, *waiting.pop()))
            time.sleep(0.05)
            for chunk in [c for c in running if not c.watch()]:
                running.remove(chunk)
                found, done, on = chunk.findings()
                if on < chunk.stop and findings < options.most:
                    waiting.append((on, chunk.stop))
                for name, (returned, raised) in (done["seen"] if done else {}).items():
                    seen[name] = [seen.get(name, [0, 0])[0] + returned, seen.get(name, [0, 0])[1] + raised]
                for finding in found:
                    findings += tell(finding, told, work)
            if findings >= options.most:
                waiting = []
    calls = sum(map(sum, seen.values()))
    returned = sum(r for r, _ in seen.values())
    seconds = time.monotonic() - begun
    print(
        f"{calls} calls of {len(seen)} operators, {returned} returned, {seconds:.0f} s: {findings} findings"
    )
    if options.stats:
        for name, (fine, raised) in sorted(seen.items(), key=lambda item: item[1][0] / sum(item[1])):
            print(f"  {name:32} {fine:6} returned {raised:6} raised")
    if repeated := {key: n for key, n in told.items() if n > 1}:
        print("told once:", *(f"{' '.join(map(str, key))} x{n}" for key, n in repeated.items()), sep="\n  ")
    return bool(findings)


def tell(finding, told, work):
    """Prints a finding with its program; 1, or 0 where one like it was printed."""
    number, seed = finding["number"], work.options.seed
    name, text = work.program(number) if number >= 0 else ("?", "")
    name = finding.get("name", name)
    where = finding.get("where") or re.sub(r"[\d\s,()-]+", "#", finding["what"])[:40]
    key = (finding["kind"], name if finding["kind"] in ("hangs", "leaks", "differs") else "", where)
    told[key] = told.get(key, 0) + 1
    if told[key] > 1:
        return 0
    print(f"---- {finding['kind']}: {name}, --replay {seed} {number}")
    print(finding.get("program", text))
    print("    " + finding["what"].replace("\n", "\n    "), flush=True)
    return 1


def replay(options):
    seed, first, *last = options.replay
    options.seed = seed
    work = Child(options)
    if not ASAN:
        faulthandler.enable()
        limit_memory(ROOM)
    faulthandler.dump_traceback_later(options.limit, exit=True)
    for number, name, text in work.calls_of(first, (last[0] if last else first) + 1):
        print(f"---- {number}: {name}\n{text}", flush=True)
        before = work.alive()
        error, returned = work.run(text, number, name)
        print("returned" if returned else "raised", error or "", grown(before, work.alive()) or "")
        if options.loud:
            exec(text, vars(work.kit).copy())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--calls", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first call")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--chunk", type=int, default=5000, help="calls of one process")
    parser.add_argument("--limit", type=float, default=20, help="seconds that a call may take")
    parser.add_argument("--most", type=int, default=40, help="findings after which to stop")
    parser.add_argument("--exclude", default="", help="operators to leave out: topk,mm")
    parser.add_argument("--only", default="", help="operators to try")
    parser.add_argument("--without", default="", help="what calls must not have: huge,race,meddling,out=")
    parser.add_argument("--having", default="", help="... and one of these of which they must have one")
    parser.add_argument("--programs", default="", help="a file of programs to run instead")
    parser.add_argument("--difference", action="store_true", help="all kernels against the reference kernels")
    parser.add_argument("--fail", type=int, default=0, help="one of so many allocations of a call fails")
    parser.add_argument("--threads", type=int, default=1, help="threads that make each call at once")
    parser.add_argument("--stats", action="store_true", help="how often each operator returned")
    parser.add_argument("--replay", type=int, nargs="+", metavar=("SEED", "N"), help="print and run call N")
    parser.add_argument("--loud", action="store_true", help="with --replay: show the exception")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--ring", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return child(options)
    if options.replay:
        return replay(options)
    return parent(options)


if __name__ == "__main__":
    sys.exit(main())
