"""Optimizers of both libraries: 20 steps with the same gradients, whole loops, state, texts."""

import copy
import io
import pickle
import warnings

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")
LIBRARIES = (torch, rushlight)

COMMON = ({}, {"maximize": True, "foreach": False}, {"lr": 0.03})
ADAM = (
    {"amsgrad": True, "betas": (0.5, 0.7), "eps": 1e-3},
    {"weight_decay": 0.1, "amsgrad": True, "maximize": True},
    {"fused": True, "lr": 0.01, "weight_decay": 0.02},
)
OPTIONS = {
    "SGD": (
        {"momentum": 0.9},
        {"momentum": 0.9, "dampening": 0.2},
        {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1, "maximize": True},
        {"fused": True, "weight_decay": 0.1},
    ),
    "Adam": (*ADAM, {"decoupled_weight_decay": True, "weight_decay": 0.1}),
    "AdamW": ADAM,
    "Adamax": ({"weight_decay": 0.1, "betas": (0.3, 0.8), "eps": 1e-3},),
    "NAdam": (
        {"weight_decay": 0.1, "momentum_decay": 0.1},
        {"weight_decay": 0.1, "decoupled_weight_decay": True},
    ),
    "RAdam": (
        {"weight_decay": 0.1, "betas": (0.9, 0.9)},
        {"weight_decay": 0.1, "decoupled_weight_decay": True},
    ),
    "RMSprop": (
        {"momentum": 0.5},
        {"centered": True, "alpha": 0.3},
        {"centered": True, "momentum": 0.9, "weight_decay": 0.1},
    ),
    "Rprop": ({"etas": (0.3, 1.7), "step_sizes": (1e-3, 0.1)},),
    "Adagrad": (
        {"lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.3, "eps": 0.01},
        {"fused": True},
    ),
    "Adadelta": ({"weight_decay": 0.1, "rho": 0.5, "lr": 0.3, "eps": 1e-3},),
    "ASGD": ({"weight_decay": 0.1, "t0": 4}, {"t0": 2, "lambd": 0.1, "alpha": 0.3}),
}
CASES = [(name, options) for name, own in OPTIONS.items() for options in (*COMMON, *own)]
SHAPES = [(5, 4), (7,), (), (3, 0), (2, 3, 33)]


def parameters(t, dtype):
    rng = np.random.default_rng(0)
    made = [t.nn.Parameter(t.tensor(rng.normal(size=shape)).to(getattr(t, dtype))) for shape in SHAPES]
    return [*made, t.nn.Parameter(t.tensor(rng.normal(size=(4, 6))).to(getattr(t, dtype)).t())]


def is_fused(options):
    """PyTorch's fused steps take no lists with gaps, and read transposed parameters as they lie in memory."""
    return "fused" in options


def give_gradients(t, params, step, skip=True):
    rng = np.random.default_rng(1000 + step)
    for i, p in enumerate(params):
        gradient = t.tensor(rng.normal(size=tuple(p.shape))).to(p.dtype)
        p.grad = None if skip and i == 1 and step in (0, 5) else gradient


def made(t, name, params, options):
    """The optimizer; a text among the options is an expression that makes a tensor."""
    options = {key: eval(value, {"t": t}) if type(value) is str else value for key, value in options.items()}
    return getattr(t.optim, name)(params, **options)


def stepped(t, name, options, dtype, steps=20):
    params = parameters(t, dtype)[: -1 if is_fused(options) else None]
    optimizer = made(t, name, params, options)
    for step in range(steps):
        give_gradients(t, params, step, skip=not is_fused(options))
        optimizer.step()
    return params, optimizer


def as_numbers(x):
    return x.detach().double().numpy()


def same_state(theirs, ours, limit):
    """Equal keys in one order, equal kinds of values; tensors within the limit."""
    if isinstance(theirs, torch.Tensor):
        assert (str(theirs.dtype), theirs.shape) == (str(ours.dtype), ours.shape)
        np.testing.assert_allclose(as_numbers(ours), as_numbers(theirs), rtol=limit, atol=limit)
    elif isinstance(theirs, dict):
        assert list(theirs) == list(ours)
        for key in theirs:
            same_state(theirs[key], ours[key], limit)
    elif isinstance(theirs, list | tuple):
        assert type(theirs) is type(ours) and len(theirs) == len(ours)
        for a, b in zip(theirs, ours, strict=True):
            same_state(a, b, limit)
    else:
        assert type(theirs) is type(ours) and theirs == ours


@pytest.mark.parametrize("dtype, limit", [("float32", 1e-6), ("float64", 1e-12)])
@pytest.mark.parametrize("name, options", CASES, ids=str)
def test_twenty_steps(name, options, dtype, limit):
    (theirs, their_optimizer), (ours, our_optimizer) = (stepped(t, name, options, dtype) for t in LIBRARIES)
    for a, b in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(as_numbers(b), as_numbers(a), rtol=0, atol=limit)
    same_state(their_optimizer.state_dict(), our_optimizer.state_dict(), 10 * limit)
    assert repr(our_optimizer) == repr(their_optimizer)


TENSORS = [(name, {"lr": "t.tensor(0.01)"}) for name in OPTIONS] + [
    ("Adam", {"lr": "t.tensor([0.01])", "betas": "(t.tensor(0.9), t.tensor([0.99]))"}),
    ("AdamW", {"lr": "t.tensor(0.01)", "weight_decay": 0.1}),
]


@pytest.mark.parametrize("name, options", TENSORS, ids=str)
def test_rates_that_are_tensors(name, options):
    (theirs, _), (ours, optimizer) = (stepped(t, name, options, "float32") for t in LIBRARIES)
    for a, b in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(as_numbers(b), as_numbers(a), rtol=0, atol=1e-6)
    assert isinstance(optimizer.param_groups[0]["lr"], rushlight.Tensor)


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("dtype, limit", [("float16", 5e-3), ("bfloat16", 5e-2)])
def test_halves_and_other_counts(name, dtype, limit):
    """Halves by separate operators, and the counts of steps as doubles where that is the default dtype."""
    for t in LIBRARIES:
        t.set_default_dtype(t.float64)
    try:
        (theirs, their_optimizer), (ours, our_optimizer) = (stepped(t, name, {}, dtype, 5) for t in LIBRARIES)
    finally:
        for t in LIBRARIES:
            t.set_default_dtype(t.float32)
    for a, b in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(as_numbers(b), as_numbers(a), rtol=limit, atol=limit)
    states = [x.state_dict()["state"].get(0, {}) for x in (their_optimizer, our_optimizer)]
    assert len({str({key: str(value.dtype) for key, value in state.items()}) for state in states}) == 1


# ---- whole loops ----
def loop(t, name, options, steps, start=None, state=None):
    """Train a small net in float64; answers the losses, the net and the optimizer."""
    rng = np.random.default_rng(5)
    x, y = t.tensor(rng.normal(size=(32, 6))), t.tensor(rng.normal(size=(32, 2)))
    net = t.nn.Sequential(t.nn.Linear(6, 8), t.nn.Tanh(), t.nn.Linear(8, 2)).double()
    with t.no_grad():
        for p in net.parameters():
            p.copy_(t.tensor(rng.normal(size=tuple(p.shape)) * 0.3))
    if start:
        net.load_state_dict(start)
    groups = [{"params": net[0].parameters(), "lr": 0.02}, {"params": net[2].parameters()}]
    optimizer = made(t, name, groups, {"lr": 0.01} | options)
    if state:
        optimizer.load_state_dict(state)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, net, optimizer


def handed_over(model, optimizer, t):
    """What the other library saves, opened by this one."""
    other = torch if t is rushlight else rushlight
    file = io.BytesIO()
    other.save([model.state_dict(), optimizer.state_dict()], file)
    file.seek(0)
    return t.load(file)


@pytest.mark.parametrize("name", OPTIONS)
def test_a_loop_and_its_state_in_the_other_library(name):
    options = OPTIONS[name][0]
    (theirs, *their_end), (ours, *our_end) = (loop(t, name, options, 20) for t in LIBRARIES)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=0)
    whole = loop(rushlight, name, options, 30)[0]
    for t, end in ((torch, our_end), (rushlight, their_end)):
        start, state = handed_over(*end, t)
        np.testing.assert_allclose(loop(t, name, options, 10, start, state)[0], whole[20:], rtol=1e-9, atol=0)


@pytest.mark.parametrize(
    "name", ["Adam", "AdamW", "SGD", "Adagrad", "RMSprop", "NAdam", "RAdam", "ASGD", "Adadelta"]
)
def test_a_gradient_goes_through_the_steps(name):
    """differentiable: parameters that are no leaves, the gradient by where they began."""

    def run(t):
        start = t.tensor([0.5, -1.5, 2.0], dtype=t.float64, requires_grad=True)
        param = start.clone()
        optimizer = made(t, name, [param], {"lr": 0.1, "differentiable": True, "weight_decay": 0.1})
        for _ in range(3):
            param.grad = t.cos(param.clone() * start)
            optimizer.step()
        param.square().sum().backward()
        return as_numbers(param), as_numbers(start.grad)

    limit = 1e-6 if name == "NAdam" else 1e-9  # its mu_product is a float32
    for a, b in zip(run(torch), run(rushlight), strict=True):
        np.testing.assert_allclose(b, a, rtol=limit)


def test_a_gradient_by_the_rate():
    def run(t, name, **options):
        lr = t.tensor(0.1, dtype=t.float64, requires_grad=True)
        start = t.tensor([0.5, -1.5], dtype=t.float64, requires_grad=True)
        param = start.clone()
        optimizer = getattr(t.optim, name)([param], lr=lr, differentiable=True, **options)
        for _ in range(2):
            param.grad = param.clone() * start
            optimizer.step()
        param.sum().backward()
        return as_numbers(lr.grad)

    for name, options in (("SGD", {}), ("Adam", {}), ("AdamW", {"weight_decay": 0.1})):
        np.testing.assert_allclose(run(rushlight, name, **options), run(torch, name, **options), rtol=1e-9)


# ---- functions ----
RATES = dict(lr=0.1, weight_decay=0.1)
MOMENTS = dict(RATES, beta1=0.9, beta2=0.99, eps=1e-3)
FUNCTIONS = {
    "adam": (
        "exp_avgs exp_avg_sqs max_exp_avg_sqs state_steps",
        dict(MOMENTS, amsgrad=True, maximize=False),
    ),
    "adamw": (
        "exp_avgs exp_avg_sqs max_exp_avg_sqs state_steps",
        dict(MOMENTS, amsgrad=False, maximize=True),
    ),
    "sgd": (
        "momentum_buffer_list",
        dict(RATES, momentum=0.9, dampening=0.1, nesterov=False, maximize=False),
    ),
    "adagrad": ("state_sums state_steps", dict(RATES, lr_decay=0.1, eps=1e-3, maximize=False)),
    "adadelta": ("square_avgs acc_deltas state_steps", dict(RATES, rho=0.9, eps=1e-6, maximize=False)),
    "adamax": ("exp_avgs exp_infs state_steps", MOMENTS),
    "nadam": ("exp_avgs exp_avg_sqs mu_products state_steps", dict(MOMENTS, momentum_decay=0.1)),
    "radam": ("exp_avgs exp_avg_sqs state_steps", MOMENTS),
    "rmsprop": (
        "square_avgs grad_avgs momentum_buffer_list state_steps",
        dict(RATES, alpha=0.9, eps=1e-8, momentum=0.5, centered=True),
    ),
    "rprop": (
        "prevs step_sizes state_steps",
        dict(step_size_min=1e-3, step_size_max=1, etaminus=0.5, etaplus=1.2),
    ),
    "asgd": ("axs mus etas state_steps", dict(RATES, lambd=0.1, t0=1, alpha=0.75)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functional_forms(name):
    from importlib import import_module

    lists, options = FUNCTIONS[name]

    def run(t):
        rng = np.random.default_rng(0)
        params, grads = ([t.tensor(rng.normal(size=s)) for s in SHAPES] for _ in range(2))
        state = []
        for kind in lists.split():
            single = kind in ("state_steps", "mus", "etas", "mu_products")
            state.append([t.ones(()) if single else t.tensor(rng.uniform(size=s)) for s in SHAPES])
        function = getattr(import_module(f"{t.__name__}.optim.{name}"), name)
        for _ in range(3):
            function(params, grads, *state, **options)
        return [as_numbers(x) for x in params + sum(state, [])]

    for a, b in zip(run(torch), run(rushlight), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-6, atol=1e-12)


# ---- what is refused, and what is said ----
TEXTS = """
optim.Adam([])
optim.Adam(P)
optim.Adam([P], lr=-1)
optim.Adam([P], betas=(1.0, 0.9))
optim.Adam([P], betas=(0.9, -0.1))
optim.Adam([P], betas=(0, 0.9))
optim.Adam([P], eps=-1)
optim.Adam([P], weight_decay=-1)
optim.Adam([P], lr=t.tensor([0.1, 0.2]))
optim.Adam([P], lr=t.tensor(0.1), foreach=True)
optim.Adam([P], betas=(t.tensor(0.9), 0.9))
optim.Adam([P], betas=(t.tensor(0.9), t.tensor(0.9)), foreach=True)
optim.Adam([P], betas=(t.tensor(0.9), t.tensor([0.9, 0.8])))
optim.Adam([P], fused=True, foreach=True)
optim.Adam([P], fused=True, differentiable=True)
step(optim.Adam([P], capturable=True))
step(optim.NAdam([P], capturable=True))
step(optim.ASGD([P], capturable=True))
step(optim.Adam([t.nn.Parameter(t.ones(2))], lr=t.tensor(0.1)))
optim.SGD([P], lr=-1)
optim.SGD([P], momentum=-1)
optim.SGD([P], weight_decay=-1)
optim.SGD([P], nesterov=True)
optim.SGD([P], lr=0.1, momentum=0.9, dampening=0.1, nesterov=True)
optim.SGD([P], fused=True, foreach=True)
optim.SGD([P, P], lr=0.1)
optim.SGD([(1, P), P], lr=0.1)
optim.SGD([{"params": [P]}, {"params": [P]}], lr=0.1)
optim.SGD({P}, lr=0.1)
optim.SGD([{"params": {P}}], lr=0.1)
optim.SGD([P * 2], lr=0.1)
optim.SGD([1.0], lr=0.1)
optim.SGD(["a"], lr=0.1)
optim.SGD([("w", P)], lr=0.1)
optim.SGD([("w", P)], lr=0.1).state_dict()
optim.SGD([("w", P)], lr=0.1).add_param_group({"params": [t.nn.Parameter(t.ones(1))]})
optim.SGD([P]).add_param_group([P])
optim.SGD([P], 0.1, 0.9, 0, 0.01, True, False)
optim.SGD([P], momentum=0.9).load_state_dict({"param_groups": [], "state": {}})
optim.SGD([P]).load_state_dict({"param_groups": [{"params": [0, 1]}], "state": {}})
optim.RMSprop([P], alpha=-1)
optim.RMSprop([P], momentum=-1)
optim.Adagrad([P], lr_decay=-1)
optim.Adagrad([P], initial_accumulator_value=-1)
optim.Adagrad([P], initial_accumulator_value=0.5).state_dict()
optim.Adadelta([P], rho=1.5)
optim.Adamax([P], betas=(0.9, 1.0))
optim.NAdam([P], momentum_decay=-1)
optim.Rprop([P], etas=(1.1, 1.2))
optim.ASGD([P], weight_decay=-1)
optim.ASGD([P], lr="a")
optim.Optimizer([P], {"lr": 0.1}).step()
optim.Optimizer([P], {}).state_dict()
optim.AdamW([P], decoupled_weight_decay=True)
optim.AdamW([P]).param_groups[0]["decoupled_weight_decay"]
optim.AdamW([P])
optim.Adam.__mro__[1:2] == optim.SGD.__mro__[1:2]
"""


def said(t, line):
    t.manual_seed(0)
    param = t.nn.Parameter(t.tensor([1.0, 2.0]))

    def step(optimizer):
        for p in optimizer.param_groups[0]["params"]:
            p.grad = t.ones_like(p)
        return optimizer.step()

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            answer = repr(eval(line, {"t": t, "optim": t.optim, "P": param, "step": step}))
        except Exception as error:
            answer = f"{type(error).__name__}: {error}"
    return answer.replace("rushlight", "torch"), [str(w.message) for w in warned]


@pytest.mark.parametrize("line", TEXTS.strip().splitlines())
def test_texts(line):
    assert said(rushlight, line) == said(torch, line)


# ---- what others build on it ----
def lion(t):
    """An optimizer in the style of many repositories."""
    from importlib import import_module

    words = import_module(f"{t.__name__}.optim.optimizer")

    class Lion(t.optim.Optimizer):
        def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
            super().__init__(
                params, dict(lr=lr, betas=betas, weight_decay=weight_decay, differentiable=False)
            )

        @words._use_grad_for_differentiable
        def step(self, closure=None):
            loss = None
            if closure is not None:
                with t.enable_grad():
                    loss = closure()
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is None:
                        continue
                    p.data.mul_(1 - group["lr"] * group["weight_decay"])
                    state = self.state[p]
                    if len(state) == 0:
                        state["exp_avg"] = t.zeros_like(p)
                    beta1, beta2 = group["betas"]
                    update = state["exp_avg"] * beta1 + p.grad * (1 - beta1)
                    p.add_(update.sign_(), alpha=-words._get_value(group["lr"]))
                    state["exp_avg"].mul_(beta2).add_(p.grad, alpha=1 - beta2)
            return loss

    return Lion


def test_an_optimizer_of_somebody_else():
    ends = []
    for t in LIBRARIES:
        seen = []
        params = parameters(t, "float64")
        optimizer = lion(t)(params, weight_decay=0.1)
        optimizer.register_step_pre_hook(lambda *a, seen=seen: seen.append("pre"))
        optimizer.register_step_post_hook(lambda *a, seen=seen: seen.append("post"))
        for step in range(4):
            give_gradients(t, params, step)
            assert optimizer.step(lambda: 3.5) == 3.5
        again = pickle.loads(pickle.dumps(t.optim.AdamW(params)))
        assert list(again.param_groups[0]) == list(t.optim.AdamW(params).param_groups[0])
        twin = copy.deepcopy(optimizer.state_dict())
        ends.append(([as_numbers(p) for p in params], seen, list(twin["state"])))
    (theirs, *their_rest), (ours, *our_rest) = ends
    assert our_rest == their_rest
    for a, b in zip(theirs, ours, strict=True):
        np.testing.assert_array_equal(b, a)


def test_state_of_old_checkpoints():
    """Steps that were numbers, groups without the newer options."""
    for name in ("Adam", "RMSprop", "NAdam", "ASGD"):
        answers = []
        for t in LIBRARIES:
            params, optimizer = stepped(t, name, {}, "float32", 2)
            state = optimizer.state_dict()
            for own in state["state"].values():
                own["step"] = own["step"].item()
            for group in state["param_groups"]:
                for option in ("maximize", "foreach", "capturable", "differentiable"):
                    group.pop(option)
            fresh = made(t, name, params, {})
            fresh.load_state_dict(state)
            give_gradients(t, params, 9)
            fresh.step()
            answers.append((fresh.state_dict(), [as_numbers(p) for p in params]))
        same_state(answers[0][0], answers[1][0], 1e-5)
        for a, b in zip(answers[0][1], answers[1][1], strict=True):
            np.testing.assert_allclose(b, a, rtol=0, atol=1e-6)
