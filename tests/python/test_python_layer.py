"""The Python layer above the C extension, without PyTorch at hand."""

import copy
import os
import pickle
import sys
from pathlib import Path

import pytest

import rushlight
from helpers.process import SOURCE, python
from rushlight import nn

# ---- the package ----


def test_the_version_has_one_place():
    assert rushlight.__version__ == rushlight.version.__version__
    assert rushlight.version.cuda is None


@pytest.mark.parametrize("path", sorted(SOURCE.joinpath("rushlight").rglob("*.py")), ids=lambda p: p.stem)
def test_files_say_what_they_are(path):
    assert path.read_text().startswith('"""')


def test_importing_brings_neither_numpy_nor_onednn():
    code = """
import sys, rushlight, rushlight.nn, rushlight.optim
heavy = ("numpy", "dataclasses", "inspect", "importlib.metadata", "ctypes", "pickle", "zipfile")
print([name for name in heavy if name in sys.modules])
print([line for line in open("/proc/self/maps") if "dnnl" in line or "libgomp" in line])
"""
    assert python(code).splitlines() == ["[]", "[]"]


def test_names_appear_when_they_are_asked_for():
    code = """
import sys, rushlight as torch
print("rushlight.nn" in sys.modules, "nn" in dir(torch), "load" in dir(torch))
torch.nn.Linear, torch.optim.SGD, torch.cuda.is_available, torch.backends.cudnn.benchmark, torch.jit.script
torch.autograd.no_grad, torch.version.cuda, torch.serialization.load is torch.load, torch.utils.hooks
print("rushlight.nn" in sys.modules)
"""
    assert python(code).splitlines() == ["False True True", "True"]


@pytest.mark.parametrize(
    "module", ["", ".nn", ".nn.functional", ".nn.init", ".optim", ".cuda", ".backends", ".jit", ".autograd"]
)
def test_missing_names_are_attribute_errors(module):
    name = "rushlight" + module
    __import__(name)
    holder = sys.modules[name]
    with pytest.raises(AttributeError, match=rf"^module '{name}' has no attribute 'nowhere'$"):
        holder.nowhere  # noqa: B018
    assert not hasattr(holder, "nowhere")
    assert getattr(holder, "nowhere", 3) == 3
    with pytest.raises(AttributeError, match=rf"^module '{name}' has no attribute '__nowhere__'$"):
        holder.__nowhere__  # noqa: B018


def test_tensors_lack_methods_as_plain_objects_do():
    """A ``__getattr__`` in Python would cost every x.shape and x.view() several hundred instructions."""
    x = rushlight.ones(2)
    with pytest.raises(AttributeError, match="^'Tensor' object has no attribute 'nowhere'$"):
        x.nowhere()
    assert not hasattr(rushlight.Tensor, "__getattr__")
    assert not hasattr(x, "nowhere") and not hasattr(rushlight.Tensor, "nowhere")
    x.nowhere = 3
    assert x.nowhere == 3


def test_names_of_dtypes():
    t = rushlight
    assert (t.float, t.double, t.half, t.long) == (t.float32, t.float64, t.float16, t.int64)
    assert (t.int, t.short) == (t.int32, t.int16) and str(t.bool) == "torch.bool"
    assert t.inf == float("inf") and t.newaxis is None and 3.14 < t.pi < 3.15 and 2.71 < t.e < 2.72
    for name in ("float32", "bool", "int8", "bfloat16"):
        assert pickle.loads(pickle.dumps(getattr(t, name))) is getattr(t, name)


def test_limits():
    assert rushlight.finfo(rushlight.float32).eps == 2**-23 and rushlight.finfo().bits == 32
    assert rushlight.finfo(rushlight.float64).max == sys.float_info.max
    assert rushlight.finfo(rushlight.bfloat16).tiny == sys.float_info.min * 2.0 ** (1022 - 126)
    assert rushlight.iinfo(rushlight.uint8).max == 255 and rushlight.iinfo(rushlight.int64).min == -(2**63)
    with pytest.raises(TypeError, match="requires a floating point input type"):
        rushlight.finfo(rushlight.int8)
    with pytest.raises(TypeError, match="requires an integer input type"):
        rushlight.iinfo(rushlight.float32)


def test_switches():
    rushlight.use_deterministic_algorithms(True, warn_only=True)
    assert rushlight.are_deterministic_algorithms_enabled()
    assert rushlight.is_deterministic_algorithms_warn_only_enabled()
    rushlight.use_deterministic_algorithms(False)
    assert not rushlight.are_deterministic_algorithms_enabled()
    with pytest.raises(TypeError, match="must be bool, not int"):
        rushlight.use_deterministic_algorithms(1)
    rushlight.backends.cudnn.benchmark = True
    assert rushlight.backends.cudnn.benchmark and not rushlight.backends.cudnn.is_available()
    rushlight.backends.cudnn.benchmark = False
    with rushlight.autocast("cpu", dtype=rushlight.bfloat16):
        assert rushlight.ones(1).dtype is rushlight.float32
    with pytest.raises(RuntimeError, match="set_num_interop_threads expects a positive integer"):
        rushlight.set_num_interop_threads(0)
    rushlight.set_float32_matmul_precision("high")
    assert rushlight.get_float32_matmul_precision() == "high"
    rushlight.set_float32_matmul_precision("highest")


@pytest.mark.skipif(not rushlight.cuda.is_available(), reason="no GPU")
def test_gpus():
    x = rushlight.ones(1).cuda()
    assert x.is_cuda and x.cpu().tolist() == [1]


def test_looking_for_gpus_loads_nothing(tmp_path):
    """The files of the extension and of the driver say whether there may be one."""
    code = f"""
import sys, rushlight as torch
torch.cuda
before = set(sys.modules)
print(torch.cuda.is_available(), sorted(set(sys.modules) - before))
from rushlight import _device
_device._device_files, _device._driver_serves = lambda: ["nvidia0", "nvidia1"], lambda: True
_device._SUFFIXES = [".absent", ".so"]
torch.__path__ = [{str(tmp_path)!r}, {str(tmp_path / "more")!r}]
print(torch.cuda.device_count())
open({str(tmp_path / "more" / "_cuda.so")!r}, "w").close()
print(torch.cuda.device_count(), set(sys.modules) & {{"importlib.util", "rushlight._cuda"}})
sys.modules["rushlight._cuda"] = None
print(torch.cuda.device_count())
"""
    (tmp_path / "more").mkdir()
    assert python(code).splitlines() == ["False ['rushlight._device']", "0", "2 set()", "0"]


@pytest.mark.skipif(rushlight.cuda.is_available(), reason="no GPU is missing")
def test_no_gpus():
    x = rushlight.ones(1)
    assert rushlight.cuda.device_count() == 0
    for ask in (x.cuda, rushlight.cuda.current_device, rushlight.cuda.synchronize, lambda: x.to("cuda:0")):
        with pytest.raises(AssertionError, match="^Torch not compiled with CUDA enabled$"):
            ask()
    with pytest.raises(RuntimeError, match="^Cannot access accelerator device when none is available.$"):
        x.to(0)
    rushlight.cuda.empty_cache()
    rushlight.cuda.manual_seed_all(3)


# ---- random ----


def test_seeds():
    generator = rushlight.manual_seed(5)
    assert generator is rushlight.default_generator and rushlight.initial_seed() == 5
    state = rushlight.get_rng_state()
    first = rushlight.rand(3).tolist()
    rushlight.set_rng_state(state)
    with rushlight.random.fork_rng():
        assert rushlight.rand(3).tolist() == first
    assert rushlight.rand(3).tolist() == first
    assert rushlight.manual_seed(-1).initial_seed() == 2**64 - 1
    with pytest.raises(ValueError, match="Overflow when unpacking long long"):
        rushlight.manual_seed(2**64)
    assert rushlight.seed() == rushlight.initial_seed()


# ---- Tensor ----


def test_backward_refuses_what_has_no_gradient():
    with pytest.raises(RuntimeError, match="^element 0 of tensors does not require grad"):
        rushlight.ones(1).backward()
    w = rushlight.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="^grad can be implicitly created only for scalar outputs$"):
        (w * 2).backward()
    (w * 2).backward(rushlight.tensor([1.0, 3.0]))
    assert w.grad.tolist() == [2, 6]


def test_copies_share_and_deep_copies_do_not():
    x = rushlight.arange(6.0)
    view = x[2:4]
    shallow = copy.copy(view)
    shallow[0] = -1
    assert x[2].item() == -1 and shallow.storage_offset() == 2
    new, new_view = copy.deepcopy([x, view])
    new_view[0] = 9
    assert new[2].item() == 9 and x[2].item() == -1 and not new_view._is_view()
    w = rushlight.ones(2, requires_grad=True)
    w.grad = rushlight.full((2,), 3.0)
    w.note = ["a"]
    other = copy.deepcopy(w)
    assert other.requires_grad and other.grad.tolist() == [3, 3] and other.grad is not w.grad
    assert other.note == ["a"] and other.note is not w.note
    with pytest.raises(RuntimeError, match=r"^Only Tensors created explicitly by the user \(graph leaves\)"):
        copy.deepcopy(w * 2)


class Marked(rushlight.Tensor):
    pass


@pytest.mark.parametrize(
    "make",
    [
        lambda: rushlight.arange(12.0).view(3, 4).t()[1:],
        lambda: rushlight.tensor([1.5, -2], dtype=rushlight.bfloat16),
        lambda: rushlight.zeros(0, 3),
        lambda: rushlight.tensor(True),
        lambda: rushlight.ones(2, requires_grad=True),
        lambda: nn.Parameter(rushlight.ones(2)),
        lambda: nn.Parameter(rushlight.arange(3), requires_grad=False),
        lambda: Marked([1.0, 2.0]),
    ],
)
def test_pickles_keep_everything(make):
    x = make()
    x.note = "kept"
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        y = pickle.loads(pickle.dumps(x, protocol))
        assert type(y) is type(x) and repr(y) == repr(x) and y.note == "kept"
        assert (y.dtype, y.shape, y.stride(), y.requires_grad) == (
            x.dtype,
            x.shape,
            x.stride(),
            x.requires_grad,
        )
        assert pickle.loads(pickle.dumps(make(), protocol)).shape == x.shape


def test_new_tensors_of_the_same_kind():
    x = rushlight.ones(2, dtype=rushlight.float64)
    for new in (x.new_zeros(2, 3), x.new_ones((2, 3)), x.new_empty(2, 3), x.new_full((2, 3), 4)):
        assert new.dtype is rushlight.float64 and new.shape == (2, 3)
    assert x.new_tensor([1, 2]).dtype is rushlight.float64
    assert x.new_zeros(2, dtype=rushlight.int8, requires_grad=False).dtype is rushlight.int8
    with pytest.raises(TypeError, match=r"^new_zeros\(\)"):
        x.new_zeros("a")


def test_casts():
    x = rushlight.tensor([1.7, -2.0])
    assert x.to(rushlight.int64).tolist() == [1, -2] and x.long().dtype is rushlight.int64
    assert x.float() is x and x.to("cpu") is x and x.to(x) is x and x.to(x.dtype, copy=True) is not x
    assert x.type() == "torch.FloatTensor" and x.type("torch.IntTensor").dtype is rushlight.int32
    assert x.type_as(rushlight.ones(1, dtype=rushlight.float64)).dtype is rushlight.float64
    with pytest.raises(
        TypeError, match=r"^to\(\) received an invalid combination of arguments - got \(str, int\)"
    ):
        x.to("cpu", 3)
    with pytest.raises(ValueError, match="^invalid type: 'nothing'$"):
        x.type("nothing")
    assert isinstance(x, rushlight.FloatTensor) and not isinstance(x, rushlight.LongTensor)
    assert rushlight.LongTensor([1, 2]).dtype is rushlight.int64 and rushlight.DoubleTensor(2, 3).shape == (
        2,
        3,
    )


def test_shared_memory_reaches_a_forked_process():
    x = rushlight.zeros(3)
    assert x.share_memory_() is x
    child = os.fork()
    if child == 0:
        x.fill_(7)
        os._exit(0)
    os.waitpid(child, 0)
    assert x.tolist() == [7, 7, 7]


def test_comparing():
    t = rushlight.tensor
    assert rushlight.allclose(t([1.0, 2.0]), t([1.0, 2.0 + 1e-6])) is True
    assert rushlight.isclose(
        t([1.0, float("nan"), float("inf")]), t([1.1, float("nan"), float("inf")])
    ).tolist() == [
        False,
        False,
        True,
    ]
    assert rushlight.isclose(t([float("nan")]), t([float("nan")]), equal_nan=True).item()
    assert rushlight.equal(t([1, 2]), t([1, 2])) is True and not rushlight.equal(t([1, 2]), t([1]))
    with pytest.raises(RuntimeError, match="^Float did not match Long$"):
        rushlight.allclose(t([1.0]), t([1]))
    with pytest.raises(
        TypeError, match=r"^equal\(\): argument 'other' \(position 2\) must be Tensor, not int$"
    ):
        rushlight.equal(t([1]), 1)


# ---- oneDNN ----


def test_a_broken_onednn_warns_once_and_serves_on(tmp_path):
    broken = tmp_path / "libdnnl.so.3"
    broken.write_text("nothing")
    code = """
import warnings
import rushlight
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    for _ in range(3):
        # one that is left to oneDNN where it serves
        y = rushlight.conv2d(rushlight.ones(1, 128, 8, 8), rushlight.ones(64, 128, 3, 3))
        rushlight.matmul(rushlight.ones(200, 200), rushlight.ones(200, 200))
print(rushlight.backends.mkldnn.is_available(), end=" ")
print(y[0, 0, 0, 0].item(), [(w.category.__name__, "file too short" in str(w.message)) for w in warned])
"""
    every = {"RUSHLIGHT_ISA": "", "RUSHLIGHT_KERNELS": ""}  # the reference kernels never ask for it
    assert python(code, RUSHLIGHT_ONEDNN=str(broken), **every) == "False 1152.0 [('RuntimeWarning', True)]\n"
    assert python(code, RUSHLIGHT_ONEDNN="off") == "False 1152.0 []\n"


def test_onednn_is_opened_by_the_first_kernel_that_runs_it():
    code = """
import threading
import rushlight
from rushlight.nn import functional as F

def opened():
    with open("/proc/self/maps") as maps:
        return "dnnl" in maps.read()

small = rushlight.conv2d(rushlight.ones(1, 3, 32, 32), rushlight.ones(6, 3, 5, 5))
F.linear(rushlight.ones(4, 400), rushlight.ones(120, 400)) @ rushlight.ones(120, 8)
F.conv1d(rushlight.ones(1, 128, 64), rushlight.ones(64, 128, 3))
print(opened(), small[0, 0, 0, 0].item())
x, w, said = rushlight.ones(2, 128, 10, 10), rushlight.ones(64, 128, 3, 3), []
def work():
    said.append(rushlight.conv2d(x, w).sum().item())
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(opened() == rushlight.backends.mkldnn.is_available(), {*said} == {2.0 * 64 * 64 * 1152})
"""
    assert python(code, RUSHLIGHT_ISA="", RUSHLIGHT_KERNELS="").splitlines() == ["False 75.0", "True True"]


def test_where_onednn_is_looked_for(monkeypatch, tmp_path):
    from importlib import metadata

    from rushlight import _onednn

    monkeypatch.setenv("RUSHLIGHT_ONEDNN", "/somewhere/libdnnl.so")
    assert _onednn.find() == "/somewhere/libdnnl.so"
    for off in ("0", "off", "OFF"):
        monkeypatch.setenv("RUSHLIGHT_ONEDNN", off)
        assert _onednn.find() is None
    monkeypatch.delenv("RUSHLIGHT_ONEDNN")
    default = _onednn.find()
    for on in ("", "1", "on"):
        monkeypatch.setenv("RUSHLIGHT_ONEDNN", on)
        assert _onednn.find() == default
    monkeypatch.delenv("RUSHLIGHT_ONEDNN")
    wheel = tmp_path / "onednn_cpu_gomp-3.0.dist-info"
    wheel.mkdir()
    (wheel / "METADATA").write_text("Metadata-Version: 2.1\nName: onednn-cpu-gomp\nVersion: 3.0\n")
    (wheel / "RECORD").write_text("lib/libdnnl.so,,\nlib/libdnnl.so.3,,\nlib/libdnnl.so.3.0,,\n")
    (tmp_path / "lib").mkdir()
    for name in ("libdnnl.so", "libdnnl.so.3"):
        (tmp_path / "lib" / name).write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "prefix", "/nowhere")
    assert Path(_onednn.find()) == tmp_path / "lib" / "libdnnl.so.3"

    def nothing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "files", nothing)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert Path(_onednn.find()) == tmp_path / "lib" / "libdnnl.so.3"
    monkeypatch.setattr(sys, "prefix", "/nowhere")
    assert _onednn.find() == "libdnnl.so.3"
