"""KeyboardInterrupt at any line of a DataLoader's iterator: the next epoch is whole, and no worker stays."""

import itertools
import multiprocessing
import os

import pytest

from helpers.interrupted import Interrupted
from rushlight.utils import data
from rushlight.utils.data._utils import channel

pytestmark = pytest.mark.filterwarnings(
    *("ignore:This process", "ignore:This DataLoader will create"),
    "ignore::pytest.PytestUnraisableExceptionWarning",  # what interrupts a finalizer goes no further
)
PLACES = os.path.join("rushlight", "utils", "data")
ROWS = list(range(6))


@pytest.fixture(autouse=True)
def _forget_message():
    """A tracer interrupts where nothing else does: before the first statement of a finally, too."""
    yield
    channel._arriving.__dict__.clear()


def batches(iterator):
    return [i for batch in iterator for i in batch.tolist()]


def make_loader(persistent):
    # workers that nobody hears of again would be waited for: a timeout says so
    return data.DataLoader(ROWS, 1, num_workers=2, persistent_workers=persistent, timeout=30)


def check_each_line(begin, step=37):
    """begin() gives what is interrupted and the loader, which is then as good as new."""
    for at in itertools.count(1, step):
        run, loader = begin()
        with Interrupted(at, PLACES) as interrupted:
            run()
        assert batches(loader) == ROWS, at
        del run, loader
        assert not multiprocessing.active_children(), at
        if not interrupted.reached:
            assert at > 100
            return


def test_an_epoch():
    def begin():
        loader = make_loader(False)
        return (lambda: batches(loader)), loader

    check_each_line(begin)


def test_an_epoch_of_persistent_workers():
    def begin():
        loader = make_loader(True)
        next(iter(loader))  # with batches on the way, which the next epoch is not to have
        return (lambda: batches(loader)), loader

    check_each_line(begin)


@pytest.mark.parametrize("persistent", [False, True])
def test_an_iterator_that_goes_on(persistent):
    """It has lost nothing that was not given, or says that it has ended."""
    for at in itertools.count(1, 37):
        iterator, seen = iter(make_loader(persistent)), []
        with Interrupted(at, PLACES) as interrupted:
            for batch in iterator:
                seen.append(batch.item())
        try:
            seen += batches(iterator)
        except AssertionError as error:
            assert "Invalid iterator state" in str(error)
        assert len(seen) == len(set(seen)) and seen == sorted(seen)
        if not interrupted.reached:
            break
    assert seen == ROWS
