"""Where a constructor names an argument of a wrong type, PyTorch raises TypeError, too, in other words."""

import pytest
from tests.nn.test_wrong_arguments import CASES

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("case", CASES.strip().splitlines())
def test_pytorch_raises_the_same_type(case):
    call, *_ = case.rsplit(None, 3)
    with pytest.raises(TypeError):
        eval(f"torch.nn.{call}")
