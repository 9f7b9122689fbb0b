"""Writes the table of figures of README.md anew: runs the benchmarks and picks what a newcomer asks for.

python benchmarks/figures.py [--quick] [--keep]     (--keep: print the table, leave README.md as it is)

Every figure comes from the script that its row names: both libraries in one process in turns, after their
results were compared; the fastest of several rounds. Run it on a machine that does nothing else.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
README = HERE.parent / "README.md"
UNITS = ((1, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))

# (what it is, script, case)
ROWS = [
    ("`import` with `nn` and `optim`", "import", "import"),
    ("LeNet, batch 1: forward", "civilnet", "batch 1"),
    ("batch 64: forward", "civilnet", "batch 64"),
    ("batch 64: training step", "train", "CivilNet step, batch 64"),
    ("ResNet-18, 16 images of 64 x 64: training step", "nets", "resnet18"),
    ("MobileNetV2, the same", "nets", "mobilenet_v2"),
    ("LSTM 2 x 128, 50 steps, batch 1: forward", "rnn", "LSTM, batch 1, forward"),
    ("batch 32: forward", "rnn", "LSTM, batch 32, forward"),
    ("batch 32: training step", "rnn", "LSTM, batch 32, training step"),
    ("Transformer encoder 4 x 256, 128 positions, batch 1: forward", "transformer", "encoder, batch 1"),
    ("batch 16: training step", "transformer", "training step, batch 16"),
    ("GPT of 25 million parameters: 50 tokens, one by one", "gpt", "8 layers of 512, written"),
    ("attention, 8 heads of 64, 512 positions, causal: forward", "attention", "causal 512 x 64"),
    ("with backward", "attention", "causal and backward 512 x 64"),
    ("MLP 784-512-512-10, batch 128: training step", "train", "MLP 784-512-512-10 step, batch 128"),
    ("`(x * 2).backward()` of a scalar", "train", "(x * 2).backward(), scalar"),
    ("`AdamW.step()` of ResNet-18, default", "optim", "AdamW, ResNet-18, default"),
    ("fused", "optim", "AdamW, ResNet-18, fused"),
    ("`DataLoader`, an epoch of digits in shuffled batches", "data", "TensorDataset, shuffled"),
    ("`m(x)` of an identity module", "module", "m(x), identity forward"),
    ("reading `m.weight`", "module", "read m.weight"),
    ("`load_state_dict`, 200 modules", "module", "load_state_dict(state)"),
    ("`load` of 0.25 MB", "load", "CivilNet, 0.25 MB"),
    ("of 80 MB", "load", "80 MB"),
    ("`save` of 80 MB to a disk", "save", "80 MB, disk"),
]


def records(script, quick):
    """The JSON objects that a benchmark prints: where it ran, then its cases."""
    command = [
        sys.executable,
        "-W",
        "ignore",
        HERE / f"bench_{script}.py",
        "--json",
        *(["--quick"] if quick else []),
    ]
    done = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE)
    return [json.loads(line) for line in done.stdout.splitlines()]


def time_text(seconds):
    size, unit = next((size, unit) for size, unit in UNITS if seconds >= size or unit == "ns")
    return f"{seconds / size:.3g} {unit}"


def row(label, case):
    theirs, ours = (case[library]["wall"]["min"] for library in ("torch", "rushlight"))
    ratio = theirs / ours
    return f"| {label} | {time_text(theirs)} | {time_text(ours)} | {ratio:.{1 if ratio < 10 else 0}f}x |"


def table(quick):
    ran = {}
    for script in dict.fromkeys(script for _, script, _ in ROWS):
        print(f"bench_{script}.py ...", file=sys.stderr, flush=True)
        ran[script] = records(script, quick)
    where = ran["civilnet"][0]
    head = (
        f"{where['date'][:10]}, {where['cpu']}, {where['cpus']} cores, Python {where['versions']['python']}"
    )
    lines = [f"| {head} | PyTorch {where['versions']['torch']} | rushlight | |", "|---|--:|--:|--:|"]
    for label, script, name in ROWS:
        case = next((each for each in ran[script] if each.get("case") == name), None)
        if case is None:
            raise SystemExit(f"bench_{script}.py has no case {name!r}")
        lines.append(row(label, case))
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--keep", action="store_true", help="print the table, leave README.md as it is")
    options = parser.parse_args()
    text = table(options.quick)
    if options.keep:
        print(text, end="")
        return
    marked = re.compile(r"(<!-- figures -->\n).*?(<!-- end of figures -->)", flags=re.S)
    README.write_text(marked.sub(lambda found: found[1] + "\n" + text + "\n" + found[2], README.read_text()))


if __name__ == "__main__":
    main()
