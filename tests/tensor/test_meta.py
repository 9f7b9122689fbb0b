"""The meta device: shapes and dtypes without memory; and torch.device with its contexts."""

import copy
import io
import pickle
import threading
import zipfile

import numpy as np
import pytest

import op_samples as samples
import rushlight as torch
from rushlight import _C, nn

OPERATORS = samples.OPERATORS
NO_DATA = "Cannot copy out of meta tensor; no data!"


def meta(*shape, **options):
    return torch.empty(*shape, device="meta", **options)


# ---- every operator ----
def moved(value):
    if isinstance(value, torch.Tensor):
        return value.to("meta")
    if isinstance(value, list):
        return [moved(v) for v in value]
    return value


def forms(name, sample, dtype, device):
    """Dtype, shape and strides of the results, or the exception."""
    try:
        args, kwargs = sample.build(_C, dtype)
        if name in samples.FACTORIES:
            kwargs.update(dtype=getattr(torch, dtype), device=device)
        elif device == "meta":
            args, kwargs = map(moved, args), {k: moved(v) for k, v in kwargs.items()}
        results = samples.flat_results(samples.function(_C, OPERATORS[name])(*args, **kwargs))
    except Exception as error:
        return error
    assert all(r.device.type == device for r in results)
    return [(r.dtype, r.shape, r.stride()) for r in results]


NEEDS_VALUES = (
    *("nonzero", "nonzero_tuple", "argwhere", "where_condition", "masked_select"),
    *("index", "index_put"),  # of their masks
    *("narrow_tensor", "tensor_split_tensor", "bincount", "multinomial", "randint_like_tensor"),
    *("ctc_loss_tensor", "_ctc_loss_tensor"),  # of their lengths
    *(f"{kind}_packed" for kind in ("lstm", "gru", "rnn_tanh", "rnn_relu")),  # of their batch_sizes
    *("_pack_padded_sequence", "_pad_packed_sequence", "one_hot"),
    *("quantile", "nanquantile", "searchsorted", "cov"),  # of what they check
)
# kernels refuse what the operators' dtypes admit
VALUES_CHECKED = {
    (name, "bool") for name in ("div", "pow", "randint", "randint_low", "random_to_", "random_from_")
} | {(name, "bool") for name in ("randint_like", "randint_like_low", "randint_like_tensor")}
# ... after something else was refused: lengths that nobody can look at
VALUES_CHECKED |= {
    (name, dtype) for name in ("ctc_loss_tensor", "_ctc_loss_tensor") for dtype in ("int64", "bool")
} | {
    (f"{kind}_packed", dtype)
    for kind in ("lstm", "gru", "rnn_tanh", "rnn_relu")
    for dtype in ("int64", "bool")
}


@pytest.mark.parametrize("name", OPERATORS)
def test_rows_answer_as_on_the_cpu(name):
    before = torch.get_rng_state()
    for sample in samples.of(name):
        for dtype in ("float32", "int64", "bool"):
            what = f"{name}({sample}) {dtype}"
            ours = forms(name, sample, dtype, "meta")
            torch.manual_seed(0)
            expected = forms(name, sample, dtype, "cpu")
            torch.set_rng_state(before)
            if isinstance(expected, Exception):
                assert (name, dtype) in VALUES_CHECKED or str(ours) == str(expected), what
            elif isinstance(ours, Exception):
                unknown = name in NEEDS_VALUES or "repeat_interleave" in name
                assert unknown and isinstance(ours, RuntimeError), f"{what}: {ours!r}"
            else:
                assert ours == expected, what
    assert torch.get_rng_state().tolist() == before.tolist()


@pytest.mark.parametrize("name", ["add", "conv2d", "cat", "copy_", "index_select"])
def test_devices_do_not_mix(name):
    mixed = 0
    for sample in samples.of(name):
        args, kwargs = sample.build(_C, "float32")
        tensors = [a for a in args if isinstance(a, torch.Tensor) and a.dim()]
        if isinstance(args[0], list) and len(args[0]) > 1:
            args = ([moved(args[0][0]), *args[0][1:]], *args[1:])
        elif len(tensors) > 1:
            args = tuple(moved(a) if a is tensors[1] else a for a in args)
        else:
            continue  # one tensor, with a number
        with pytest.raises(RuntimeError, match="is not on the expected device|Cannot copy out of meta"):
            samples.function(_C, OPERATORS[name])(*args, **kwargs)
        mixed += 1
    assert mixed


def test_sizes_that_no_memory_holds():
    x = meta(10**6, 10**6) + 1
    y = (x @ x.T).relu_()
    assert y.shape == (10**6, 10**6) and y.untyped_storage().nbytes() == 4 * 10**12
    live = _C._live()["bytes"]
    assert x[5:].storage_offset() == 5 * 10**6 and _C._live()["bytes"] == live
    with pytest.raises(RuntimeError, match="Storage size calculation overflowed"):
        meta(2**40, 2**40)


def test_views_share_a_storage_without_memory():
    x = meta(2, 3)
    assert x.t()._base is x and x.data_ptr() == 0 and x.untyped_storage().data_ptr() == 0
    assert x.t().untyped_storage()._cdata == x.untyped_storage()._cdata
    assert x.untyped_storage().resize_(400).nbytes() == 400
    with pytest.raises(NotImplementedError, match="Not available for 'meta' device type"):
        bytes(x.untyped_storage())
    assert torch.UntypedStorage(10, device="meta").nbytes() == 10


def test_in_place_counts_versions_and_draws_nothing():
    before = torch.get_rng_state().tolist()
    x = meta(3, 3)
    for fill in (x.uniform_, x.normal_, x.bernoulli_, x.zero_):
        assert fill() is x
    x[0] = 5
    x[:, 1] = torch.ones(3)
    assert x._version == 6 and torch.get_rng_state().tolist() == before


@pytest.mark.parametrize("name", sorted(set(nn.init.__all__) - {"calculate_gain"}))
def test_init_leaves_meta_tensors_alone(name):
    extra = {"constant_": (1,), "sparse_": (0.5,)}.get(name, ())
    x = meta(2, 3, 4) if name == "dirac_" else meta(20, 30)
    before = torch.get_rng_state().tolist()
    assert getattr(nn.init, name)(x, *extra) is x
    assert torch.get_rng_state().tolist() == before


@pytest.mark.parametrize(
    "read, error, text",
    [
        (lambda x: x.item(), RuntimeError, r"Tensor.item\(\) cannot be called on meta tensors"),
        (lambda x: x.tolist(), NotImplementedError, NO_DATA),
        (lambda x: x.numpy(), TypeError, "can't convert meta device type tensor to numpy"),
        (lambda x: x.cpu(), NotImplementedError, NO_DATA),
        (lambda x: torch.ones(1).copy_(x), NotImplementedError, NO_DATA),
        (lambda x: torch.tensor([x.view(())]), RuntimeError, "cannot be called on meta"),
        (lambda x: torch.tensor(1.0).fill_(x.view(())), RuntimeError, "not on the expected device"),
        (lambda x: torch.ones(2)[x.long()], RuntimeError, "not on the expected device"),
        (lambda x: torch.add(torch.ones(1), 1, out=x), RuntimeError, "from device cpu to device meta"),
        (lambda x: torch.set_rng_state(meta(5056, dtype=torch.uint8)), TypeError, "ByteTensor"),
        (lambda x: setattr(x, "data", torch.ones(1)), RuntimeError, "incompatible tensor type"),
        (lambda x: setattr(torch.ones(1), "grad", x), RuntimeError, "device type 'meta' to a tensor"),
        (lambda x: torch.equal(x, x), NotImplementedError, "aten::equal"),
        (lambda x: bool(x), RuntimeError, "cannot be called on meta"),
        (lambda x: torch.full((2,), x.view(())), RuntimeError, "cannot be called on meta"),
    ],
)
def test_nothing_can_be_read(read, error, text):
    with pytest.raises(error, match=text):
        read(meta(1))


def test_repr():
    assert repr(meta(2)) == "tensor(..., device='meta', size=(2,))"
    assert repr(meta((), dtype=torch.int64)) == "tensor(..., device='meta', size=(), dtype=torch.int64)"
    assert f"{meta(())}" == "tensor(..., device='meta', size=())"
    p = nn.Parameter(meta(0))
    assert repr(p).endswith("tensor(..., device='meta', size=(0,), requires_grad=True)")


def test_gradients_have_shapes():
    x = meta(2, 3, requires_grad=True)
    (x * 2 + 1).sum().backward()
    assert x.grad.is_meta and x.grad.shape == (2, 3)


# ---- copies and files ----
@pytest.mark.parametrize("again", [copy.deepcopy, copy.copy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies(again):
    x = nn.Parameter(meta(4, 3, dtype=torch.float64).t())
    y = again(x)
    assert type(y) is nn.Parameter and y.is_meta and y.requires_grad and y.dtype == torch.float64
    assert (y.shape, y.stride()) == (x.shape, x.stride()) and y.untyped_storage().nbytes() == 96


@pytest.mark.parametrize("map_location", [None, "cpu", "meta"])
def test_files_keep_the_shape_alone(map_location):
    file = io.BytesIO()
    torch.save({"t": meta(1000, 1000).t(), "p": nn.Parameter(meta(2)), "n": torch.ones(2)}, file)
    assert len(file.getvalue()) < 3000
    file.seek(0)
    back = torch.load(file, map_location=map_location)
    assert back["t"].is_meta and back["t"].stride() == (1, 1000) and type(back["p"]) is nn.Parameter
    assert back["n"].is_meta == (map_location == "meta")


def rewritten(file, old, new):
    """The archive with other bytes in its pickle."""
    out = io.BytesIO()
    with zipfile.ZipFile(file) as source, zipfile.ZipFile(out, "w") as target:
        for name in source.namelist():
            data = source.read(name)
            if name.endswith("data.pkl"):
                assert old in data
                data = data.replace(old, new)
            target.writestr(name, data)
    out.seek(0)
    return out


@pytest.mark.parametrize(
    "new", [b"\x8a\x08" + b"\xff" * 7 + b"\x7f", b"\x8a\x08" + b"\xff" * 8, b"N", b"X\x01\x00\x00\x00a"]
)
def test_hostile_sizes(new):
    file = io.BytesIO()
    torch.save(meta(77), file)
    with pytest.raises((RuntimeError, pickle.UnpicklingError)):
        torch.load(rewritten(file, b"KM", new))


# ---- modules ----
def test_modules_cross_the_border_by_to_empty_only():
    m = nn.Sequential(nn.Linear(3, 4, device="meta"), nn.BatchNorm1d(4, device="meta"))
    assert m(meta(5, 3)).shape == (5, 4)
    with pytest.raises(NotImplementedError, match=r"no data! Please use torch.nn.Module.to_empty\(\)"):
        m.to("cpu")
    before = torch.get_rng_state().tolist()
    m.to_empty(device="cpu")
    assert torch.get_rng_state().tolist() == before
    assert {p.device.type for p in (*m.parameters(), *m.buffers())} == {"cpu"}
    assert all(p.requires_grad for p in m.parameters()) and m(torch.ones(5, 3)).shape == (5, 4)
    m.to("meta")
    assert all(p.is_meta for p in (*m.parameters(), *m.buffers()))


def test_load_state_dict():
    full, hollow = nn.Linear(3, 4), nn.Linear(3, 4, device="meta")
    text = "for {}: copying from a non-meta parameter in the checkpoint to a meta parameter .* is a no-op"
    with (
        pytest.warns(UserWarning, match=text.format("weight")),
        pytest.warns(UserWarning, match=text.format("bias")),
    ):
        hollow.load_state_dict(full.state_dict())
    assert hollow.weight.is_meta
    with pytest.raises(RuntimeError, match=NO_DATA):
        full.load_state_dict(hollow.state_dict())
    assert not any(hollow.load_state_dict(nn.Linear(3, 4, device="meta").state_dict()))
    nested = nn.Sequential(nn.Sequential(nn.Linear(3, 4)))
    with pytest.raises(RuntimeError, match=NO_DATA):
        nested.load_state_dict(nn.Sequential(nn.Sequential(hollow)).state_dict())
    hollow.load_state_dict(full.state_dict(), assign=True)
    assert hollow.weight.tolist() == full.weight.tolist() and type(hollow.weight) is nn.Parameter


def test_skip_init_draws_nothing_and_starts_nothing(monkeypatch):
    filled = []
    monkeypatch.setattr(nn.init, "kaiming_uniform_", lambda t, **_: filled.append(t.is_meta))
    before = torch.get_rng_state().tolist()
    m = nn.utils.skip_init(nn.Linear, 3, 4, dtype=torch.float64)
    assert m.weight.dtype == torch.float64 and m.weight.device.type == "cpu" and m.weight.requires_grad
    assert filled == [True] and torch.get_rng_state().tolist() == before
    assert nn.utils.skip_init(nn.Linear, 3, 4, device="meta").weight.is_meta


def test_lazy_modules():
    m = nn.LazyLinear(4, device="meta")
    assert m.weight.is_meta and isinstance(m.weight, nn.UninitializedParameter)
    with pytest.raises(RuntimeError, match="incompatible tensor type"):
        m.weight.materialize((4, 3), device="cpu")
    with pytest.raises(ValueError, match="uninitialized parameter in <built-in method empty_like"):
        m.to_empty(device="cpu")
    assert m(meta(2, 3)).shape == (2, 4) and type(m) is nn.Linear and m.weight.shape == (4, 3)
    norm = nn.LazyBatchNorm1d(device="meta")
    assert norm.running_mean.device.type == "meta"
    assert norm(meta(2, 3)).is_meta and norm.running_mean.shape == (3,)


# ---- where new tensors lie ----
def test_contexts_nest():
    with torch.device("meta") as outer:
        assert outer == torch.device("meta") == torch.get_default_device()
        made = [torch.ones(2), torch.tensor([1.0]), torch.as_tensor([1]), torch.arange(3), torch.rand(2)]
        made += [torch.as_tensor(torch.ones(1, device="cpu")), nn.Parameter(), nn.Linear(2, 2).weight]
        assert all(t.is_meta for t in made)
        here = torch.ones(2, device="cpu")
        kept = [here, torch.zeros_like(here), here.new_zeros(3), torch.Tensor(2), torch.FloatTensor(2)]
        kept += [torch.from_numpy(np.ones(2)), torch.get_rng_state(), here.to(torch.float64)]
        assert all(t.is_cpu for t in kept)
        with torch.device("cpu"):
            assert torch.ones(2).is_cpu
            with torch.device("meta"):
                assert torch.ones(2).is_meta
            assert torch.ones(2).is_cpu
        assert torch.ones(2).is_meta
        seen = []
        thread = threading.Thread(target=lambda: seen.append(torch.ones(1).device.type))
        thread.start()
        thread.join()
        assert seen == ["cpu"]
    assert torch.ones(2).is_cpu and torch.get_default_device() == torch.device("cpu")


def test_context_ends_with_an_exception():
    with pytest.raises(ZeroDivisionError), torch.device("meta"):
        raise ZeroDivisionError
    assert torch.ones(1).is_cpu
    with pytest.raises(RuntimeError, match="trying to pop from empty mode stack"):
        torch.device("cpu").__exit__(None, None, None)


def test_default_device():
    try:
        torch.set_default_device("meta:2")
        assert torch.get_default_device() == torch.device("meta", 2) and torch.ones(1).is_meta
        with torch.device("cpu"):
            assert torch.ones(1).is_cpu
        assert torch.zeros(2, out=torch.empty(2, device="cpu")).is_cpu
    finally:
        torch.set_default_device(None)
    assert torch.ones(1).is_cpu and torch.get_default_device() == torch.device("cpu")
    with pytest.raises(RuntimeError, match="device type at start of device string: nope"):
        torch.set_default_device("nope")
    with pytest.raises(TypeError, match="invalid combination"):
        torch.set_default_device(1.5)


def test_file_goes_where_it_says_inside_a_context():
    file = io.BytesIO()
    torch.save(torch.ones(2), file)
    file.seek(0)
    with torch.device("meta"):
        assert torch.load(file).tolist() == [1, 1]
        assert pickle.loads(pickle.dumps(torch.ones(2, device="cpu"))).tolist() == [1, 1]


# ---- torch.device ----
def test_device_object():
    d = torch.device("cuda:3")
    assert (d.type, d.index, str(d), repr(d)) == ("cuda", 3, "cuda:3", "device(type='cuda', index=3)")
    for same in (torch.device("cuda", 3), torch.device(type="cuda", index=3), torch.device(d)):
        assert same == d and hash(same) == hash(d)
    for again in (pickle.loads(pickle.dumps(d)), copy.deepcopy(d), torch.device(device=d)):
        assert again == d
    assert torch.device("cpu") != torch.device("cpu:0") and torch.device("cpu") != "cpu"
    assert repr(torch.device(b"meta")) == "device(type='meta')"
    with pytest.raises(AttributeError):
        d.index = 2
    with pytest.raises(TypeError, match="comparison not implemented"):
        assert d < d


@pytest.mark.parametrize(
    "arguments, error, text",
    [
        (("",), RuntimeError, "Device string must not be empty"),
        ((":1",), RuntimeError, "Invalid device string: ':1'"),
        (("cpu:",), RuntimeError, "Invalid device string: 'cpu:'"),
        (("cpu:01",), RuntimeError, "Invalid device string: 'cpu:01'"),
        (("cpu:-1",), RuntimeError, "Invalid device string: 'cpu:-1'"),
        (("cpu:99999999999",), RuntimeError, "Could not parse device index '99999999999' in device string"),
        (("cpu\0x",), RuntimeError, "Invalid device string"),
        (("CPU",), RuntimeError, "Expected one of cpu, cuda"),
        (("cpu:1", 2), RuntimeError, "must not include an index because index was passed explicitly: cpu:1"),
        (("cpu", -1), RuntimeError, "Device index must not be negative"),
        (("cpu", 10**30), RuntimeError, "Device index must not be"),
        (("cpu", 1.5), TypeError, r"argument 'index' \(position 2\) must be int, not float"),
        (("cpu", True), TypeError, r"argument 'index' \(position 2\) must be int, not bool"),
        ((torch.device("cpu"), 1), TypeError, r"'type' \(position 1\) must be str, not torch.device"),
        ((True,), TypeError, r"got \(bool\), but expected one of"),
        ((), TypeError, r"got \(\), but expected one of"),
    ],
)
def test_device_refuses(arguments, error, text):
    with pytest.raises(error, match=text):
        torch.device(*arguments)
