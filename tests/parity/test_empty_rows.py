"""What PyTorch answers for rows of no elements."""

import pytest

torch = pytest.importorskip("torch")

import rushlight  # noqa: E402
from helpers import empty_rows  # noqa: E402


@pytest.mark.parametrize("dtype", empty_rows.DTYPES)
def test_operators_on_rows_of_no_elements(dtype):
    assert empty_rows.answers(rushlight, dtype) == empty_rows.answers(torch, dtype)


def test_gradients_of_rows_of_no_elements():
    assert empty_rows.backwards(rushlight) == empty_rows.backwards(torch)
