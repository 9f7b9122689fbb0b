"""L-BFGS, Muon, Adafactor and SparseAdam with each option beside PyTorch's: the same gradients give the same
parameters and state, state goes from one library to the other, errors and texts are the same."""

import io
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")
SHAPES = [(4, 3), (3, 5), (1, 1), (2, 3, 4), (5,), ()]
MATRICES = SHAPES[:3]
LIMITS = {"float32": 1e-6, "float64": 1e-12}

# optimizers that take any gradients: (name, shapes, options)
STEPS = [
    ("Adafactor", SHAPES, {}),
    ("Adafactor", SHAPES, {"lr": 0.5, "weight_decay": 0.1, "maximize": True}),
    ("Adafactor", SHAPES, {"eps": (1e-3, 0.1), "d": 1.5, "beta2_decay": -0.5}),
    ("Adafactor", SHAPES, {"foreach": True, "lr": "tensor"}),
    ("Muon", MATRICES, {}),
    ("Muon", MATRICES, {"lr": 0.1, "nesterov": False, "momentum": 0.5}),
    ("Muon", MATRICES, {"adjust_lr_fn": "match_rms_adamw", "weight_decay": 0.5, "ns_steps": 3}),
    (
        "Muon",
        MATRICES,
        {"adjust_lr_fn": "original", "ns_coefficients": (2, -1.5, 0.5), "eps": 0.1, "lr": "tensor"},
    ),
]
IDS = [f"{name} {options}" for name, _, options in STEPS]


def in_own_dtype(t):
    """Muon's orthogonalisation without bfloat16, in whose rounding two libraries differ."""

    def orthogonal(grad, coefficients, steps, eps):
        a, b, c = coefficients
        x = grad.T if grad.size(0) > grad.size(1) else grad
        x = x / x.norm().clamp(min=eps)
        for _ in range(steps):
            gram = x @ x.T
            x = a * x + (b * gram + c * gram @ gram) @ x
        return x.T if grad.size(0) > grad.size(1) else x

    return orthogonal


@pytest.fixture
def precise(monkeypatch):
    for t in (rushlight, torch):
        module = __import__(f"{t.__name__}.optim._muon", fromlist=["Muon"])
        monkeypatch.setattr(module, "_zeropower_via_newtonschulz", in_own_dtype(t))


def parameters(t, shapes, dtype):
    rng = np.random.default_rng(0)
    return [t.nn.Parameter(t.tensor(rng.normal(size=s), dtype=getattr(t, dtype))) for s in shapes]


def give_gradients(t, params, step):
    rng = np.random.default_rng(step + 1)
    for i, p in enumerate(params):
        values = rng.normal(size=tuple(p.shape))
        p.grad = None if (step + i) % 7 == 6 else t.tensor(values, dtype=p.dtype)


def make(t, name, params, options):
    options = {k: t.tensor(0.02) if v == "tensor" else v for k, v in options.items()}
    return getattr(t.optim, name)(params, **options)


def steps(t, params, optimizer, first, last):
    for step in range(first, last):
        give_gradients(t, params, step)
        optimizer.step()


def numbers(value):
    """Tensors as (dtype, values); counts and lists as they are."""
    if isinstance(value, dict):
        return {k: numbers(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [numbers(v) for v in value]
    if hasattr(value, "tolist"):
        return str(value.dtype).partition(".")[2], value.tolist()
    return type(value).__name__, value


def same(ours, theirs, limit):
    if isinstance(ours, dict):
        assert list(ours) == list(theirs)
        for key in ours:
            same(ours[key], theirs[key], limit)
    elif isinstance(ours, (list, tuple)):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            same(a, b, limit)
    elif isinstance(ours, float):
        np.testing.assert_allclose(ours, theirs, rtol=limit, atol=limit)
    else:
        assert ours == theirs


@pytest.mark.parametrize("dtype", LIMITS)
@pytest.mark.parametrize("name, shapes, options", STEPS, ids=IDS)
def test_twenty_steps(name, shapes, options, dtype, precise):
    outcomes = []
    for t in (rushlight, torch):
        params = parameters(t, shapes, dtype)
        optimizer = make(t, name, params, options)
        steps(t, params, optimizer, 0, 20)
        outcomes.append((numbers(params), numbers(optimizer.state_dict()), repr(optimizer)))
    same(outcomes[0][0], outcomes[1][0], LIMITS[dtype])
    same(outcomes[0][1], outcomes[1][1], 10 * LIMITS[dtype])
    assert outcomes[0][2] == outcomes[1][2]


@pytest.mark.parametrize("name, shapes, options", STEPS, ids=IDS)
@pytest.mark.parametrize("first, second", [(rushlight, torch), (torch, rushlight)])
def test_state_goes_from_one_to_the_other(name, shapes, options, first, second, precise):
    file = io.BytesIO()
    params = parameters(first, shapes, "float64")
    optimizer = make(first, name, params, options)
    steps(first, params, optimizer, 0, 5)
    first.save([optimizer.state_dict(), [p.detach() for p in params]], file)
    steps(first, params, optimizer, 5, 10)
    file.seek(0)
    state, values = second.load(file)
    others = [second.nn.Parameter(v) for v in values]
    optimizer = make(second, name, others, options)
    optimizer.load_state_dict(state)
    steps(second, others, optimizer, 5, 10)
    same(numbers(params), numbers(others), 1e-10)


@pytest.mark.parametrize("name, shapes, options", STEPS, ids=IDS)
def test_a_training_loop(name, shapes, options, precise):
    def train(t):
        nn, (first, second, bias) = t.nn, parameters(t, [(8, 5), (3, 8), (3,)], "float64")
        trained = [first, second] if shapes is MATRICES else [first, second, bias]
        optimizer = make(t, name, trained, options)
        x = t.tensor(np.random.default_rng(1).normal(size=(16, 5)))
        y, losses = t.arange(16) % 3, []
        for _ in range(30):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy((x @ first.T).relu() @ second.T + bias, y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    same(train(rushlight), train(torch), 1e-9)


def test_functional_forms(precise):
    def muon(t):
        params, grads, means = (parameters(t, MATRICES, "float64") for _ in range(3))
        module = __import__(f"{t.__name__}.optim._muon", fromlist=["muon"])
        numbers_ = dict(
            lr=0.1, weight_decay=0.1, momentum=0.8, ns_coefficients=(3, -3, 1), ns_steps=2, eps=1e-7
        )
        with t.no_grad():
            module.muon(params, grads, means, nesterov=True, adjust_lr_fn=None, has_complex=False, **numbers_)
        return numbers([params, means])

    def adafactor(t):
        params, grads = (parameters(t, [(2, 3), (4,)], "float64") for _ in range(2))
        rows, columns = [t.ones(2, 1, dtype=t.float64), None], [t.ones(1, 3, dtype=t.float64), None]
        squares, counts = [None, t.ones(4, dtype=t.float64)], [t.tensor(2.0), t.tensor(7.0)]
        module = __import__(f"{t.__name__}.optim._adafactor", fromlist=["adafactor"])
        options = dict(d=1.0, lr=0.1, beta2_decay=-0.7, weight_decay=0.1, eps1=None, eps2=1e-3, maximize=True)
        with t.no_grad():
            module.adafactor(params, grads, rows, columns, squares, counts, **options)
        return numbers([params, rows[:1], columns[:1], squares[1:], counts])

    for function in (muon, adafactor):
        same(function(rushlight), function(torch), 1e-12)


# ---- Muon in bfloat16 ----
@pytest.mark.parametrize("shape", [(40, 24), (24, 40), (33, 33)])
def test_muon_as_it_is(shape):
    updates = []
    for t in (rushlight, torch):
        params = parameters(t, [shape], "float32")
        before = params[0].detach().clone()
        optimizer = t.optim.Muon(params, lr=0.1)
        steps(t, params, optimizer, 0, 3)
        updates.append(np.array((params[0].detach() - before).tolist()))
    assert np.linalg.norm(updates[0] - updates[1]) < 0.02 * np.linalg.norm(updates[1])


def test_muon_orthogonalizes():
    for t in (rushlight, torch):
        module = __import__(f"{t.__name__}.optim._muon", fromlist=["Muon"])
        x = module._zeropower_via_newtonschulz(
            parameters(t, [(6, 4)], "float32")[0].detach(), (3, -3.2, 1.2), 12, 1e-7
        )
        assert x.dtype == t.bfloat16 and x.shape == (6, 4)
        assert np.allclose((x.T @ x).tolist(), np.eye(4), atol=0.1)


# ---- L-BFGS ----
WOLFE = {"line_search_fn": "strong_wolfe"}
LINES = [
    {"lr": 0.1},
    {"lr": 0.02, "max_iter": 4, "history_size": 2},
    {"lr": 0.1, "max_eval": 3},
    {"lr": 0.1, "max_iter": 1},
    {"lr": "tensor", "tolerance_change": 0.05},
    {"lr": 0.1, "tolerance_grad": 0.5},
    WOLFE,
    {**WOLFE, "history_size": 3, "max_iter": 7},
    {**WOLFE, "lr": 40, "max_eval": 9},
    {**WOLFE, "lr": 1e-3, "max_iter": 3},
    {**WOLFE, "max_eval": 1},
    {"lr": 0.1, "max_iter": 0},
]


def valley(t, x, y):
    """Rosenbrock's function, curved in y."""
    return ((1 - x) ** 2).sum() + (20 * (y - x[0] * x[1]) ** 2).sum() + (y**4).sum() / 10


def descend(t, options, dtype, n):
    x, y = (
        t.nn.Parameter(t.tensor(values, dtype=getattr(t, dtype)))
        for values in ([-1.2, 1.0], [[0.5, 2.0], [1.0, -1.0]])
    )
    optimizer = make(t, "LBFGS", [x, y], options)
    losses = []

    def closure():
        optimizer.zero_grad()
        loss = valley(t, x, y)
        loss.backward()
        losses.append(loss.item())
        return loss

    returned = [optimizer.step(closure).item() for _ in range(n)]
    return losses, returned, numbers([x, y]), numbers(optimizer.state_dict()), repr(optimizer)


@pytest.mark.parametrize("options", LINES, ids=str)
def test_lbfgs_follows_the_same_path(options):
    ours, theirs = (descend(t, options, "float64", 4) for t in (rushlight, torch))
    same(ours[:3], theirs[:3], 1e-9)
    same(ours[3], theirs[3], 1e-7)
    assert ours[4] == theirs[4]


def test_lbfgs_state_goes_on():
    for first, second in ((rushlight, torch), (torch, rushlight)):
        weights = [first.nn.Parameter(first.tensor([-1.2, 1.0], dtype=first.float64))]

        def train(t, params, optimizer):
            def closure():
                optimizer.zero_grad()
                loss = ((1 - params[0][0]) ** 2 + 10 * (params[0][1] - params[0][0] ** 2) ** 2) * 1
                loss.backward()
                return loss

            for _ in range(3):
                optimizer.step(closure)

        optimizer = first.optim.LBFGS(weights, lr=0.1, max_iter=3)
        train(first, weights, optimizer)
        file = io.BytesIO()
        first.save([optimizer.state_dict(), weights[0].detach()], file)
        train(first, weights, optimizer)
        file.seek(0)
        state, values = second.load(file)
        others = [second.nn.Parameter(values)]
        optimizer = second.optim.LBFGS(others, lr=0.1, max_iter=3)
        optimizer.load_state_dict(state)
        train(second, others, optimizer)
        same(numbers(weights), numbers(others), 1e-9)


# ---- errors and texts, optim_cases.txt: p is a matrix, v a vector, with gradients ----
CASES = Path(__file__).with_name("optim_cases.txt").read_text().splitlines()


@pytest.mark.parametrize("case", CASES)
def test_same(case):
    def answer(t):
        modules = ("_muon", "_adafactor", "lbfgs", "sparse_adam", "_functional")
        scope = {
            name: __import__(f"{t.__name__}.optim.{module}", fromlist=["x"])
            for name, module in zip("mflsF", modules, strict=True)
        }
        p, v = (
            t.nn.Parameter(t.tensor([[0.5, -2.0], [1.0, 3.0], [2.0, 2.5]])),
            t.nn.Parameter(t.tensor([1.0, 2.0])),
        )
        p.grad, v.grad = t.tensor([[1.0, 0.5], [-0.25, 1.0], [0.5, 0.125]]), t.tensor([0.5, -1.0])
        scope |= {"torch": t, "o": t.optim, "p": p, "v": v}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                result = repr(eval(case, scope))
            except Exception as error:
                assert not isinstance(error, (SyntaxError, NameError))
                result = f"{type(error).__name__}: {error}"
        return re.sub(" at 0x[0-9a-f]+", "", result).replace("rushlight", "torch")

    assert answer(rushlight) == answer(torch)
