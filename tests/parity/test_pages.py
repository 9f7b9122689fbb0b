"""The pages of PyTorch's documentation that help() names: what they describe is there and has a docstring."""

import pytest

import operator_help
import pytorch_pages as pages

torch = pytest.importorskip("torch")
OPERATORS = [op for some in operator_help.operators() for op in some]


def described(name):
    """The docstring of torch.nn.functional.relu."""
    found = torch
    for part in name.split(".")[1:]:
        found = getattr(found, part, None)
    return getattr(found, "__doc__", None)


@pytest.mark.parametrize("suffix", ["", "_"])
def test_what_a_page_describes_is_there(suffix):
    count = 0
    for operator in OPERATORS:
        if suffix and not operator.called("INPLACE"):
            continue
        name = f"{operator.name}{suffix}"
        found = [pages.of_function(name)] if operator.called("FUNCTION", "NN") else []
        found += [pages.of_method(name)] if operator.called("METHOD") else []
        for page in filter(None, found):
            assert described(page), page
            count += 1
    assert count > 100


# functions with a docstring that no page shows
HIDDEN = {"channel_shuffle", "conv_tbc", "native_channel_shuffle"}


def test_what_has_no_page_is_not_described():
    assert {n for n in pages.NO_FUNCTION if described(f"torch.{n}")} == HIDDEN
    assert not any(described(f"torch.Tensor.{n}") for n in pages.NO_METHOD)


def test_the_tables_name_operators():
    names = {operator.name for operator in OPERATORS}
    names |= {f"{operator.name}_" for operator in OPERATORS if operator.called("INPLACE")}
    assert names >= pages.FUNCTIONAL | pages.BEHIND | pages.NO_FUNCTION | pages.NO_METHOD
