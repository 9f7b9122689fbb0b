"""One sample of each CUDA kernel, for tools that slow all accesses: one_sample.py [dtype ...]

Each operator whose declaration names a CUDA kernel runs on its first sample that it admits; results are
compared with the CPU's by the tests, not here.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import samples  # noqa: E402
from rushlight import _C  # noqa: E402


def moved(value):
    if isinstance(value, _C.Tensor):
        return value.to("cuda")
    if isinstance(value, (list, tuple)):
        return type(value)(map(moved, value))
    return value


def run(name, entry, dtype):
    sample = next(s for s in samples.of(name) if dtype not in s.without)
    args, kwargs = sample.build(_C, dtype, "plain")
    if name in samples.FACTORIES:
        kwargs = dict(kwargs, dtype=getattr(_C, dtype), device="cuda")
    args, kwargs = moved(args), {key: moved(value) for key, value in kwargs.items()}
    for result in samples.flat_results(samples.function(_C, entry)(*args, **kwargs)):
        if name not in samples.UNINITIALISED:
            result.cpu()


def main():
    wanted = sys.argv[1:] or ["float32", "bfloat16", "int64"]
    ran = 0
    for name, entry in samples.OPERATORS.items():
        for dtype in samples.admitted(entry) if entry["cuda"] else ():
            if dtype in wanted:
                try:
                    run(name, entry, dtype)
                    ran += 1
                except (NotImplementedError, StopIteration) as why:
                    print(f"{name} {dtype}: {type(why).__name__}")
    print(f"{ran} calls")


if __name__ == "__main__":
    main()
