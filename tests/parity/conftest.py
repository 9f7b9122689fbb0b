"""Warnings are no errors here: both libraries give them, and tests of warnings compare them."""

import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).parent


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("default"))


@pytest.fixture(autouse=True)
def validating():
    """Importing torch._dynamo, as another test may have done, turns the checks of distributions off."""
    if distributions := sys.modules.get("torch.distributions"):
        distributions.Distribution.set_default_validate_args(True)
