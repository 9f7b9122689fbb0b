"""Functions over lists of tensors, and clipping of gradients: values, gradients, errors in both libraries."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

import rushlight
from rushlight.utils import _foreach_utils

torch = pytest.importorskip("torch")
NAMES = [name for name in dir(torch) if name.startswith("_foreach_")]
CASES = Path(__file__).with_name("foreach_cases.txt").read_text().splitlines()
# PyTorch has none
NO_GRADIENT = [
    "_foreach_powsum",
    "_foreach_copy_",
    "_foreach_maximum_",
    "_foreach_minimum_",
]  # PyTorch has none
SHAPES = [(4,), (2, 3), (), (0, 2), (3, 3)]
# what stands behind the list; L: another list, N: numbers of each tensor, T: a tensor
OTHERS = {
    **{name: ["L", "N", "T", 1.5, "L alpha", "T alpha"] for name in ("add",)},
    "sub": ["L", "N", 1.5, "L alpha"],
    **{name: ["L", "N", "T", 1.5] for name in ("mul", "div")},
    **{name: ["L", "N", 0.5] for name in ("clamp_min", "clamp_max", "maximum", "minimum", "pow")},
    **{name: ["LL", "LL value", "LLN", "LLT"] for name in ("addcmul", "addcdiv")},
    "lerp": ["LL", "LN", "L weight"],
    "norm": ["", 1, 3, 0, 2.5, "f64"],
    "powsum": ["", 1, 3, 0, -1.5, "f64"],
    "copy": ["L"],
    "mm": ["L"],
}


def arrays(seed, names=SHAPES):
    rng = np.random.default_rng(seed)
    return [rng.uniform(0.1, 0.9, shape) for shape in names]


def argument(t, kind, dtype, shapes):
    """Positional and keyword arguments behind the list."""
    lists = [[t.tensor(a, dtype=dtype) for a in arrays(9 + i, shapes)] for i in range(2)]
    numbers = [0.25 + i for i in range(len(shapes))]
    words = {
        "": ((), {}),
        "L": (lists[:1], {}),
        "N": ([numbers], {}),
        "T": ([t.tensor(1.75, dtype=dtype)], {}),
        "L alpha": (lists[:1], {"alpha": 2.5}),
        "T alpha": ([t.tensor(1.75, dtype=dtype)], {"alpha": 2.5}),
        "LL": (lists, {}),
        "LL value": (lists, {"value": -0.5}),
        "LLN": ([*lists, numbers], {}),
        "LLT": ([*lists, t.tensor(numbers)], {}),
        "LN": ([lists[0], numbers], {}),
        "L weight": ([lists[0], 0.25], {}),
        "f64": ((), {"ord": 2, "dtype": t.float64}),
    }
    return words[kind] if kind in words else ((kind,), {})


def run(t, name, kind, dtype, grad):
    """The results and, of those in floats, the gradient of a weighted sum."""
    plain = name[len("_foreach_") :].rstrip("_")
    shapes = [(3, 3), (3, 3)] if plain == "mm" else SHAPES[:3] if plain == "max" else SHAPES
    leaves = [t.tensor(a, dtype=getattr(t, dtype)).requires_grad_(grad) for a in arrays(1, shapes)]
    args, kwargs = argument(t, kind, getattr(t, dtype), shapes)
    inputs = [leaf * 1 for leaf in leaves] if name[-1] == "_" else leaves
    results = getattr(t, name)(inputs, *args, **kwargs)
    assert results is inputs if name[-1] == "_" else type(results) is tuple
    gradients = []
    if grad and any(r.requires_grad for r in results):
        sum((r.double() * r.double()).sum() for r in results).backward()
        gradients = [None if leaf.grad is None else leaf.grad.tolist() for leaf in leaves]
    return [(r.tolist(), str(r.dtype).partition(".")[2]) for r in results], gradients


def same(ours, theirs, limit):
    if isinstance(ours, (list, tuple)):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            same(a, b, limit)
    elif isinstance(ours, float):
        assert math.isclose(ours, theirs, rel_tol=limit, abs_tol=limit) or ours != ours and theirs != theirs
    else:
        assert ours == theirs


def test_every_name_is_there():
    assert (
        NAMES == sorted(name for name in vars(rushlight) if name.startswith("_foreach_")) and len(NAMES) > 90
    )


@pytest.mark.parametrize("name", NAMES)
def test_values_and_gradients(name):
    for kind in OTHERS.get(name[len("_foreach_") :].rstrip("_"), [""]):
        grad = kind != "LLT" and name not in NO_GRADIENT
        for dtype, limit in (("float64", 1e-12), ("float32", 2e-6), ("bfloat16", 2e-2)):
            args = (name, kind, dtype, grad and dtype == "float64")
            same(run(rushlight, *args), run(torch, *args), limit)


def test_a_number_to_powers_of_a_list():
    for base in (2, 1.5, True):
        same(
            *(
                [r.tolist() for r in t._foreach_pow(base, [t.ones(2), t.arange(3.0)])]
                for t in (rushlight, torch)
            ),
            1e-6,
        )


def answer(t, case):
    def given(gradients):
        """Parameters that have these gradients."""
        made = [t.nn.Parameter(t.zeros(1) if g is None else t.zeros_like(g)) for g in gradients]
        for p, g in zip(made, gradients, strict=True):
            p.grad = g if g is None else g.clone()
        return made

    x = [t.tensor([0.5, -2.0]), t.tensor([1.5, 3.0, 4.0])]
    scope = {"torch": t, "clip": t.nn.utils, "given": given, "x": x}
    try:
        result = repr(eval(case, scope))
    except Exception as error:
        assert not isinstance(error, (SyntaxError, NameError))
        result = f"{type(error).__name__}: {error}"
    return re.sub(r"but expected one of:.*", "", result.replace("rushlight", "torch"), flags=re.S)


@pytest.mark.parametrize("case", CASES)
def test_same(case):
    assert answer(rushlight, case) == answer(torch, case)


# lists whose tensors are named: f and g in float32, d in float64, h in bfloat16, m on meta
GROUPS = [
    "fdfm",
    "fdf fdf",
    "fd ..",
    "fdf f.f -",
    "ff dd",
    "fd hf",
    "mm ff",
    "fd fi",
    ".f ff",
    "-",
    "fg f",
    "- f",
]


@pytest.mark.parametrize("lists", GROUPS)
@pytest.mark.parametrize("indices", [False, True])
def test_groups_of_device_and_dtype(lists, indices):
    def outcome(t, module):
        named = {"f": t.ones(1), "g": t.ones(2), "d": t.ones(1, dtype=t.float64), "i": t.ones(1).int()}
        named |= {"h": t.ones(1).bfloat16(), "m": t.ones(1, device="meta"), ".": None}
        names = {id(tensor): name for name, tensor in named.items()}
        given = [[named[name] for name in word if name != "-"] for word in lists.split()]
        try:
            groups = module._group_tensors_by_device_and_dtype(given, with_indices=indices)
        except RuntimeError as error:
            text = str(error)
            return text if text.startswith("Tensors") else "RuntimeError"
        return {
            tuple(map(str, key)): ([[names[id(a)] for a in own] for own in new], at)
            for key, (new, at) in groups.items()
        }

    theirs = outcome(torch, torch.utils._foreach_utils)
    ours = outcome(rushlight, _foreach_utils)
    assert repr(sorted(ours.items()) if type(ours) is dict else ours).replace("rushlight", "torch") == repr(
        sorted(theirs.items()) if type(theirs) is dict else theirs
    )


def test_devices_that_take_lists():
    ours, theirs = _foreach_utils, torch.utils._foreach_utils
    for name in ("_get_foreach_kernels_supported_devices", "_get_fused_kernels_supported_devices"):
        assert getattr(ours, name)() == getattr(theirs, name)()
    for device in ("cpu", "cuda", "meta", "mps"):
        answers = [
            u._device_has_foreach_support(t.device(device)) for t, u in ((rushlight, ours), (torch, theirs))
        ]
        assert answers[0] == answers[1]
    for t, module in ((rushlight, ours), (torch, theirs)):
        assert module._has_foreach_support([t.ones(1), None], t.device("cpu"))
        assert not module._has_foreach_support([t.nn.Parameter(t.ones(1))], t.device("cpu"))


# ---- an optimizer as others write them ----
def others_optimizer(t):
    from_optimizer = __import__(f"{t.__name__}.optim.optimizer", fromlist=["_get_value"])
    foreach_utils = __import__(f"{t.__name__}.utils._foreach_utils", fromlist=["Indices"])

    class Schooled(t.optim.Optimizer):
        """A mean of gradients, one of squares, and a slow copy of the weights; state is filled lazily."""

        def __init__(self, params, lr=1e-2, betas=(0.9, 0.99), pull=0.1):
            super().__init__(params, {"lr": lr, "betas": betas, "pull": pull, "differentiable": False})

        @from_optimizer._use_grad_for_differentiable
        def step(self, closure=None):
            loss = None
            if closure is not None:
                with t.enable_grad():
                    loss = closure()
            for group in self.param_groups:
                params = [p for p in group["params"] if p.grad is not None]
                for p in params:
                    if not self.state[p]:
                        self.state[p].update(step=t.zeros(()), mean=t.zeros_like(p), square=t.zeros_like(p))
                        self.state[p]["slow"] = p.detach().clone()
                names = ("mean", "square", "slow", "step")
                lists = [params, [p.grad for p in params]]
                lists += [[self.state[p][name] for p in params] for name in names]
                for one, _ in foreach_utils._group_tensors_by_device_and_dtype(lists).values():
                    self.step_lists(t, group, *one)
            return loss

        @staticmethod
        def step_lists(t, group, params, grads, means, squares, slow, counts):
            beta1, beta2 = group["betas"]
            t._foreach_add_(counts, t.tensor(1.0), alpha=1.0)
            scale = t._foreach_clamp_max([g.norm() for g in grads], 2.0)
            t._foreach_clamp_min_(scale, [1e-3] * len(scale))
            grads = t._foreach_div(grads, scale)
            t._foreach_lerp_(means, grads, 1 - beta1)
            t._foreach_mul_(squares, beta2)
            t._foreach_addcmul_(squares, grads, grads, 1 - beta2)
            corrections = [1 - beta2 ** from_optimizer._get_value(step) for step in counts]
            roots = t._foreach_sqrt(t._foreach_div(squares, corrections))
            t._foreach_add_(roots, 1e-6)
            t._foreach_addcdiv_(params, means, roots, [-group["lr"]] * len(params))
            t._foreach_lerp_(slow, params, [group["pull"]] * len(params))
            t._foreach_copy_(params, t._foreach_maximum(params, -1.0))

    return Schooled


def train(t):
    params = [t.nn.Parameter(t.tensor(a, dtype=t.float32)) for a in arrays(3, [(4, 3), (5,), (1,)])]
    params.append(t.nn.Parameter(t.tensor([0.5, -0.5], dtype=t.float64)))
    optimizer, seen = others_optimizer(t)(params), []
    optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append(len(o.state)))
    optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append(len(o.state)))

    def closure():
        optimizer.zero_grad()
        loss = sum((p.double() ** 2).sum() + (i + 1) * p.sum() for i, p in enumerate(params[:3]))
        loss = loss + (params[3] ** 4).sum()
        loss.backward()
        return loss

    losses = [optimizer.step(closure).item() for _ in range(20)]
    steps = [optimizer.state[p]["step"].item() for p in params]
    return [p.tolist() for p in params], losses, seen, steps


def test_an_optimizer_of_others():
    same(train(rushlight), train(torch), 1e-6)
