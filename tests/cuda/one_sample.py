"""One sample of each CUDA kernel, for tools that slow all accesses: one_sample.py [options] [dtype ...]

Each operator whose declaration names a CUDA kernel runs on its first sample that it admits, in float32 first,
then in the other dtypes; last come the steps of optimizers. Results are compared with the CPU's by the
tests, not here.

    --part i/n       every nth call from the ith on, so that several processes share them
    --seconds s      begins no call after that many
    --journal FILE   each call is noted there before it begins, and none that is there begins again: started
                     anew with the same file this goes on behind the call that broke the device
"""

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import op_samples as samples  # noqa: E402
import rushlight  # noqa: E402
from rushlight import _C  # noqa: E402

DTYPES = ["float32", "bfloat16", "int64"]
NUMBERS_STAY = {"randint_like_tensor"}  # tensors but the first are numbers, which stay on the CPU
OPTIMIZERS = ("SGD", "Adam", "AdamW", "Adadelta", "Adagrad", "Adamax", "ASGD", "NAdam", "RAdam", "RMSprop")


def moved(value):
    if isinstance(value, _C.Tensor):
        return value.to("cuda")
    if isinstance(value, (list, tuple)):
        return type(value)(map(moved, value))
    return value


def run_operator(name, dtype):
    entry = samples.OPERATORS[name]
    sample = next(s for s in samples.of(name) if dtype not in s.without)
    args, kwargs = sample.build(_C, dtype, "plain")
    if name in samples.FACTORIES:
        kwargs = dict(kwargs, dtype=getattr(_C, dtype), device="cuda")
    first = args[:1] if name in NUMBERS_STAY else args
    args = (*moved(first), *args[len(first) :])
    kwargs = {key: moved(value) for key, value in kwargs.items()}
    for result in samples.flat_results(samples.function(_C, entry)(*args, **kwargs)):
        if name not in samples.UNINITIALISED:
            result.cpu()


def run_optimizer(name, dtype):
    """Two steps on a product, with a gradient scaler."""
    of = getattr(rushlight, dtype)
    weights = [rushlight.ones(5, 7, dtype=of).to("cuda"), rushlight.ones(7, dtype=of).to("cuda")]
    weights = [rushlight.nn.Parameter(weight) for weight in weights]
    optimizer = getattr(rushlight.optim, name)(weights, lr=0.1)
    scaler = rushlight.amp.GradScaler("cuda", init_scale=4.0)
    for _ in range(2):
        optimizer.zero_grad()
        scaler.scale((weights[0] @ weights[1]).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
    for weight in weights:
        weight.detach().cpu()


def calls(wanted):
    """(what, the function that runs it, its arguments)"""
    for dtype in wanted:
        for name, entry in samples.OPERATORS.items():
            if entry["cuda"] and dtype in samples.admitted(entry):
                yield f"{name} {dtype}", run_operator, (name, dtype)
    for name in OPTIMIZERS:
        yield f"{name} float32", run_optimizer, (name, "float32")


def is_broken():
    """Does the device refuse everything from now on? What a kernel complained about is said only once."""
    for _ in range(2):
        try:
            rushlight.ones(1).to("cuda").cpu()
            rushlight.cuda.synchronize()
            return False
        except rushlight.AcceleratorError:
            pass
    return True


class Journal:
    def __init__(self, path):
        self.path = path
        self.noted = set(path.read_text().splitlines()) if path and path.exists() else set()

    def note(self, what):
        if self.path:
            with open(self.path, "a", encoding="utf-8") as file:
                print(what, file=file)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--journal", type=Path)
    parser.add_argument("dtypes", nargs="*", default=DTYPES)
    given = parser.parse_args()
    part, parts = map(int, given.part.split("/"))
    end, journal, failed = time.monotonic() + given.seconds, Journal(given.journal), 0
    mine = list(calls(given.dtypes))[part::parts]
    left = [call for call in mine if call[0] not in journal.noted]
    for what, function, args in left:
        if time.monotonic() > end:
            print(f"no time for {what} and what follows", flush=True)
            break
        journal.note(what)
        journal.noted.add(what)
        try:
            function(*args)
        except (NotImplementedError, StopIteration) as why:
            print(f"{what}: {type(why).__name__}", flush=True)
        except Exception as why:  # whatever it is, the others run
            failed += 1
            print(f"{what}: {type(why).__name__}: {why}", flush=True)
            if is_broken():
                sys.exit(f"{what} broke the device")
    print(f"{len(journal.noted)} of {len(mine)} calls, {failed} failed", flush=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
