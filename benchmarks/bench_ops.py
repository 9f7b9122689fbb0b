"""Every operator beside PyTorch's, forward and backward, at three sizes: compared first, then in turns.

    python benchmarks/bench_ops.py [--group G] [--family F] [--op ID] [--size 1e3|1e5|4e6] [--dtype float32]
                                   [--forward] [--backward] [--threads N] [--quick]
                                   [--json FILE] [--plot FILE.svg]

The calls are the operator samples of tests/op_samples, grown (op_cases.py, op_table.py). --group, --family,
--op and --size may be repeated. With --json FILE each case is a line of it, and a run that is started again
goes on where the file ends; without FILE the lines go to standard output. A case whose results differ is not
timed, and the exit status is 1. Needs torch.

Before its turn a library waits until the threads of the other have stopped spinning, and calls once. The best
round counts, of more rounds where it was an accident; a case that other work disturbed in all of them is left
out of the means and timed again when the run is started again. On a busy machine --threads 1 tells more: then
the time of the process counts. As on a machine with AVX2 alone:

    export RUSHLIGHT_ISA=avx2 ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2
    export MKL_ENABLE_INSTRUCTIONS=AVX2
"""

import argparse
import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import torch

from harness import Case as Taken
from harness import environment, statement
from op_cases import GROUPS, SIZES, samples
from op_report import plot, report, seconds
from op_table import cases_of
from rushlight import _C, autograd

PAUSE = 0.016  # seconds; threads of libgomp spin for less
ROUND = 0.0007  # seconds of calls; short, so that few rounds are disturbed
TURNS = 5, 20  # at least and at most: until the best of each side was reached three times
LIMIT = 2  # seconds for a case, unless a call of each takes longer
LIBRARIES = {torch: torch.autograd.grad, _C: autograd.grad}
# Running statistics, targets and their weights: nobody differentiates by them.
CONSTANT = {
    **dict.fromkeys(("batch_norm", "instance_norm"), (3, 4)),
    **dict.fromkeys(("soft_margin_loss", "kl_div", "hinge_embedding_loss"), (1,)),
    **dict.fromkeys(("margin_ranking_loss", "cosine_embedding_loss"), (2,)),
    "binary_cross_entropy": (1, 2),
    "binary_cross_entropy_with_logits": (1, 2, 3),
}


# ---- what is called ----
def forward(case, library, args, kwargs):
    """The text of a call, and its names; the arguments have names of their own, for the shortest call."""
    scope = {f"a{i}": a for i, a in enumerate(args)} | {f"k_{k}": v for k, v in kwargs.items()}
    given = [f"a{i}" for i in range(len(args))] + [f"{k}=k_{k}" for k in kwargs]
    scope["call"] = case.function(library)
    return f"call({', '.join(given)})", scope


def backward(case, library, args, kwargs):
    """The same of the gradient by every floating argument; None if there is none."""
    leaves, constant = [], CONSTANT.get(case.op, ())
    args = [a if i in constant else _leaf(library, a, leaves) for i, a in enumerate(args)]
    if samples.OPERATORS[case.op]["flags"] & samples.ONLY_INPLACE and leaves:
        args[0] = args[0] * 1
    library.default_generator.manual_seed(5)
    made = samples.flat_results(case.function(library)(*args, **kwargs))
    results = [r for r in made if isinstance(r, library.Tensor) and r.requires_grad]
    if not leaves or not any(r.numel() for r in results):
        return None
    seeds = [_seed(library, r, i) for i, r in enumerate(results)]
    scope = {"grad": LIBRARIES[library], "y": results, "x": leaves, "g": seeds}
    return "grad(y, x, g, retain_graph=True, allow_unused=True)", scope


def differentiable(op):
    entry = samples.OPERATORS[op]
    return bool(entry["node"] or entry["kind"] == 2) and not entry["flags"] & samples.NO_GRAD


def _leaf(library, value, leaves):
    if isinstance(value, list):
        return [_leaf(library, v, leaves) for v in value]
    if isinstance(value, library.Tensor) and value.is_floating_point():
        value = value.detach().requires_grad_()
        leaves.append(value)
    return value


def _seed(library, result, number):
    values = np.random.default_rng(number).uniform(0.5, 1.5, tuple(result.shape)).astype(np.float32)
    return library.empty_like(result).detach().copy_(library.from_numpy(values))


# ---- results ----
def array(tensor):
    tensor = tensor.detach()
    tensor = tensor.float() if str(tensor.dtype).endswith("bfloat16") else tensor
    return tensor.contiguous().numpy()


def difference(ours, theirs, dtype):
    """What is wrong with our results, or None."""
    for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if a is None or b is None:
            if a is not b:
                return f"result {i} is {a} and {b}"
            continue
        if (str(a.dtype), tuple(a.shape)) != (str(b.dtype), tuple(b.shape)):
            return f"result {i} is {a.dtype} {list(a.shape)}, PyTorch's {b.dtype} {list(b.shape)}"
        got, expected = array(a), array(b)
        if got.dtype.kind != "f":
            wrong = np.count_nonzero(got != expected)
        else:
            limits = samples.tolerance(dtype)
            finite = expected[np.isfinite(expected)]
            limits["atol"] *= max(1, np.abs(finite).max(initial=0))
            wrong = np.count_nonzero(~np.isclose(got, expected, equal_nan=True, **limits))
        if wrong:
            return f"result {i}: {wrong} of {got.size} elements"
    return None


def attempt(function, *args):
    """(what it gives, None), or (None, what the error says)."""
    try:
        return function(*args), None
    except (RuntimeError, TypeError, ValueError, NotImplementedError, IndexError) as error:
        return None, f"{type(error).__name__}: {error}".splitlines()[0]


def once(library, text, scope):
    library.default_generator.manual_seed(5)
    return samples.flat_results(eval(text, scope))


def bytes_of(values):
    """Of the tensors among them, those in lists included; of a view, what it covers."""
    total = 0
    for value in values:
        if isinstance(value, list):
            total += bytes_of(value)
        elif isinstance(value, torch.Tensor):
            total += value.numel() * value.element_size()
    return total


# ---- time ----
class Side:
    """One library's rounds, each of as many calls as the best of them asks for."""

    def __init__(self, text, scope, kind):
        self.clock, self.taken, self.calls, self.kind = statement(text, scope), [], 1, kind
        self.turn()

    def turn(self):
        time.sleep(PAUSE)
        self.taken.append(self.clock(1))
        end = time.perf_counter() + 6 * ROUND
        for _ in range(4):
            self.calls = max(self.calls, min(20000, int(ROUND / max(self.best(1), 1e-8))))
            if time.perf_counter() > end:
                break  # long calls, or something else runs
            self.taken.append(self.clock(self.calls))

    def best(self, place):
        return sorted(getattr(taken, self.kind) for taken in self.taken)[min(place, len(self.taken)) - 1]

    def settled(self):
        """Whether the best was no accident, and the process had the processor all the while."""
        wall, own = min(self.taken)
        return self.best(3) < 1.1 * self.best(1) and (self.kind == "own" or own > 0.8 * wall)


def timed(scopes, kind, turns, most):
    """harness.Case of both sides in turns, the calls of their rounds, and whether both have settled."""
    end = time.perf_counter() + LIMIT
    sides = [Side(text, scope, kind) for text, scope in scopes]
    for turn in range(most):
        if time.perf_counter() > end or (turn >= turns and all(side.settled() for side in sides)):
            break
        for side in sides:
            side.turn()
    settled = all(side.settled() for side in sides)
    return Taken(*[side.taken for side in sides], kind), [side.calls for side in sides], settled


def checked(case, direction, dtype):
    """(what is timed in each library, bytes that move, None), or (None, 0, what is wrong with ours).

    Nothing is timed and nothing wrong where PyTorch refuses the call or gives nothing.
    """
    make = forward if direction == "forward" else backward
    scopes, results = [], []
    for library, (args, kwargs) in zip(LIBRARIES, case.build(LIBRARIES, dtype)):
        scope, error = attempt(make, case, library, args, kwargs)
        made, error = attempt(once, library, *scope) if scope else (None, error)
        if not made or (library is torch and not bytes_of(made)):
            return None, 0, None if library is torch else error or "no results"
        scopes.append(scope)
        results.append(made)
    wrong = None if case.op in samples.UNINITIALISED else difference(*reversed(results), dtype)
    if wrong and dtype == "float32" and exact(case, make, results[1]):
        wrong = None
    return scopes, bytes_of(scopes[0][1].values()) + bytes_of(results[0]), wrong


def exact(case, make, ours):
    """Whether ours are what PyTorch finds in float64: in float32 its long sums are off at times."""
    ((args, kwargs),) = case.build([torch], "float64")
    scope, _ = attempt(make, case, torch, args, kwargs)
    made, _ = attempt(once, torch, *scope) if scope else (None, None)
    if not made or any(r is None for r in (*made, *ours)):
        return False
    same = [r.to(getattr(torch, str(a.dtype).split(".")[-1])) for r, a in zip(made, ours)]
    return difference(ours, same, "float32") is None


def run(case, size, direction, options):
    """The record of a case, or None where PyTorch has nothing to compare with."""
    entry = describe(case, size, direction, options)
    scopes, moved, wrong = checked(case, direction, case.dtype(options.dtype))
    if wrong:
        return entry | {"differs": wrong}
    if not scopes:
        return None
    taken, calls, settled = timed(scopes, options.clock, *((1, 1) if options.quick else TURNS))
    flops = case.flops * (1 if direction == "forward" else 2)
    more = {"calls": calls, "bytes": moved, "flops": flops, "ratio": taken.ratio}
    return entry | {"clock": options.clock, "settled": settled or options.quick} | more | taken.record()


def describe(case, size, direction, options):
    name = f"{case.op}, {case.variant}"
    return {
        "case": name,
        "op": case.op,
        "family": case.family,
        "group": case.group,
        "size": size,
        "direction": direction,
        "dtype": options.dtype,
        "threads": options.threads,
    }


def key(record):
    return tuple(record[part] for part in ("case", "size", "direction", "dtype", "threads"))


# ---- the machine ----
def peaks(sizes, kind):
    """GB/s of a copy at each size, and GFLOP/s of a product of matrices: PyTorch's and NumPy's best."""
    found = {}
    for size in sizes:
        source = torch.rand(SIZES[size].line)
        to, array_to, array_from = torch.empty_like(source), np.empty(source.shape, "f4"), source.numpy()
        scope = {"to": to, "source": source, "a": array_to, "b": array_from, "copyto": np.copyto}
        best = min(_best(text, scope, kind) for text in ("to.copy_(source)", "copyto(a, b)"))
        found[f"GB/s {size}"] = 8 * source.numel() / best / 1e9
    scope = {"torch": torch, "a": torch.rand(1024, 1024)}
    found["GFLOP/s"] = 2 * 1024**3 / _best("torch.mm(a, a)", scope, kind) / 1e9
    return found


def _best(text, scope, kind):
    side, end = Side(text, scope, kind), time.perf_counter() + 0.1
    while len(side.taken) < 3 or time.perf_counter() < end:
        side.turn()
    return side.best(1)


# ---- which cases, and where their records are ----
def parsed(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--group", action="append", help=f"{', '.join(GROUPS)}, or a family")
    add("--family", action="append", choices=samples.FAMILIES)
    add("--op", action="append", choices=samples.OPERATORS, metavar="ID")
    add("--size", action="append", choices=SIZES)
    add("--dtype", default="float32", choices=samples.FLOATS)
    add("--threads", type=int, default=_C.get_num_threads(), help="of either library")
    add("--forward", action="store_true", help="forward alone")
    add("--backward", action="store_true", help="backward alone")
    add("--quick", action="store_true", help="fewer turns")
    add("--json", nargs="?", const="-", metavar="FILE", help="JSON lines; goes on where FILE ends")
    add("--plot", metavar="FILE", help="the ratios as SVG")
    options = parser.parse_args(arguments)
    options.size = options.size or list(SIZES)
    options.clock = "own" if options.threads == 1 else "wall"
    both = ("forward", "backward")
    options.directions = [d for d in both if getattr(options, d)] or both
    return options


def operators(options):
    """(family, id) of all that are asked for."""
    for family, module in samples.FAMILIES.items():
        for op in module.SAMPLES | getattr(module, "BACKWARD", {}):
            asked = op in (options.op or samples.OPERATORS) and family in (options.family or samples.FAMILIES)
            if op in samples.OPERATORS and asked:
                yield family, op


def selected(options, covered):
    """(case, size, direction) one after the other: their indices and masks are large. Fills in
    `covered`, {family: {id: has it a case, or is it the gradient of one?}}."""
    for family, op in operators(options):
        gradient = op in getattr(samples.FAMILIES[family], "BACKWARD", {})
        covered.setdefault(family, {})[op] = gradient
        directions = [d for d in options.directions if d == "forward" or differentiable(op)]
        for size in options.size:
            for case in cases_of(op, family, size):
                if case.group in (options.group or [case.group]):
                    covered[family][op] = True
                    yield from ((case, size, direction) for direction in directions)


def load(path):
    """The records of an earlier run, by key(); a line that was cut off is none."""
    records = {}
    if path not in (None, "-") and Path(path).exists():
        for text in Path(path).read_text().splitlines():
            record, _ = attempt(json.loads, text)
            if record and "case" in record:
                records[key(record)] = record
    return records


class Lines:
    """Where the JSON lines go."""

    def __init__(self, path):
        self.file = sys.stdout if path == "-" else open(path, "a") if path else None

    def write(self, record):
        if self.file:
            print(json.dumps(record), file=self.file, flush=True)


def line(record):
    what = f"{record['case']}, {record['size']} {record['direction']}"
    if "differs" in record:
        return f"{what}: {record['differs']}"
    theirs, ours = (seconds(record, library) * 1e6 for library in ("torch", "rushlight"))
    return f"{what}: {theirs:.1f} / {ours:.1f} us, {record['ratio']:.2f}x"


def main(arguments=None):
    options = parsed(arguments)
    for library in LIBRARIES:
        library.set_num_threads(options.threads)
    warnings.filterwarnings("ignore", "The reduce argument of torch.scatter")
    known, lines, records, covered = load(options.json), Lines(options.json), [], {}
    capability = torch.backends.cpu.get_cpu_capability()
    where = environment() | {"torch_isa": capability, "peaks": peaks(options.size, options.clock)}
    lines.write({"benchmark": "bench_ops", "quick": options.quick, **where})
    say = (lambda *_, **__: None) if options.json == "-" else print
    for case, size, direction in selected(options, covered):
        old = known.get(key(describe(case, size, direction, options)))
        done = old and old.get("settled")
        record = old if done else run(case, size, direction, options)
        if record is None:
            continue
        records.append(record)
        if record is not old:
            lines.write(record)
            say(line(record), flush=True)
    say(report(records, covered, where))
    if options.plot:
        Path(options.plot).write_text(plot(records, list(SIZES)))
    return int(any("differs" in record for record in records))


if __name__ == "__main__":
    raise SystemExit(main())
