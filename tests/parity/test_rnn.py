"""Recurrent layers, cells and packed sequences beside PyTorch: all combinations of options."""

import copy
import io
import itertools
import pickle
import warnings

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")
pytest.importorskip("torch.nn.utils.parametrizations")

LIBRARIES = (rushlight, torch)
NEAR = {"float64": 1e-11, "float32": 3e-5, "bfloat16": 5e-2, "float16": 6e-3}
KINDS = {
    "RNN": {},
    "RNN relu": {"nonlinearity": "relu"},
    "LSTM": {},
    "LSTM proj": {"proj_size": 2},
    "GRU": {},
}
FORMS = ("batched", "unbatched", "packed", "unsorted", "empty")


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Small as these are, PyTorch's threads would wait for each other most of the time."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def numbers(t, *shape, dtype="float32", seed=0):
    values = np.random.default_rng([seed, *shape]).standard_normal(shape)
    return t.tensor(values.tolist(), dtype=getattr(t, dtype)).reshape(shape)


def array(value):
    return None if value is None else np.array(value.detach().double().tolist()).reshape(tuple(value.shape))


def assert_close(ours, theirs, dtype="float32", what=""):
    for a, b in zip(ours, theirs, strict=True):
        assert (a is None) == (b is None), what
        if a is not None:
            assert str(a.dtype).split(".")[1] == str(b.dtype).split(".")[1], what
            np.testing.assert_allclose(array(a), array(b), rtol=NEAR[dtype], atol=NEAR[dtype], err_msg=what)


def attempt(call):
    """What a call answers or how it fails, and what it says."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            answer = call()
        except Exception as error:
            answer = type(error).__name__, str(error)
    said = [(w.category.__name__, str(w.message)) for w in said if "oneDNN" not in str(w.message)]
    return repr((answer, said)).replace("rushlight.", "torch.")


def layer(t, kind, *sizes, **options):
    t.manual_seed(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(t.nn, kind.split()[0])(*sizes, **KINDS.get(kind, {}), **options)


def sequence(t, form, batch_first, dtype):
    """An input with 3 elements a step, a leaf beside what is made of it."""
    steps, batch = 4, {"unbatched": 1, "empty": 0}.get(form, 3)
    x = numbers(t, batch, steps, 3, dtype=dtype) if batch_first else numbers(t, steps, batch, 3, dtype=dtype)
    if form == "unbatched":
        x = x.squeeze(0 if batch_first else 1)
    x.requires_grad_()
    if form not in ("packed", "unsorted"):
        return x, x
    lengths, is_sorted = ([4, 2, 2], True) if form == "packed" else ([1, 4, 3], False)
    return x, t.nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first, enforce_sorted=is_sorted)


def states(t, m, form, dtype):
    """Initial states (and cells), which require gradients."""
    rows, batch = m.num_layers * (1 + m.bidirectional), {"unbatched": 1, "empty": 0}.get(form, 3)
    sizes = [m.proj_size or m.hidden_size, *([m.hidden_size] if m.mode == "LSTM" else [])]
    made = [numbers(t, rows, batch, n, dtype=dtype, seed=n) for n in sizes]
    made = [(h.squeeze(1) if form == "unbatched" else h).requires_grad_() for h in made]
    return made, tuple(made) if m.mode == "LSTM" else made[0]


def flat(output, hidden):
    """All tensors of a result."""
    output = [output] if not isinstance(output, tuple) else [p for p in output if p is not None]
    return [*output, *(hidden if isinstance(hidden, tuple) else [hidden])]


def run(t, kind, form, dtype, with_states, sizes, options):
    """Results, gradients, and what the layer says of itself."""
    m = layer(t, kind, *sizes, **options, dtype=getattr(t, dtype))
    leaf, x = sequence(t, form, m.batch_first, dtype)
    leaves, hx = states(t, m, form, dtype) if with_states else ([], None)
    results = flat(*m(x, hx))
    loss = sum((r * r).sum() for r in results if r.requires_grad)
    loss.backward()
    gradients = [p.grad for p in (leaf, *leaves, *m.parameters())]
    said = repr(m), list(m.state_dict()), [tuple(r.shape) for r in results], [r.stride() for r in results]
    return [*results, *gradients, *m.parameters()], said


OPTIONS = [
    dict(zip(("num_layers", "bidirectional", "bias", "batch_first"), values, strict=True))
    for values in itertools.product((1, 2), (False, True), (True, False), (False, True))
]


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_options(kind, form, dtype):
    for i, options in enumerate(OPTIONS if dtype != "bfloat16" else OPTIONS[::3]):
        what = f"{kind} {form} {dtype} {options}"
        (ours, own), (theirs, their) = (
            run(t, kind, form, dtype, i % 3 > 0, (3, 5), options) for t in LIBRARIES
        )
        assert own == their, what
        assert_close(ours, theirs, dtype, what)


@pytest.mark.parametrize("kind", KINDS)
def test_many_units(kind):
    """Several panels and tiles of rows, and what is left of them."""
    for units, batch in ((33, 1), (70, 7), (16, 12)):
        made = []
        for t in LIBRARIES:
            m = layer(t, kind, 3, units, 2, bidirectional=True)
            x = numbers(t, 3, batch, 3).requires_grad_()
            output, _ = m(x)
            (output * output).sum().backward()
            made.append([output, x.grad, *(p.grad for p in m.parameters())])
        assert_close(*made)


@pytest.mark.parametrize("form", ["batched", "packed"])
@pytest.mark.parametrize("kind", KINDS)
def test_dropout_draws_as_theirs(kind, form):
    made = []
    for t in LIBRARIES:
        m = layer(t, kind, 3, 5, 3, dropout=0.4)
        _, x = sequence(t, form, False, "float32")
        t.manual_seed(11)
        training = flat(*m(x))
        made.append([*training, *flat(*m.eval()(x)), t.rand(3)])
    assert_close(*made)


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_second_derivatives(kind):
    made = []
    for t in LIBRARIES:
        m = layer(t, kind, 3, 4, 2, bidirectional=True, dtype=t.float64)
        _, x = sequence(t, "packed", False, "float64")
        leaf = x.data.detach().requires_grad_()
        with torch.backends.mkldnn.flags(enabled=False):  # its kernels have no second derivative
            output = m(t.nn.utils.rnn.PackedSequence(leaf, x.batch_sizes))[0].data
        first = t.autograd.grad((output**3).sum(), [leaf, *m.parameters()], create_graph=True)
        sum((g * g).sum() for g in first).backward()
        made.append([leaf.grad, *(p.grad for p in m.parameters())])
    assert_close(*made, "float64")


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize("cell", ["RNNCell", "RNNCell relu", "LSTMCell", "GRUCell"])
def test_cells(cell, dtype, bias):
    made, said = [], []
    for t in LIBRARIES:
        t.manual_seed(1)
        more = {"nonlinearity": "relu"} if cell.endswith("relu") else {}
        m = getattr(t.nn, cell.split()[0])(3, 5, bias, dtype=getattr(t, dtype), **more)
        said.append((repr(m), list(m.state_dict()), m.bias_ih is None))
        results = []
        for shape in ((2, 3), (3,), (0, 3)):
            x = numbers(t, *shape, dtype=dtype).requires_grad_()
            once = m(x)
            twice = m(x, once)
            results += [*(twice if isinstance(twice, tuple) else [twice]), x]
        sum((r.float() ** 2).sum() for r in results).backward()
        made.append([r if r.grad_fn else r.grad for r in results] + [p.grad for p in m.parameters()])
    assert said[0] == said[1]
    assert_close(*made, dtype)


# ---- files and copies ----
def through_file(value, source, target, **options):
    buffer = io.BytesIO()
    source.save(value, buffer)
    buffer.seek(0)
    return target.load(buffer, **options)


@pytest.mark.parametrize("kind", [*KINDS, "LSTMCell", "GRUCell"])
def test_files_go_both_ways(kind):
    """Whole layers as well as their states."""
    options = {} if kind.endswith("Cell") else {"num_layers": 2, "bidirectional": True}
    theirs = layer(torch, kind, 3, 5, **options)
    here = through_file(theirs, torch, rushlight, weights_only=False)
    back = through_file(here, rushlight, torch, weights_only=False)
    assert (type(here), type(back)) == tuple(getattr(t.nn, kind.split()[0]) for t in LIBRARIES)
    x = [numbers(t, *((2, 3) if kind.endswith("Cell") else (4, 2, 3))) for t in LIBRARIES]
    expected = theirs(x[1])
    tensors = (lambda r: flat(*r)) if isinstance(expected, tuple) else (lambda r: [r])
    assert_close(tensors(here(x[0])), tensors(expected))
    assert_close(tensors(back(x[1])), tensors(expected))
    other = layer(torch, kind, 3, 5, **options)
    with torch.no_grad():
        for p in other.parameters():
            p.zero_()
    other.load_state_dict(through_file(here.state_dict(), rushlight, torch))
    assert_close(here.parameters(), other.parameters())


def test_copies_have_their_own_weights():
    for make in (copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))):
        m = layer(rushlight, "LSTM", 3, 5)
        twin = make(m)
        with rushlight.no_grad():
            twin.weight_ih_l0.zero_()
        x = numbers(rushlight, 4, 2, 3)
        assert not rushlight.equal(m(x)[0], twin(x)[0])
        assert [list(map(id, w)) for w in twin.all_weights] == [list(map(id, twin._flat_weights))]


# ---- scripts that answer in both libraries ----
def scripts():
    def parametrized(t):
        m = layer(t, "GRU", 3, 4)
        t.nn.utils.parametrizations.weight_norm(m, "weight_hh_l0")
        output = m(numbers(t, 4, 2, 3))[0]
        output.sum().backward()
        return [output, m.parametrizations.weight_hh_l0.original1.grad]

    def functional_call(t):
        m = layer(t, "LSTM", 3, 4)
        other = {name: numbers(t, *p.shape) for name, p in m.state_dict().items()}
        x = numbers(t, 4, 2, 3)
        return [t.func.functional_call(m, other, (x,))[0], m(x)[0]]

    def replaced(t):
        m = layer(t, "RNN", 3, 4)
        m.weight_ih_l0 = t.nn.Parameter(numbers(t, 4, 3))
        return [m(numbers(t, 4, 2, 3))[0], m._flat_weights[0], m.double().weight_ih_l0, m._flat_weights[0]]

    def half_and_back(t):
        m = layer(t, "LSTM", 3, 4).to(t.bfloat16)
        return [m(numbers(t, 4, 2, 3, dtype="bfloat16"))[0].float() * 0, m._flat_weights[0]]

    def autocast(t):
        made = []
        for kind in ("RNN", "LSTM", "GRU"):
            m = layer(t, kind, 3, 4)
            with t.autocast("cpu", t.bfloat16):
                made += flat(*m(numbers(t, 4, 2, 3)))
        return [m.to(t.float32) * 0 if m.dtype == t.bfloat16 else m * 0 for m in made]

    def packing(t):
        u = t.nn.utils.rnn
        x = numbers(t, 4, 3, 2).requires_grad_()
        p = u.pack_padded_sequence(x, [1, 4, 2], enforce_sorted=False)
        padded, lengths = u.pad_packed_sequence(p, True, -1.0, 6)
        (padded**2).sum().backward()
        q = u.pack_sequence([numbers(t, 3, 2), numbers(t, 1, 2)])
        parts = u.unpack_sequence(p)
        return [*p, padded, lengths, x.grad, *q[:2], *q.double()[:2], *parts, u.invert_permutation(p[2])]

    def packed_of_others(t):
        u = t.nn.utils.rnn
        p = u.pack_sequence([t.tensor([1, 2, 3]), t.tensor([4])])
        whole = u.pad_packed_sequence(p)
        return [*p[:2], *whole, *p.to(t.float64)[:2], p.float().data, p.byte().data, p.cpu().data]

    return {name: f for name, f in locals().items() if callable(f)}


@pytest.mark.parametrize("name", scripts())
def test_scripts(name):
    script = scripts()[name]
    assert_close(*(script(t) for t in LIBRARIES), "bfloat16" if name == "autocast" else "float32")


def bad_calls(t):
    """Calls that fail or warn, or whose answers are plain."""
    nn, z, u = t.nn, t.zeros, t.nn.utils.rnn
    for kind in ("RNN", "LSTM", "GRU"):
        make = getattr(nn, kind)
        m, first = make(3, 4), make(3, 4, batch_first=True)
        for arguments in (
            *((0, 4), (3, 0), (3, 4, 0), (3.0, 4), (3, 4.0), (3,), ()),
            *((3, 4, 1, "tanh", 1), (3, 4, 2, 1)),
        ):
            yield lambda make=make, a=arguments: repr(make(*a))
        for named in (
            {"dropout": 2},
            {"dropout": True},
            {"dropout": "x"},
            {"dropout": 0.5},
            {"bias": 1},
            {"batch_first": 1},
            {"proj_size": 2},
            {"proj_size": 4},
            {"proj_size": -1},
            {"nonlinearity": "elu"},
            {"bidirectional": 1},
        ):
            yield lambda make=make, n=named: repr(make(3, 4, **n))
        pair = (lambda *s: (z(*s), z(*s))) if kind == "LSTM" else z
        for x, hx in (
            (z(3), None),
            (z(2, 3, 4, 5), None),
            (z(5, 2, 2), None),
            (z(5, 2, 3).double(), None),
            (z(5, 2, 3), pair(1, 2, 5)),
            (z(5, 2, 3), pair(2, 2, 4)),
            (z(5, 2, 3), pair(2, 4)),
            (z(5, 3), pair(1, 1, 4)),
            (z(5, 3), pair(1, 5)),
            (z(0, 2, 3), None),
        ):
            yield lambda m=m, x=x, hx=hx: [r.shape for r in flat(*m(x, hx))]
            yield lambda m=first, x=x, hx=hx: [r.shape for r in flat(*m(x, hx))]
        p = u.pack_sequence([z(3, 3), z(1, 3)])
        if kind != "LSTM":
            yield lambda m=m, p=p: m(p, z(1, 3, 4))
            yield lambda m=m: m(u.pack_sequence([z(3, 2)]))  # LSTM reads other memory there
        yield lambda m=m: m.check_hidden_size(z(2), (3,), "have {} {}")
        yield lambda m=m: m.get_expected_hidden_size(z(5, 2, 3), None)
        yield lambda m=m: m.extra_repr()
        yield lambda m=m: (m.flatten_parameters(), m._flat_weights_names, m._all_weights)
        yield lambda m=m: sorted(m.__dict__), m.__constants__
        yield lambda m=m: sorted(m.__getstate__())
    for mode in ("LSTM", "x"):
        yield lambda mode=mode: repr(nn.RNNBase(mode, 2, 3))
    yield lambda: repr(nn.LSTM(2, 4, 3, False, True, 0.25, True, 2))
    yield lambda: nn.modules.rnn.apply_permutation(z(2, 2), t.tensor([1, 0])).shape
    for kind in ("RNNCell", "LSTMCell", "GRUCell"):
        m = getattr(nn, kind)(3, 4)
        pair = (lambda *s: (z(*s), z(*s))) if kind == "LSTMCell" else z
        for x, hx in (
            (z(2, 3, 4), None),
            (z(()), None),
            (z(2, 5), None),
            (z(2, 3), pair(2, 5)),
            (z(2, 3), pair(3, 4)),
            (z(2, 3), pair(1, 2, 4)),
            (z(3), pair(1, 4)),
        ):
            yield lambda m=m, x=x, hx=hx: m(x, hx)
    yield lambda: nn.RNNCell(3, 4, nonlinearity="elu")(z(2, 3))
    for lengths in ([4], [4, 0], [2, 4], [4, 3, 2], [9, 4], t.tensor([4.0, 2.0]), t.tensor([[4, 2]])):
        yield lambda n=lengths: tuple(u.pack_padded_sequence(z(4, 2, 1), n)[1].tolist())
    yield lambda: u.pack_padded_sequence(z(0, 2), [1, 1])
    yield lambda: u.pad_packed_sequence(u.pack_sequence([z(3)]), total_length=2)
    yield lambda: u.pack_sequence([z(1), z(3)])
    yield lambda: u.PackedSequence(z(2))
    yield lambda: u.PackedSequence((z(2), t.tensor([1, 1])))[1].tolist()
    yield lambda: u.PackedSequence._fields, u.PackedSequence.__mro__[1].__name__
    yield lambda: (u.pack_sequence([z(3)]).is_cuda, u.pack_sequence([z(3)]).is_pinned())
    yield lambda: repr(u.pack_sequence([z(2), z(1)]))
    yield lambda: u.pack_sequence([z(3)]).double().float() is not None


def test_texts():
    for i, (ours, theirs) in enumerate(zip(*(list(bad_calls(t)) for t in LIBRARIES), strict=True)):
        if isinstance(ours, tuple):
            assert [attempt(c) if callable(c) else c for c in ours] == [
                attempt(c) if callable(c) else c for c in theirs
            ]
        else:
            assert attempt(ours) == attempt(theirs), i
