"""The examples in rushlight's docstrings: PyTorch prints the same."""

from importlib import import_module

import pytest
from tests.helpers.docstrings import MODULES, examples, report

torch = pytest.importorskip("torch")

# what is not in PyTorch, or another there on purpose
OWN = {
    "rushlight.compile": "there is no compiler",
    "rushlight.nn.attention.flex_attention.flex_attention": "PyTorch's warns where it is not compiled",
    "rushlight.nn.parallel.data_parallel": "PyTorch's wants a GPU",
    "rushlight.serialization.add_safe_globals": "PyTorch allows some of its own",
    "rushlight.utils.collect_env.get_pretty_env_info": "names the library",
}
OWN_MODULES = (
    *("rushlight.inspect", "rushlight.safetensors"),
    *("rushlight.profiler", "rushlight.autograd.profiler"),  # each library has events of its own
)
SHARED = [name for name in MODULES if name not in OWN_MODULES]
# which `import torch` leaves out; the last brings setuptools, which adds to sys.path
for module in ("nn.utils.prune", "optim.swa_utils", "utils.benchmark"):
    import_module(f"torch.{module}")


@pytest.mark.parametrize("module", SHARED)
def test_pytorch_prints_the_same(module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    allowed = torch.serialization.get_safe_globals()  # one example clears them
    told = [(name, text) for name, text in examples()[module] if name not in OWN]
    told = [(name, text) for name, text in told if not name.endswith(".compile")]  # PyTorch's compiles
    told = [(name, text.replace(">>> from rushlight", ">>> from torch")) for name, text in told]
    failed = [said for name, text in told if (said := report(name, text, torch))]
    torch.serialization.add_safe_globals(allowed)
    assert not failed, "\n".join(failed)


def test_exceptions_exist():
    names = {name for module in SHARED for name, _ in examples()[module]}
    assert names >= OWN.keys()
    assert set(MODULES) >= set(OWN_MODULES)
