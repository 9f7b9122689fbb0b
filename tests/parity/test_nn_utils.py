"""nn.utils, nn.parallel and func: the same scripts on torch and here."""

import copy
import warnings
from collections import OrderedDict

import pytest

from helpers.pytorch import attempt, case, compare, conv, linear, numbers


# ---- parametrize ----
def symmetric(t):
    class Symmetric(t.nn.Module):
        def forward(self, x):
            return x + x.mT

        def right_inverse(self, a):
            return a / 2

    return Symmetric()


@case
def parametrize(t):
    p = t.nn.utils.parametrize
    m = t.nn.Sequential(linear(t, 2, 2))
    was = m[0].weight
    answers = [p.register_parametrization(m[0], "weight", symmetric(t)) is m[0]]
    answers += [repr(m), list(m.state_dict()), [n for n, _ in m.named_parameters()], m[0].weight]
    answers += [m[0].parametrizations.weight.original is was, p.is_parametrized(m[0]), p.is_parametrized(m)]
    answers += [p.is_parametrized(m[0], "bias"), type(m[0]).__name__, isinstance(m[0], t.nn.Linear)]
    answers += [p.type_before_parametrizations(m[0]) is t.nn.Linear, m(t.ones(1, 2))]
    m[0].weight = t.ones(2, 2)
    answers += [m[0].weight, m[0].parametrizations.weight.original, m[0].parametrizations.weight.is_tensor]
    with p.cached():
        answers += [m[0].weight is m[0].weight]
    answers += [m[0].weight is m[0].weight]
    twin = copy.deepcopy(m)
    answers += [twin[0].weight, twin[0].parametrizations.weight.original is was]
    answers.append(attempt(m[0].__getstate__))
    other = t.nn.Sequential(linear(t, 2, 2))
    p.register_parametrization(other[0], "weight", symmetric(t))
    answers += [repr(other.load_state_dict(m.state_dict())), other[0].weight]
    p.remove_parametrizations(m[0], "weight")
    answers += [type(m[0]) is t.nn.Linear, m[0].weight, m[0].weight is was, list(m.state_dict())]
    p.remove_parametrizations(other[0], "weight", leave_parametrized=False)
    answers += [other[0].weight, hasattr(other[0], "parametrizations")]
    return answers


@case
def parametrize_several(t):
    p = t.nn.utils.parametrize

    class Twice(t.nn.Module):
        def forward(self, x):
            return 2 * x

    class Pair(t.nn.Module):
        def forward(self, a, b):
            return a * b

        def right_inverse(self, w):
            return w, t.ones_like(w)

    m = linear(t)
    p.register_parametrization(m, "weight", Pair())
    p.register_parametrization(m, "weight", Twice())
    p.register_parametrization(m, "bias", Twice())
    answers = [repr(m), list(m.state_dict()), m.weight, m.bias, type(m).__name__]
    answers.append(attempt(setattr, m, "bias", t.ones(2)))
    answers.append(attempt(p.remove_parametrizations, m, "weight", False))
    other = linear(t)
    p.transfer_parametrizations_and_params(m, other)
    answers += [repr(other), other.parametrizations.weight.original1 is m.parametrizations.weight.original1]
    p.remove_parametrizations(m, "weight")
    p.remove_parametrizations(m, "bias")
    return answers, type(m) is t.nn.Linear, [n for n, _ in m.named_parameters()], m.weight


@case
def parametrize_errors(t):
    p = t.nn.utils.parametrize

    def returning(value, inverse=None):
        class Fixed(t.nn.Module):
            def forward(self, x):
                return value(x)

        if inverse is not None:
            Fixed.right_inverse = lambda self, x: inverse(x)
        return Fixed()

    answers = []
    for f, inverse in (
        (lambda x: 3, None),
        (lambda x: x[:1], None),
        (lambda x: x.double(), None),
        (lambda x: x, lambda x: 3),
        (lambda x: x, lambda x: x.double()),
        (lambda x, y: x, lambda x: (x, 3)),
    ):
        m = linear(t)
        answers.append(attempt(p.register_parametrization, m, "weight", returning(f, inverse)))
        answers.append(sorted(m._parameters))
    m = linear(t)
    p.register_parametrization(m, "weight", returning(lambda x: x[:1]), unsafe=True)
    answers += [m.weight.shape, attempt(p.register_parametrization, m, "nothing", symmetric(t))]
    m = linear(t)
    p.register_parametrization(m, "weight", returning(lambda x: x, lambda x: x))
    for f, inverse in (
        (lambda x: 3, None),
        (lambda x: x[:1], None),
        (lambda x: x.double(), None),
        (lambda x: x, lambda x: 3),
        (lambda x: x, lambda x: x[:1]),
        (lambda x: x, lambda x: x.double()),
    ):
        answers.append(attempt(p.register_parametrization, m, "weight", returning(f, inverse)))
    answers.append(attempt(p.remove_parametrizations, m, "bias"))
    answers.append(attempt(p.ParametrizationList, [], m.bias))
    answers.append(attempt(setattr, m, "weight", t.ones(2, 3).double()))
    return answers


@case
def weight_norm_parametrization(t):
    n = t.nn.utils.parametrizations.weight_norm
    answers = []
    for m, dim in ((linear(t), 0), (linear(t), 1), (linear(t), None), (conv(t), 0), (conv(t), 1)):
        before = m.weight.detach().clone()
        n(m, dim=dim)
        answers += [repr(m), list(m.state_dict()), m.parametrizations.weight.original0, m.weight - before]
        with t.no_grad():
            m.parametrizations.weight.original0.mul_(2)
        answers.append(m.weight)
    m = n(linear(t))
    old = {"weight_g": t.ones(2, 1), "weight_v": numbers(t, 2, 3), "bias": t.zeros(2)}
    answers += [repr(m.load_state_dict(old)), m.weight]
    return answers, t.nn.utils.parametrize.remove_parametrizations(m, "weight").weight


@case
def spectral_norm_parametrization(t):
    n = t.nn.utils.parametrizations.spectral_norm
    answers = []
    for m in (linear(t, 4, 3), conv(t)):
        n(m, n_power_iterations=3)
        norm = m.parametrizations.weight[0]
        for buffer in (norm._u, norm._v):
            buffer.copy_(numbers(t, *buffer.shape, start=0.25))
        answers += [repr(m), list(m.state_dict()), m.weight, norm._u, norm._v]
        m.eval()
        answers += [m.weight, norm._u]
        m.weight = m.weight * 0 + 1
        answers.append(m.parametrizations.weight.original)
    m = n(linear(t), "bias")
    answers += [m.bias, attempt(n, linear(t), "x"), attempt(n, linear(t), dim=2)]
    return answers, attempt(n, linear(t), n_power_iterations=0)


@case
def of_full_rank(t, *size):
    """A layer whose weight QR knows without luck."""
    layer = linear(t, *size, bias=False)
    with t.no_grad():
        layer.weight.add_(t.eye(*layer.weight.shape))
    return layer


def orthogonal_parametrization(t):
    n = t.nn.utils.parametrizations.orthogonal
    answers = []
    for size in ((3, 3), (5, 3), (3, 5)):
        for name in (None, "matrix_exp", "cayley", "householder"):
            m = of_full_rank(t, *size)
            n(m, orthogonal_map=name)
            w = m.weight
            gram = w @ w.mT if size[0] > size[1] else w.mT @ w
            answers += [repr(m), list(m.state_dict()), w.shape]
            answers += [gram if w.shape[0] != w.shape[1] else w @ w.mT]
            if size == (3, 3):
                answers += [w, m.parametrizations.weight.original]
                with t.no_grad():
                    m.parametrizations.weight.original.copy_(numbers(t, 3, 3))
                    if name == "householder":
                        m.parametrizations.weight.original.copy_(numbers(t, 3, 3) * 0.1 - 2 * t.eye(3))
                answers.append(m.weight)
    for size in ((3, 3), (4, 2)):
        m = n(of_full_rank(t, *size), orthogonal_map="householder", use_trivialization=False)
        answers += [m.weight, m.parametrizations.weight.original]
    m = n(of_full_rank(t, 3, 3), use_trivialization=False)
    answers += [m.weight, attempt(setattr, m, "weight", t.eye(3))]
    m = n(of_full_rank(t, 3, 3))
    m.weight = t.eye(3)
    answers += [m.weight, attempt(setattr, m, "weight", t.eye(2)), attempt(n, linear(t), "x")]
    return answers, attempt(n, linear(t), "bias"), attempt(n, linear(t), orthogonal_map="qr")


# ---- the older norms ----
@case
def weight_norm(t):
    u = t.nn.utils
    answers = []
    for m, dim in ((linear(t), 0), (linear(t), None), (conv(t), 1)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            answers.append(u.weight_norm(m, dim=dim) is m)
        answers.append([(w.category.__name__, str(w.message)) for w in caught])
        answers += [list(m.state_dict()), m.weight, m.weight_g, "weight" in m._parameters]
        with t.no_grad():
            m.weight_g.mul_(2)
        m.forward = lambda *args: None
        m(1)
        answers += [m.weight, attempt(u.weight_norm, m)]
        answers += [type(u.remove_weight_norm(m).weight).__name__, list(m.state_dict()), m.weight]
        answers += [attempt(u.remove_weight_norm, linear(t)), len(m._forward_pre_hooks)]
    return answers, attempt(u.weight_norm, t.nn.LazyLinear(2))


@case
def spectral_norm(t):
    u = t.nn.utils
    answers = []
    for m in (linear(t, 4, 3), conv(t)):
        answers.append(u.spectral_norm(m, n_power_iterations=2) is m)
        for buffer in (m.weight_u, m.weight_v):
            buffer.copy_(numbers(t, *buffer.shape, start=0.25))
        answers += [list(m.state_dict()), m.weight, dict(m.state_dict()._metadata)]
        m.forward = lambda *args: None
        m(1)
        answers += [m.weight, m.weight_u, m.weight_v, attempt(u.spectral_norm, m)]
        m.eval()
        m(1)
        answers.append(m.weight)
        sd = m.state_dict()
        answers.append(repr(m.load_state_dict(sd)))
        older = OrderedDict(sd)
        older["weight"] = sd["weight_orig"] / 2
        del older["weight_v"]
        answers += [attempt(lambda m=m, older=older: repr(m.load_state_dict(older))), m.weight_v]
        answers.append(attempt(m.load_state_dict, {"bias": sd["bias"]}))
        u.remove_spectral_norm(m)
        answers += [
            list(m.state_dict()),
            m.weight,
            len(m._state_dict_hooks),
            len(m._load_state_dict_pre_hooks),
        ]
    answers.append(attempt(u.remove_spectral_norm, linear(t)))
    answers.append(attempt(u.spectral_norm, linear(t, bias=False), "bias"))
    return answers, attempt(u.spectral_norm, linear(t), n_power_iterations=0)


# ---- vectors, clipping, fusion, skip_init ----
@case
def vectors(t):
    u = t.nn.utils
    m = linear(t)
    v = u.parameters_to_vector(m.parameters())
    weight = m.weight
    u.vector_to_parameters(v * 2, m.parameters())
    answers = [v, m.weight, m.bias, weight is m.weight, attempt(u.vector_to_parameters, 3, m.parameters())]
    return answers, attempt(u.parameters_to_vector, [])


@case
def clipping(t):
    u = t.nn.utils
    answers = []
    for order in (2, 1, 3.5, 0, float("inf"), -float("inf")):
        m = linear(t)
        m.weight.grad, m.bias.grad = numbers(t, 2, 3), numbers(t, 2, start=2.0)
        total = u.clip_grad_norm_(m.parameters(), 1.5, norm_type=order)
        answers += [total, m.weight.grad, m.bias.grad]
        answers.append(u.get_total_norm([p.grad for p in m.parameters()], order))
    m = linear(t)
    m.weight.grad = numbers(t, 2, 3)
    u.clip_grad_value_(m.parameters(), 0.5)
    answers.append(m.weight.grad)
    u.clip_grad_value_(m.weight, 0.25)
    answers += [m.weight.grad, u.clip_grad_norm_([], 1.0), u.get_total_norm([])]
    u.clip_grads_with_norm_(m.weight, 1.0, t.tensor(4.0))
    answers += [m.weight.grad, u.clip_grad_norm_(m.weight, 0.1)]
    m.weight.grad[0, 0] = float("nan")
    answers.append(attempt(u.clip_grad_norm_, m.parameters(), 1.0, error_if_nonfinite=True))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        u.clip_grad_norm_((p for p in []), 1.0)
        u.clip_grad_norm([], 1.0)
    return answers, [(w.category.__name__, str(w.message)) for w in caught]


@case
def fusion(t):
    u = t.nn.utils
    answers = []
    x = numbers(t, 1, 2, 5, 5)
    for bias, affine in ((True, True), (False, True), (True, False)):
        c, bn = conv(t), t.nn.BatchNorm2d(4, affine=affine)
        if not bias:
            c.bias = None
        bn.running_mean.copy_(numbers(t, 4))
        bn.running_var.copy_(numbers(t, 4, start=2.0))
        c.eval(), bn.eval()
        fused = u.fuse_conv_bn_eval(c, bn)
        answers += [fused.weight, fused.bias, fused(x) - bn(c(x)), type(fused.weight).__name__, repr(fused)]
    line, bn = linear(t, 3, 4), t.nn.BatchNorm1d(4)
    bn.running_var.copy_(numbers(t, 4, start=2.0))
    answers.append(attempt(u.fuse_linear_bn_eval, line, bn))
    fused = u.fuse_linear_bn_eval(line.eval(), bn.eval())
    answers += [fused.weight, fused.bias]
    answers.append(attempt(u.fuse_linear_bn_eval, line, t.nn.BatchNorm1d(3).eval()))
    no_statistics = t.nn.BatchNorm2d(4, track_running_stats=False).eval()
    return answers, attempt(u.fuse_conv_bn_eval, conv(t).eval(), no_statistics)


@case
def skip_init(t):
    u = t.nn.utils
    t.manual_seed(3)
    before = t.rand(2)
    t.manual_seed(3)
    m = u.skip_init(t.nn.Linear, 3, 2, bias=False)
    answers = [repr(m), m.weight.shape, m.weight.device.type, t.rand(2) - before]
    kind, text = attempt(u.skip_init, int)
    return answers, kind, text, attempt(u.skip_init, t.nn.ReLU)


# ---- functional calls ----
class _Tied:
    def __new__(cls, t):
        class Tied(t.nn.Module):
            def __init__(self):
                super().__init__()
                self.l1 = linear(t, 2, 2, bias=False)
                self.l2 = linear(t, 2, 2, bias=False)
                self.l2.weight = self.l1.weight
                self.register_buffer("count", t.zeros(1))

            def forward(self, x, *, k=1):
                self.count = self.count + k
                return self.l2(self.l1(x)) + self.count

        return Tied()


@case
def functional_call(t):
    f = t.func.functional_call
    m = linear(t)
    given = {"weight": t.ones(2, 3)}
    answers = [f(m, given, t.ones(1, 3)), f(m, (given, {"bias": t.zeros(2)}), (t.ones(1, 3),)), m.weight]
    tied = _Tied(t)
    own = tied.l1.weight
    x = t.ones(1, 2)
    for names in (["l1.weight"], ["l2.weight"], ["l1.weight", "l2.weight"]):
        answers.append(f(tied, {n: t.eye(2) for n in names[:1]}, x))
        answers.append(f(tied, {n: t.eye(2) for n in names[:1]}, x, tie_weights=False))
        answers.append(attempt(f, tied, {n: t.eye(2) for n in names}, x))
    answers += [tied.l1.weight is own, tied.l2.weight is own, tied.count]
    state = {"count": t.ones(1)}
    answers += [f(tied, state, (x,), {"k": 5}), state, tied.count]
    for wrong in (
        lambda: f(m, {"weight": t.ones(2, 3)}, t.ones(1, 3), strict=True),
        lambda: f(m, {"x": t.ones(1), "y.z": t.ones(1)}, t.ones(1, 3), strict=True),
        lambda: f(m, {"y.z": t.ones(1)}, t.ones(1, 3)),
        lambda: f(m, [given, given], t.ones(1, 3)),
        lambda: f(m, [given, 3], t.ones(1, 3)),
        lambda: f(m, 3, t.ones(1, 3)),
        lambda: f(m, {"weight": 3}, t.ones(1, 3)),
        lambda: f(m, {"weight": t.ones(9, 9)}, t.ones(1, 3)),
        lambda: f(t.nn.DataParallel(m), {}, t.ones(1, 3)),
    ):
        answers.append(attempt(wrong))
    answers += [m.weight, "x" in m.__dict__]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        answers.append(t.nn.utils.stateless.functional_call(m, given, t.ones(1, 3)))
    return answers, [(w.category.__name__, str(w.message)) for w in caught]


@case
def stacked_state(t):
    f = t.func.stack_module_state
    params, found = f([linear(t), linear(t)])
    bn = f([t.nn.BatchNorm1d(2), t.nn.BatchNorm1d(2)])
    answers = [params, found, {k: v.shape for k, v in bn[1].items()}, params["weight"].requires_grad]
    mixed = [linear(t), linear(t)]
    mixed[0].weight.requires_grad_(False)
    for wrong in ([], [linear(t), linear(t).eval()], [linear(t), t.nn.ReLU()], mixed):
        answers.append(attempt(f, wrong))
    return answers


@case
def data_parallel(t):
    m = t.nn.DataParallel(linear(t), device_ids=[0, 1])
    answers = [repr(m), list(m.state_dict()), list(m.module.state_dict()), m(t.ones(1, 3)), m.device_ids]
    return answers, [n for n, _ in m.named_modules()], repr(m.load_state_dict(m.state_dict()))


@case
def named_member_accessor(t):
    from importlib import import_module

    home = import_module(t.__name__ + ".nn.utils._named_member_accessor")
    m = t.nn.Sequential(linear(t), t.nn.Sequential(linear(t)))
    a = home.NamedMemberAccessor(m)
    answers = [a.get_tensor("1.0.bias"), a.get_submodule("1.0") is m[1][0], a.check_keys(["0.bias", "x"])]
    was = a.swap_tensor("0.bias", t.zeros(2))
    answers += [was, m[0].bias]
    a.set_tensor("0.bias", was)
    a.set_tensors(["0.bias"], [was])
    answers += [[n for n, _ in a.named_tensors()], [n for n, _ in a.named_modules()], m[0].bias is was]
    other = linear(t)
    answers += [a.swap_submodule("1.0", other) is not other, m[1][0] is other]
    answers.append(attempt(a.swap_tensors_dict, {"0.bias": t.ones(2), "0.q": t.ones(1)}))
    answers += [m[0].bias is was, hasattr(m[0], "q")]
    for wrong in (
        lambda: a.get_submodule("5"),
        lambda: a.get_submodule("0.weight"),
        lambda: a.get_tensor("0.q"),
        lambda: a.del_tensor("0.q"),
        lambda: a.set_tensor("0.bias", 3),
        lambda: a.swap_tensor("0.q", t.ones(1)),
        lambda: a.swap_submodule("1.q", other),
        lambda: a.set_tensors(["a"], []),
        lambda: a.set_tensor("", t.ones(1)),
    ):
        kind, text = attempt(wrong)
        answers.append((kind, text))
    return answers


CASES = {name: f for name, f in globals().items() if getattr(f, "is_case", False)}


@pytest.mark.parametrize("name", CASES)
def test_same_as_torch(name):
    compare(CASES[name])
