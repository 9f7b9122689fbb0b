"""Look into a checkpoint before loading it, load a part of it, convert it to safetensors and back.

    python examples/inspect_and_convert.py [FILE] [--out out]

Nothing of the file is executed on the way. The same on the command line: `rushlight inspect FILE`,
`rushlight convert FILE out/model.safetensors`.
"""

import argparse
from pathlib import Path

import rushlight as torch
from rushlight.inspect import inspect

CHECKPOINT = Path(__file__).parent.parent / "tests" / "data" / "civilnet_digits.pth"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, default=CHECKPOINT)
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the files that it writes")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)

    report = inspect(options.file)
    print(report)
    if report.asks or report.error:
        raise SystemExit("this file is more than data: read docs/files.md before you load it")

    state = {name: tensor.detach() for name, tensor in report.tensors.items()}
    biases = {name: tensor for name, tensor in state.items() if tensor.ndim == 1}
    print(f"\n{len(biases)} of {len(state)} tensors have one dimension: {', '.join(biases)}")

    target = options.out / "model.safetensors"
    torch.save(state, target)
    again = torch.load(target)
    same = all(torch.equal(state[name], again[name]) for name in state)
    print(f"{target}: {target.stat().st_size:,} bytes, the same values: {same}")

    target = options.out / "half.pth"
    torch.save({name: tensor.half() for name, tensor in again.items()}, target)
    print(f"{target}: {target.stat().st_size:,} bytes in half precision")


if __name__ == "__main__":
    main()
