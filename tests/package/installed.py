"""What an installed rushlight must do, with neither pytest nor the sources at hand.

python -I tests/package/installed.py [numpy] [onednn]: what of these two is installed beside it; what is not
named must be missing. The test for wheels; make try-wheels runs it in fresh environments.
"""

import contextlib
import importlib.util
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from importlib import metadata

import rushlight as torch
from rushlight import nn

CONVOLUTION = "nn.functional.conv2d(torch.ones(8, 16, 32, 32), torch.ones(16, 16, 3, 3))"
TRACED = re.compile(r"conv2d .* -> (\w+)")


def check_place():
    """It is the installed one, its version is that of the distribution, and it is marked as typed."""
    home = pathlib.Path(torch.__file__).parent
    assert home.is_relative_to(sys.prefix), home
    assert torch.__version__ == metadata.version("rushlight"), torch.__version__
    assert (home / "py.typed").exists() and (home / "_C.pyi").exists()


def check_training():
    """A small network learns, and its file comes back as it was."""
    torch.manual_seed(0)
    images, labels = torch.rand(32, 1, 12, 12), torch.arange(32) % 4
    images[torch.arange(32), 0, labels, labels] += 5
    net = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(800, 4))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(images), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 10, losses
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "net.pth")
        torch.save(net.state_dict(), path)
        again = torch.load(path)
    assert all(torch.equal(again[name], value) for name, value in net.state_dict().items())


def kernel(**settings):
    """Which one computes a convolution."""
    code = f"import rushlight as torch; from rushlight import nn; {CONVOLUTION}"
    traced = {**os.environ, "RUSHLIGHT_TRACE": "1", **settings}
    done = subprocess.run([sys.executable, "-I", "-c", code], env=traced, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return TRACED.search(done.stderr)[1]


def check_numpy():
    import numpy

    array = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
    tensor = torch.from_numpy(array)
    tensor[0, 0] = 7
    assert array[0, 0] == 7 and tensor.numpy().tolist() == array.tolist()
    assert numpy.asarray(tensor * 2).sum() == 2 * array.sum()
    return f"NumPy {numpy.__version__}"


def check_no_numpy():
    """What needs it says so, in PyTorch's words and nothing else."""
    printed = io.StringIO()
    for needs in (torch.ones(2).numpy, torch.ones(2).__array__):
        with contextlib.redirect_stderr(printed):
            try:
                needs()
            except RuntimeError as error:
                assert str(error) == "Numpy is not available", error
            else:
                raise AssertionError("no error")
    assert printed.getvalue() == "" and not hasattr(nn.functional, "no_such_name")
    return "no NumPy"


def main(there):
    assert "numpy" not in sys.modules
    for name in ("numpy", "onednn"):
        found = importlib.util.find_spec("numpy") if name == "numpy" else distribution("onednn-cpu-gomp")
        assert bool(found) == (name in there), (name, found)
    check_place()
    check_training()
    numpy = check_numpy() if "numpy" in there else check_no_numpy()
    without_vectors = kernel(RUSHLIGHT_ISA="none")  # where rushlight's own come last
    assert without_vectors.startswith("dnnl_") == ("onednn" in there), without_vectors
    versions = f"rushlight {torch.__version__}, Python {sys.version.split()[0]}, {numpy}"
    print(f"{versions}: conv2d by {kernel()}, without vectors by {without_vectors}")


def distribution(name):
    try:
        return metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return None


if __name__ == "__main__":
    main(sys.argv[1:])
