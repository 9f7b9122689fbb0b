"""Training that is resumed at the border of an epoch: as if it had never stopped, and as PyTorch's."""

from importlib import import_module

import pytest
from tests.helpers.sessions import train

import rushlight
import rushlight.utils.data

torch = pytest.importorskip("torch")
data = import_module("torch.utils.data")
LIBRARIES = {"torch": (torch, data), "rushlight": (rushlight, rushlight.utils.data)}


def losses(library, path, epochs, workers=0):
    return [loss for _, some in train(*LIBRARIES[library], path, epochs, workers) for loss in some]


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("library", LIBRARIES)
def test_resumed_to_the_bit(library, workers, tmp_path):
    whole = losses(library, tmp_path / "whole.tar", 4, workers)
    parts = [losses(library, tmp_path / "parts.tar", n, workers) for n in (1, 3, 4)]
    assert [len(part) for part in parts] == [4, 8, 4] and sum(parts, []) == whole
    mixed = losses(library, tmp_path / "mixed.tar", 2) + losses(library, tmp_path / "mixed.tar", 4, workers)
    assert mixed == whole  # a seed for workers is drawn even where there are none


def test_each_goes_on_for_the_other(tmp_path):
    whole = losses("torch", tmp_path / "whole.tar", 4)
    for first, second in (("torch", "rushlight"), ("rushlight", "torch"), ("rushlight", "rushlight")):
        path = tmp_path / f"{first} {second}.tar"
        assert losses(first, path, 2) + losses(second, path, 4) == pytest.approx(whole, abs=1e-4)
