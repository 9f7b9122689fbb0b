"""The examples in rushlight's docstrings: PyTorch prints the same."""

import pytest
from tests.kits.docstrings import MODULES, examples, report

torch = pytest.importorskip("torch")

# what is not in PyTorch, or another there on purpose
OWN = {
    "rushlight.nn.parallel.data_parallel": "PyTorch's wants a GPU",
}
LAYERS = [name for name in MODULES if name.startswith("rushlight.nn")]


@pytest.mark.parametrize("module", LAYERS)
def test_pytorch_prints_the_same(module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = [(name, text) for name, text in examples()[module] if name not in OWN]
    failed = [said for name, text in told if (said := report(name, text, torch))]
    assert not failed, "\n".join(failed)


def test_exceptions_exist():
    names = {name for module in LAYERS for name, _ in examples()[module]}
    assert names >= OWN.keys()
