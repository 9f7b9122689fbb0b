"""What calls warn of, beside real PyTorch: each in a process of its own, since some warn once."""

import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

from helpers.process import SOURCE  # noqa: E402

CALLS = """
torch.ones(1).std()
torch.ones(1).var()
torch.ones(1, 3).std(0)
torch.ones(0).std()
torch.ones(0, 2).var(0)
torch.ones(2, 0).var(0)
torch.ones(2, 3).std(dim=1, correction=5)
torch.ones(2, 3).std(dim=(0, -1), correction=5)
torch.ones(2, 3).std(dim=(0, -1), correction=6)
torch.ones(2, 2).std(correction=2)
torch.var_mean(torch.ones(1))
torch.std_mean(torch.ones(1, 2), 0)
torch.ones(1).std(unbiased=False)
torch.ones(1).std(unbiased=True)
torch.ones(1, 2).var(0, unbiased=True, keepdim=True)
torch.ones(1, dtype=torch.bfloat16).std()
torch.ones(1, device="meta").std()
[torch.ones(1).std(), torch.ones(1).var(), torch.ones(1).std()]
torch.nn.functional.layer_norm(torch.ones(1), [1])
torch.nn.functional.batch_norm(torch.ones(2, 1), None, None, training=True)
float(torch.ones(1, requires_grad=True))
[float(torch.ones(1, requires_grad=True) * 2), float(torch.ones(1, requires_grad=True))]
complex(torch.ones(1, requires_grad=True))
__import__("math").sqrt(torch.ones(1, requires_grad=True))
int(torch.ones(1, requires_grad=True))
bool(torch.ones(1, requires_grad=True))
torch.ones(1, requires_grad=True).item()
float(torch.ones(1, requires_grad=True).detach())
torch.no_grad()(lambda x: float(x))(torch.ones(1, requires_grad=True))
[torch.ones(3).index_reduce(0, torch.tensor([0]), torch.ones(1), "prod") for _ in range(2)]
torch.ones(3).index_reduce_(0, torch.tensor([0]), torch.ones(1), "amax")
""".strip().splitlines()
CODE = """
import sys, warnings
for call in sys.argv[1:]:
    # each in a child, since some warn once
    import os
    read, write = os.pipe()
    if os.fork() == 0:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            eval(call)
        told = [f"{w.category.__name__}: {str(w.message).partition(' (Triggered')[0]!r}" for w in caught]
        os.write(write, "; ".join(told).encode())
        os._exit(0)
    os.close(write)
    os.wait()
    print(f"{call}: {os.read(read, 9999).decode()}")
"""


def told(library):
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    code = f"import {library.__name__} as torch\n{CODE}"
    command = [sys.executable, "-W", "ignore", "-c", code, *CALLS]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=env).stdout.splitlines()


def test_same_warnings():
    import rushlight

    ours, theirs = told(rushlight), told(torch)
    assert len(theirs) == len(CALLS) and ours == theirs
