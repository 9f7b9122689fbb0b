"""Writes the seeds of the fuzzer into a folder: make_seeds.py FOLDER. All are made here, none is kept."""

import io
import sys
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import files_kit as kit
import test_files_hostile as hostile

WHOLE, PICKLE, STREAM = b"\0", b"\1", b"\2"


def seeds():
    for data in hostile.seeds():
        yield WHOLE + data
        if data.startswith(b"PK"):
            with zipfile.ZipFile(io.BytesIO(data)) as file:
                yield PICKLE + next(file.read(n) for n in file.namelist() if n.endswith("data.pkl"))
        else:
            yield STREAM + data.removeprefix(kit.MAGIC + kit.VERSION)
    for body in (*hostile.MALFORMED.values(), *hostile.LONG.values(), *hostile.TENSORS.values()):
        yield PICKLE + kit.HEAD + body + b"."
        yield STREAM + kit.stream(body, head=b"")
    for data in (*hostile.ZIPS.values(), *hostile.STREAMS.values()):
        yield WHOLE + data


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for i, data in enumerate(seeds()):
        if len(data) < 100_000:
            (folder / f"seed{i:04}").write_bytes(data)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
