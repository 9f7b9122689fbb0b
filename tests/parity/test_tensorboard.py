"""SummaryWriter beside real PyTorch's: the protobufs of every kind of summary, and all its files."""

import glob
import os
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tensorboard")
pytest.importorskip("torch.utils.tensorboard")

import rushlight  # noqa: E402
import rushlight.utils.tensorboard  # noqa: E402
from rushlight.utils.tensorboard import summary as _  # noqa: E402,F401

RNG = np.random.default_rng(0)
NUMBERS = RNG.normal(size=200)
IMAGE = RNG.random((3, 5, 4), dtype=np.float32)
IMAGES = RNG.random((5, 1, 3, 2), dtype=np.float32)
BYTES = (IMAGE * 255).astype(np.uint8)
VIDEO = RNG.random((3, 2, 3, 4, 4), dtype=np.float32)
LABELS, SCORES = RNG.integers(0, 2, 50), RNG.random(50)
BOXES = np.array([[0, 0, 2, 3], [1, 1, 3, 4]])
POINTS = RNG.random((1, 4, 3), dtype=np.float32)
RAW = [0.0, 2.0, 3, 3.0, 5.0, [1.0, 2.0], [1, 2]]
LAYOUT = {"a": {"b": ["Multiline", ["x", "y"]], "c": ["Margin", ["x", "y", "z"]]}}
CURVE = [[1, 2], [1, 0], [0, 1], [1, 1], [0.5, 1], [0.5, 0.7]]

CASES = {
    "scalar": lambda t, s: s.scalar("a", 3),
    "scalar of a tensor": lambda t, s: s.scalar("a", t.tensor([[2.5]], requires_grad=True)),
    "scalar of bfloat16": lambda t, s: s.scalar("a", t.tensor(2.5, dtype=t.bfloat16)),
    "scalar of NumPy": lambda t, s: s.scalar("a", np.float32(0.1)),
    "new style": lambda t, s: s.scalar("a", 0.1, new_style=True),
    "double": lambda t, s: s.scalar("a", 0.1, new_style=True, double_precision=True),
    "several numbers": lambda t, s: s.scalar("a", t.ones(2)),
    "no number": lambda t, s: s.scalar("a", "text"),
    "nothing": lambda t, s: s.scalar("a", None),
    "histogram": lambda t, s: s.histogram("a", t.tensor(NUMBERS), "auto"),
    "histogram of bins": lambda t, s: s.histogram("a", NUMBERS, [-1, 0, 0.5, 1, 9]),
    "histogram of few bins": lambda t, s: s.histogram("a", NUMBERS, 50, max_bins=7),
    "histogram of zeros": lambda t, s: s.histogram("a", t.zeros(3), 10),
    "histogram of nothing": lambda t, s: s.histogram("a", t.ones(0), 10),
    "histogram, first bin empty": lambda t, s: s.histogram("a", np.ones(3), [-5, -3, 0, 2, 4]),
    "raw histogram": lambda t, s: s.histogram_raw("a", *RAW),
    "image": lambda t, s: s.image("a", t.tensor(IMAGE), dataformats="CHW"),
    "bytes": lambda t, s: s.image("a", BYTES.transpose(1, 2, 0), dataformats="HWC"),
    "grey": lambda t, s: s.image("a", IMAGE[0], dataformats="HW", rescale=2),
    "images": lambda t, s: s.image("a", t.tensor(IMAGES)),
    "wrong dims": lambda t, s: s.image("a", IMAGES, dataformats="CHW"),
    "dims twice": lambda t, s: s.image("a", IMAGE, dataformats="CCW"),
    "boxes": lambda t, s: s.image_boxes("a", IMAGE, t.tensor(BOXES), labels=["p", "q"]),
    "audio": lambda t, s: s.audio("a", t.tensor(np.sin(NUMBERS)[None])),
    "loud": lambda t, s: s.audio("a", NUMBERS * 2, 8000),
    "stereo": lambda t, s: s.audio("a", t.zeros(2, 3)),
    "text": lambda t, s: s.text("a", "some *text* é"),
    "curve": lambda t, s: s.pr_curve("a", LABELS, SCORES),
    "weights": lambda t, s: s.pr_curve("a", LABELS, SCORES, 20, SCORES),
    "many thresholds": lambda t, s: s.pr_curve("a", LABELS, SCORES, 500),
    "raw curve": lambda t, s: s.pr_curve_raw("a", *CURVE, num_thresholds=2),
    "layout": lambda t, s: s.custom_scalars(LAYOUT),
    "margin of two": lambda t, s: s.custom_scalars({"a": {"c": ["Margin", ["x", "y"]]}}),
    "mesh": lambda t, s: s.mesh("a", t.tensor(POINTS), t.tensor(POINTS), t.ones(1, 2, 3), {"x": 1}),
    "points": lambda t, s: s.mesh("a", t.tensor(POINTS), None, None, None),
    "video": lambda t, s: s._prepare_video(VIDEO).tolist(),
    "half": lambda t, s: (s.half_to_int(0.1), s.int_to_half(1036831949)),
    "hparams": lambda t, s: s.hparams(
        {"lr": 0.1, "n": 3, "on": True, "name": "x", "t": t.tensor([2.0]), "none": None}, {"acc": 1}
    ),
    "domains": lambda t, s: s.hparams({"n": 3, "m": "x"}, {}, {"n": [1, 3], "m": ["x", "y"]}),
    "domain of another": lambda t, s: s.hparams({"n": 3}, {}, {"m": [1]}),
    "domain of texts": lambda t, s: s.hparams({"n": 3}, {}, {"n": ["x"]}),
    "hparams of a list": lambda t, s: s.hparams([1], {}),
    "metrics of a list": lambda t, s: s.hparams({}, [1]),
    "domains of a list": lambda t, s: s.hparams({}, {}, [1]),
    "hparam of a list": lambda t, s: s.hparams({"x": []}, {}),
    "uint16": lambda t, s: s.tensor_proto("a", t.empty(2, dtype=t.uint16)),
}
for name in (
    "float16 bfloat16 float32 float64 int8 uint8 int16 int32 int64 bool complex64 complex128"
).split():
    CASES[name] = lambda t, s, name=name: s.tensor_proto("a", t.tensor([[1, 0], [3, 2]]).to(getattr(t, name)))


def outcome(library, name):
    module = sys.modules[f"{library.__name__}.utils.tensorboard.summary"]
    try:
        made = CASES[name](library, module)
    except Exception as error:
        return type(error).__name__, " ".join(str(error).split())
    made = made if isinstance(made, tuple) else (made,)
    return [str(each) for each in made]


@pytest.mark.parametrize("name", CASES)
def test_summaries(name, capfd):
    ours = outcome(rushlight, name), capfd.readouterr().out
    assert ours == (outcome(torch, name), capfd.readouterr().out)


def write(library, folder):
    with library.utils.tensorboard.SummaryWriter(folder, purge_step=3) as writer:
        writer.add_scalar("group/a", 1.5, 1)
        writer.add_scalar("group/a", library.tensor(2.5), library.tensor(2), walltime=5)
        writer.add_scalars("both", {"x": 1, "y": library.ones(1)}, 4)
        writer.add_histogram("h", library.tensor(NUMBERS), 2)
        writer.add_histogram_raw("r", *RAW, global_step=2)
        writer.add_image("i", IMAGE, 1)
        writer.add_images("is", library.tensor(IMAGES), 1)
        writer.add_image_with_boxes("ib", IMAGE, library.tensor(BOXES), labels="only one")
        writer.add_audio("s", library.zeros(1, 9), 1)
        writer.add_text("t", "text", 7)
        writer.add_tensor("full", library.ones(2, 2))
        writer.add_pr_curve("p", library.tensor(LABELS), library.tensor(SCORES), 1)
        writer.add_pr_curve_raw("pr", *CURVE, num_thresholds=2)
        writer.add_custom_scalars_multilinechart(["a", "b"])
        writer.add_custom_scalars_marginchart(["a", "b", "c"], title="u")
        writer.add_mesh("m", library.tensor(POINTS))
        writer.add_hparams({"lr": 0.1}, {"acc": 0.5}, run_name="run")
        images = library.tensor(IMAGES)
        writer.add_embedding(library.tensor(NUMBERS[:10].reshape(5, 2)), list("abcde"), images)
        rows = [[i, str(i)] for i in range(5)]
        writer.add_embedding(
            NUMBERS[:10].reshape(5, 2), rows, tag="x/y", global_step=2, metadata_header=["p", "q"]
        )
        writer.flush()
        writer.close()
        writer.add_scalar("later", 1)


def events(folder):
    """{folder: what its files of events have}, less times and names of machines."""
    from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
    from tensorboard.compat.proto.event_pb2 import Event

    found = {}
    for path in sorted(glob.glob(f"{folder}/**/events*", recursive=True)):
        for raw in RawEventFileLoader(path).Load():
            event = Event.FromString(raw)
            event.wall_time = event.wall_time == 5
            event.ClearField("source_metadata")
            found.setdefault(os.path.relpath(os.path.dirname(path), folder), []).append(str(event))
    return found


def files(folder):
    found = {}
    for path in sorted(glob.glob(f"{folder}/**/*.*", recursive=True)):
        if not os.path.basename(path).startswith("events") and os.path.isfile(path):
            with open(path, "rb") as file:
                found[os.path.relpath(path, folder)] = file.read()
    return found


@pytest.mark.allow_live
def test_files(tmp_path):
    for library in (rushlight, torch):
        write(library, tmp_path / library.__name__)
    ours, theirs = tmp_path / "rushlight", tmp_path / "torch"
    assert len(events(theirs)) == 4 and events(ours) == events(theirs)
    assert len(files(theirs)) == 6 and files(ours) == files(theirs)


MISTAKES = {
    "hparams": lambda t, w: w.add_hparams([], {}),
    "raw": lambda t, w: w.add_histogram_raw("a", *RAW[:-1], [1]),
    "margin": lambda t, w: w.add_custom_scalars_marginchart(["a"]),
    "labels": lambda t, w: w.add_embedding(t.ones(2, 2), [1]),
    "images": lambda t, w: w.add_embedding(t.ones(2, 2), label_img=t.ones(1, 1, 2, 2), tag="b"),
    "dims": lambda t, w: w.add_embedding(t.ones(2), tag="c"),
    "header": lambda t, w: w.add_embedding(t.ones(2, 2), [[1], [2]], metadata_header=["a", "b"], tag="d"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name, tmp_path):
    told = []
    for library in (rushlight, torch):
        with library.utils.tensorboard.SummaryWriter(tmp_path / library.__name__) as writer:
            with pytest.raises(Exception) as error:
                MISTAKES[name](library, writer)
        told.append((error.type, str(error.value)))
    assert told[0] == told[1]
