"""Python code that runs where nobody expects it (the collector inside an allocation, a destructor) may change
any tensor. Whatever it does, no operator reads or writes memory that is not its own.

The gc points of debug and asan builds (csrc/object/raw.h) run such code at each allocation of an object, and
`make gc` has the sanitizers look on.
"""

import gc
import io
import itertools

import numpy as np
import pytest

import op_samples as samples
import rushlight
from rushlight import _C, nn

if not hasattr(_C, "_gc_every"):
    pytest.skip("a build without gc points", allow_module_level=True)

OPERATORS = samples.OPERATORS
MOST = 400  # points of one call; far more than any has
# what an operator may say of arguments that changed under its hands
CLEAN = (RuntimeError, TypeError, ValueError, IndexError, SystemError)


@pytest.fixture(autouse=True)
def _quiet_again():
    yield
    _C._gc_every(None)


# ---- what a finalizer may do to a tensor ----
def narrow(t):
    t.data = _C.zeros(tuple(t.shape), dtype=_C.float16 if t.is_floating_point() else _C.bool)


def wide(t):
    t.data = _C.ones(tuple(t.shape), dtype=_C.float64 if t.is_floating_point() else _C.int64)


def empty(t):
    t.data = _C.zeros(0, dtype=t.dtype)


def number(t):
    t.data = _C.ones((), dtype=t.dtype)


def deep(t):
    t.data = _C.ones((1,) * 5 + (2, 3), dtype=t.dtype)


def larger(t):
    t.data = _C.ones([size + 2 for size in t.shape], dtype=t.dtype)


def moved(t):
    storage = t.untyped_storage()
    storage.resize_(3 * storage.nbytes() + 64)


def detached(t):
    t.grad = None
    t.detach_()


CHANGES = [narrow, wide, empty, number, deep, larger, moved, detached]


class At:
    """While it is entered, `change` comes over `tensors` at the n-th gc point, and `lists` are emptied."""

    def __init__(self, n, change, tensors, lists=()):
        self.n, self.change, self.tensors, self.lists, self.passed = n, change, tensors, lists, 0

    def __call__(self):
        self.passed += 1
        if self.passed != self.n + 1:
            return
        for t in self.tensors:
            try:
                self.change(t)
            except RuntimeError:
                pass  # refused: a view, memory that is in use, a dtype without gradients
        for items in self.lists:
            items.clear()

    def __enter__(self):
        _C._gc_every(self)
        return self

    def __exit__(self, *error):
        _C._gc_every(None)


def tensors_in(*values):
    for value in values:
        if isinstance(value, _C.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from tensors_in(*value)
        elif isinstance(value, dict):
            yield from tensors_in(*value.values())


def survives(make, call, changes=CHANGES, allowed=CLEAN):
    """Runs call(*make()) once for each change at each of its gc points; how many those were."""
    total = 0
    for change in changes:
        for n in range(MOST):
            arguments = make()
            lists = [a for a in arguments if isinstance(a, list)]
            with At(n, change, list(tensors_in(*arguments)), lists) as at:
                try:
                    result = call(*arguments)
                except allowed:
                    result = None
            for t in tensors_in(result):  # what came out can be used
                t.tolist()
            at.tensors = at.lists = result = None
            if at.passed <= n:
                break
            total += 1
        else:
            raise AssertionError(f"more than {MOST} points")
    return total


# ---- operators ----
def dtype_of(entry):
    return "float32" if "float32" in samples.admitted(entry) else "int64"


def sample_of(name):
    """The first sample with elements in its tensors."""

    def elements(sample):
        shapes = [
            p.shape for p in (*sample.args, *sample.kwargs.values()) if isinstance(p, samples.Placeholder)
        ]
        return all(0 not in shape for shape in shapes)

    dtype = dtype_of(OPERATORS[name])
    usable = [s for s in samples.of(name) if dtype not in s.without and elements(s)]
    return (usable or samples.of(name))[0]


def built(name, grad=False, dims=0):
    """Arguments of a call; grad: leaves that want gradients; dims: tensors get leading dims up to so many."""
    entry = OPERATORS[name]

    def prepared(value):
        if isinstance(value, list):
            return [prepared(v) for v in value]
        if not isinstance(value, _C.Tensor):
            return value
        if value.dim() < dims:
            value = value.reshape((1,) * (dims - value.dim()) + tuple(value.shape)).clone()
        return value.requires_grad_() if grad and value.is_floating_point() else value

    sample = sample_of(name)
    dtypes = [dtype_of(entry), *samples.admitted(entry)]
    dtype = next((d for d in dtypes if d not in sample.without), dtypes[0])
    args, kwargs = sample.build(_C, dtype)
    return [prepared(a) for a in args], {k: prepared(v) for k, v in kwargs.items()}


def forms_of(name):
    """(how its arguments are made, how it is called): plain, of six dims, in place, out=, with gradients"""
    entry = OPERATORS[name]
    function, flags = samples.function(_C, entry), entry["flags"]

    def plain(args, kwargs):
        return function(*args, **kwargs)

    def in_place(args, kwargs):
        return getattr(args[0], entry["name"] + "_")(*args[1:], **kwargs)

    def with_spare(args, kwargs):
        spare = kwargs.pop("spare")
        return function(*args, **kwargs, out=spare)

    def differentiated(args, kwargs):
        if flags & samples.ONLY_INPLACE:
            args[0] = args[0] * 1
        for result in tensors_in(function(*args, **kwargs)):
            if result.requires_grad:
                result.sum().backward()
                return

    def spare():
        args, kwargs = built(name)
        return args, dict(kwargs, spare=_C.zeros((1, 1, 1, 1, 1, 2), dtype=_C.float64))

    yield lambda: built(name), plain
    yield lambda: built(name, dims=6), plain
    if flags & samples.INPLACE and flags & samples.METHOD:
        yield lambda: built(name), in_place
    if flags & samples.OUT:
        yield spare, with_spare
    if entry["node"] and not flags & samples.NO_GRAD:
        yield lambda: built(name, grad=True), differentiated


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")  # by what changes it
@pytest.mark.parametrize("name", OPERATORS)
def test_rows_survive_changes(name):
    for make, call in forms_of(name):
        survives(make, call)


@pytest.mark.parametrize("name", OPERATORS)
def test_rows_are_right_when_nothing_changes(name):
    function = samples.function(_C, OPERATORS[name])

    def run():
        args, kwargs = built(name)
        _C.default_generator.manual_seed(3)
        return samples.flat_results(function(*args, **kwargs))

    expected = run()
    with At(0, None, ()) as at:
        results = run()
    assert at.passed
    for ours, plain in zip(results, expected, strict=True):
        assert gc.is_tracked(ours) and ours.shape == plain.shape and ours.dtype == plain.dtype
        if name not in samples.UNINITIALISED:
            np.testing.assert_array_equal(samples.as_array(ours), samples.as_array(plain))


# ---- what is no operator ----
def six_dims(requires_grad=False):
    return _C.ones((1, 2, 1, 2, 1, 3)).requires_grad_(requires_grad)


def stored(x):
    file = io.BytesIO()
    rushlight.save({"x": x, "y": [x, nn.Parameter(x)]}, file)
    file.seek(0)
    return rushlight.load(file)


def assigned(x, key, value):
    x[key] = value
    return x


def stepped(momentum):
    def step(parameters):
        parameters = [p.requires_grad_() for p in parameters]
        sgd = rushlight.optim.SGD(parameters, lr=0.1, momentum=momentum)
        for _ in range(2):
            for p in parameters:
                p.grad = _C.ones(tuple(p.shape), dtype=p.dtype)
            sgd.step()
        return list(parameters)

    return step


def cast(call):
    def under(*tensors):
        with rushlight.autocast("cpu"):
            result = call(*[each.requires_grad_() for each in tensors])
            result.sum().backward()
            return result

    return under


def unscaled(*grads):
    _C._amp_foreach_non_finite_check_and_unscale_(grads, _C.zeros(()), _C.ones(()))
    return grads


def trained(x):
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(8, 3))
    loss = nn.functional.cross_entropy(net(x), rushlight.tensor([1, 2]))
    loss.backward()
    return [loss, *[p.grad for p in net.parameters()]]


def loaded(x):
    net = nn.Linear(2, 3)
    net.load_state_dict({"weight": x, "bias": x[:, 0]})
    return list(net.state_dict().values())


def hooked(x):
    x.register_hook(lambda grad: grad * 2)
    y = x * x
    y.retain_grad()
    y.sum().backward()
    return [x.grad, y.grad]


class Doubled(rushlight.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2, x + 1

    @staticmethod
    def backward(ctx, *grads):
        return grads[0] * 2 + grads[1] * ctx.saved_tensors[0]


class Written(rushlight.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    @rushlight.autograd.function.once_differentiable
    def backward(ctx, grad):
        return grad * 2


def own_functions(x):
    y = sum(Doubled.apply(x))
    z = Written.apply(y[0])
    first = rushlight.autograd.grad(z.sum() + y.sum(), x, create_graph=True)
    return [y, z, *first]


def twice(x):
    first = rushlight.autograd.grad((x**3).prod(), x, create_graph=True)[0]
    return rushlight.autograd.grad(first[..., 0].sum(), x)


def packed(x):
    with rushlight.autograd.graph.saved_tensors_hooks(lambda t: [t], lambda held: held[0]):
        y = (x * x).exp()
    y.sum().backward()
    return [x.grad]


OTHERS = {
    "tolist": (lambda: (six_dims(),), lambda x: x.tolist()),
    "tolist_float8": (lambda: (six_dims().to(_C.float8_e5m2),), lambda x: x.tolist()),
    "item_float8": (lambda: (_C.ones(1).to(_C.float8_e5m2),), lambda x: x.item()),
    "sizes": (lambda: (six_dims(),), lambda x: (x.shape, x.size(), x.stride(), x.size(1))),
    "tensor": (
        lambda: ([six_dims(), six_dims()],),
        lambda x: _C.tensor([_C.ones(()), *[1.5, 2]] if not x else [3]),
    ),
    "copy": (lambda: (six_dims(),), lambda x: _C.as_tensor(x, dtype=_C.float64)),
    "numpy": (lambda: (six_dims(),), lambda x: x.numpy().sum()),
    "from_numpy": (lambda: (six_dims(),), lambda x: _C.from_numpy(x.numpy()) + 1),
    "repr": (lambda: (six_dims(),), repr),
    "save": (lambda: (six_dims(),), stored),
    "index": (
        lambda: (_C.ones((3, 4)),),
        lambda x: [x[1], x[..., None], x[[0, 2]], x[x > 0], x[True], x[1:, 2]],
    ),
    "assign": (lambda: (six_dims(), six_dims()), lambda x, y: assigned(x, ..., y)),
    "assign_stretched": (lambda: (six_dims(), _C.ones(3)), lambda x, y: assigned(x, ..., y)),
    "assign_wider": (lambda: (_C.ones((2, 3)), _C.ones((1,) * 6 + (2, 3))), lambda x, y: assigned(x, ..., y)),
    "assign_mask": (lambda: (six_dims(), six_dims()), lambda x, y: assigned(x, x > 0, y.reshape(-1))),
    "grad": (lambda: (six_dims(True),), lambda x: _C.Tensor.backward((x * 2).exp_().sum())),
    "view_written": (lambda: (six_dims(True),), lambda x: (x * 1).view(12).mul_(3).sum().backward()),
    "base_written": (lambda: (six_dims(True),), lambda x: trace_of_views(x * 1)),
    "pieces": (lambda: (six_dims(True),), lambda x: sum(p.sum() for p in x.split(1, 1)).backward()),
    "functions": (lambda: (six_dims(True),), own_functions),
    "twice": (lambda: (six_dims(True),), twice),
    "saved_hooks": (lambda: (six_dims(True),), packed),
    "picked": (lambda: (six_dims(True), six_dims() > 0), lambda x, m: x[m].sum().backward()),
    "hooks": (lambda: (six_dims(True),), hooked),
    "sgd": (lambda: ([_C.ones((2, 3)), _C.ones(6)],), stepped(0)),
    "sgd_momentum": (lambda: ([_C.ones((2, 3)), _C.ones(6)],), stepped(0.9)),
    "autocast": (lambda: (_C.ones((2, 3)), _C.ones((4, 3)), _C.ones(4)), cast(_C._nn.linear)),
    "autocast_list": (
        lambda: (_C.ones((2, 3)), _C.ones((2, 3), dtype=_C.bfloat16)),
        cast(lambda *tensors: _C.cat(tensors)),
    ),
    "unscale": (lambda: (_C.ones((2, 3)), _C.ones(6)), unscaled),
    "train": (lambda: (_C.ones((2, 1, 4, 4)),), trained),
    "load_state_dict": (lambda: (_C.ones((3, 2)),), loaded),
}


def trace_of_views(x):
    first = x[0]
    x.mul_(2)
    first.add_(1)
    x.sum().backward()


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.without_samples
@pytest.mark.parametrize("name", OTHERS)
def test_others_survive_changes(name):
    make, call = OTHERS[name]
    assert survives(make, call, allowed=(*CLEAN, AttributeError, AssertionError))


def test_state_dicts_survive_modules_that_lose_entries():
    def make():
        net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 2))
        return net, net.state_dict()

    def lose(net, state):
        for items in (state, net[0]._parameters, net._modules):
            if items:
                items.popitem()

    for call in (
        lambda n, s: n.state_dict(),
        lambda n, s: n.load_state_dict(s),
        lambda n, s: list(n.parameters()),
    ):
        for n in itertools.count():
            net, state = make()
            first, second = net[0], net[1]
            with At(n, lambda _, net=net, state=state: lose(net, state), [state["0.weight"]]) as at:
                try:
                    call(net, state)
                except (RuntimeError, KeyError):
                    pass
            del net, state, first, second
            if at.passed <= n:
                break
            at.change = at.tensors = None


def test_points_run_code_inside_of_operators():
    seen = []
    with At(0, lambda t: seen.append(tuple(t.shape)), [_C.ones(2)]) as at:
        _C.ones(2, 3) + 1
    assert seen == [(2,)] and at.passed > 1
