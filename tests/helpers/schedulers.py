"""Running one script about schedulers on torch and here."""

import warnings
from pathlib import Path

import pytest

import rushlight
import rushlight.nn
from helpers.pytorch import plain

torch = pytest.importorskip("torch")
TESTS = str(Path(__file__).parents[1])


class Names:
    """What lr_scheduler of a library has, and SWALR, which stands elsewhere."""

    def __init__(self, t):
        self.t = t

    def __getattr__(self, name):
        home = self.t.optim.swa_utils if name == "SWALR" else self.t.optim.lr_scheduler
        return getattr(home, name)


def sgd(t, lr=0.1, n=2, momentum=0.9):
    params = [t.nn.Parameter(t.ones(2)) for _ in range(n)]
    groups = [{"params": [p], "lr": lr / (i + 1)} for i, p in enumerate(params)]
    return t.optim.SGD(groups, lr=lr, momentum=momentum)


def exactly(script):
    """Run the script, given the library and its schedulers, on both: the same bits, the same warnings.

    Returns the texts of our warnings, and whether they name a line of a test."""
    answers = []
    for t in (torch, rushlight):
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            answer = plain(script(t, Names(t)), t)
        said = [(w.category, str(w.message)) for w in warned]
        answers.append([repr(answer).replace("rushlight", "torch"), said])
    assert answers[1] == answers[0]
    return [(str(w.message), w.filename.startswith(TESTS)) for w in warned]
