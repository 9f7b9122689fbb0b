"""What examples/ trains: the same losses, pictures and sentences in both libraries."""

from functools import partial

import pytest
from tests.helpers import examples
from tests.helpers.examples import RUNNERS, same_losses

import rushlight

torch = pytest.importorskip("torch")
train = partial(examples.train, OMP_NUM_THREADS="1")  # threads that wait are slow beside other tests


def test_fine_tuning(tmp_path):
    runs = {library: train(library, "fine_tuning.py", tmp_path / library, 1) for library in RUNNERS}
    same_losses(runs["rushlight"][0], runs["torch"][0], 23)
    assert abs(runs["rushlight"][1] - runs["torch"][1]) <= 0.01 and runs["torch"][1] > 0.7
    made = torch.load(tmp_path / "rushlight" / "holes.pth")
    pretrained = rushlight.load("tests/data/civilnet_digits.pth")
    for key in ("conv1.weight", "conv1.bias", "conv2.weight", "conv2.bias"):
        assert made[key].tolist() == pretrained[key].tolist()


@pytest.fixture(scope="module")
def autoencoders(tmp_path_factory):
    """The folder, the losses and the last number of two epochs in each library."""
    return {
        library: (folder := tmp_path_factory.mktemp(library), *train(library, "autoencoder.py", folder, 2))
        for library in RUNNERS
    }


def test_autoencoder(autoencoders):
    ours, theirs = autoencoders["rushlight"], autoencoders["torch"]
    same_losses(ours[1], theirs[1], 90)
    assert abs(ours[2] - theirs[2]) < 1e-4
    kept = [rushlight.load(theirs[0] / "autoencoder.tar"), torch.load(ours[0] / "autoencoder.tar")]
    assert list(kept[0]) == list(kept[1]) and kept[0]["epoch"] == kept[1]["epoch"] == 2
    assert kept[0]["shuffling"].tolist() == kept[1]["shuffling"].tolist()


@pytest.mark.parametrize("library", RUNNERS)
def test_resumed_as_if_never_stopped(autoencoders, library, tmp_path):
    folder, whole = autoencoders[library][:2]
    first, _ = train(library, "autoencoder.py", tmp_path, 1)
    second, _ = train(library, "autoencoder.py", tmp_path, 2, resume=tmp_path / "autoencoder.tar")
    assert first + second == whole  # to the bit
    picture = "autoencoder.png"
    assert (tmp_path / picture).read_bytes() == (folder / picture).read_bytes()


def test_each_resumes_the_other(autoencoders, tmp_path):
    after = {}
    for library, other in (("torch", "rushlight"), ("rushlight", "torch")):
        checkpoint = autoencoders[other][0] / "autoencoder.tar"
        after[library] = train(library, "autoencoder.py", tmp_path / library, 3, resume=checkpoint)
    same_losses(after["rushlight"][0], after["torch"][0], 45)


@pytest.mark.parametrize(
    "script, steps, saved", [("keywords.py", 20, "listener.pth"), ("language_model.py", 60, "writer.pth")]
)
def test_sequences(script, steps, saved, tmp_path):
    runs = {library: train(library, script, tmp_path / library, 1) for library in RUNNERS}
    same_losses(runs["rushlight"][0], runs["torch"][0], steps)
    assert abs(runs["rushlight"][1] - runs["torch"][1]) < 1e-2
    ours, theirs = rushlight.load(tmp_path / "torch" / saved), torch.load(tmp_path / "rushlight" / saved)
    assert list(ours) == list(theirs)
