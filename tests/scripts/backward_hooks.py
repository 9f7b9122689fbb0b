"""Forward and backward hooks of every kind in one training step, each call logged."""

import warnings

import torch
from torch import nn
from torch.nn.modules import module as registry

warnings.simplefilter("ignore")
log = print


def shown(value):
    if isinstance(value, torch.Tensor):
        return [round(v, 4) for v in value.detach().flatten().tolist()]
    return tuple(map(shown, value)) if isinstance(value, tuple) else value


def logging(what):
    def hook(*args):
        if isinstance(args[0], nn.Module):
            args = (getattr(args[0], "name", type(args[0]).__name__), *args[1:])
        log(what, *map(shown, args))

    return hook


class Layer(nn.Module):
    def __init__(self, name, value):
        super().__init__()
        self.name = name
        self.weight = nn.Parameter(torch.tensor([value, value + 1]))

    def forward(self, x, shift=None):
        y = x * self.weight
        return y if shift is None else (y + shift, y, 3)


class Tree(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = Layer("a", 1.0), Layer("b", 2.0)

    def forward(self, x):
        first, again, _ = self.b(self.a(x), torch.ones(2))
        return first + again


def fresh(*values):
    return torch.tensor(values or (1.0, 2.0), requires_grad=True)


def every_kind():
    m = Tree()
    handles = [
        registry.register_module_forward_pre_hook(logging("global forward pre")),
        registry.register_module_forward_hook(logging("global forward")),
        registry.register_module_full_backward_pre_hook(logging("global backward pre")),
        registry.register_module_full_backward_hook(logging("global backward")),
    ]
    for layer in (m, m.a, m.b):
        layer.register_forward_pre_hook(logging("forward pre"))
        layer.register_forward_hook(logging("forward"))
        layer.register_full_backward_pre_hook(logging("backward pre"))
        layer.register_full_backward_hook(logging("backward"))
        layer.register_full_backward_hook(logging("backward first"), prepend=True)
        layer.register_full_backward_pre_hook(logging("backward pre first"), prepend=True)
    for name, p in m.named_parameters():
        p.register_hook(logging(f"hook of {name}"))
        p.register_post_accumulate_grad_hook(lambda p: log("accumulated", shown(p.grad)))
    x = fresh()
    x.register_hook(logging("hook of x"))
    y = m(x)
    y.register_hook(logging("hook of y"))
    y.retain_grad()
    y.grad_fn.register_prehook(logging("prehook of the node of y"))
    y.grad_fn.register_hook(logging("hook of the node of y"))
    y.sum().backward()
    log(shown(x.grad), shown(y.grad))
    for handle in handles:
        handle.remove()


def replacing():
    m = Layer("replacing", 1.0)
    m.register_full_backward_pre_hook(lambda module, outer: (outer[0] * 2,))
    m.register_full_backward_hook(lambda module, inner, outer: (inner[0] * 3,))
    m.register_full_backward_hook(logging("what the next one sees"))
    x = fresh()
    x.register_hook(lambda g: g * 5)
    x.register_hook(logging("after the first hook"))
    y = m(x)
    y.register_hook(lambda g: g * 7)
    y.grad_fn.register_prehook(lambda outer: (outer[0] * 11,))
    y.sum().backward()
    log(shown(x.grad), shown(m.weight.grad))


def removing():
    x = fresh()
    handles = []

    def once(g):
        log("once")
        handles[0].remove()
        handles[1].remove()

    handles.append(x.register_hook(once))
    handles.append(x.register_hook(logging("removed by the one before, runs this round")))
    x.register_hook(logging("stays"))
    y = x * 2
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    m = Layer("removing", 1.0)
    handle = m.register_full_backward_hook(lambda *args: (log("backward once"), handle.remove())[0])
    m(x).sum().backward()
    m(x).sum().backward()
    with y.grad_fn.register_hook(logging("never")), m.register_full_backward_hook(logging("never")):
        pass
    log(len(x._backward_hooks), len(m._backward_hooks))


def in_place():
    x = fresh()
    y = x * 2
    y.retain_grad()
    y.register_hook(logging("old value"))
    y.mul_(3)
    log(y._backward_hooks, y.retains_grad)
    y.register_hook(logging("new value"))
    y.sum().backward()
    log(shown(y.grad), shown(x.grad))


def regular():
    m = Layer("regular", 1.0)
    m.register_backward_hook(logging("regular"))
    m.register_backward_hook(lambda module, inner, outer: (inner[0] * 4, None))
    x = fresh()
    m(x).sum().backward()
    log(shown(x.grad), m.weight.grad)


def without_inputs():
    m = Layer("no input", 1.0)
    m.register_full_backward_hook(logging("backward"))
    m(torch.ones(2)).sum().backward()
    with torch.no_grad():
        log(m(fresh()).grad_fn)
    x = fresh()
    (g,) = torch.autograd.grad((m(x) * m(x)).sum(), x, create_graph=True)
    log(shown(g))
    g.sum().backward()
    log(shown(x.grad))


def outcome(action):
    try:
        log(action.__name__, shown(action()))
    except (RuntimeError, TypeError) as error:
        log(action.__name__, type(error).__name__, error)


def refused():
    def hooked(*registrations):
        m = Layer("refused", 1.0)
        for name, hook in registrations:
            getattr(m, name)(hook)
        return m

    def full_then_regular():
        hooked(("register_full_backward_hook", print), ("register_backward_hook", print))

    def regular_then_full():
        hooked(("register_backward_hook", print), ("register_full_backward_hook", print))

    def too_many():
        hooked(("register_full_backward_hook", lambda *args: (1, 2)))(fresh()).sum().backward()

    def too_many_before():
        hooked(("register_full_backward_pre_hook", lambda *args: (1, 2)))(fresh()).sum().backward()

    def gradient_without_input():
        hooked(("register_full_backward_hook", lambda m, i, o: o))(torch.ones(2)).sum().backward()

    def result_written():
        hooked(("register_full_backward_hook", print))(fresh()).mul_(2)

    def argument_written():
        m = nn.ReLU(inplace=True)
        m.register_full_backward_hook(print)
        m(fresh() * 1)

    def other_type():
        x = fresh()
        x.register_hook(lambda g: g.double())
        x.sum().backward()

    def other_size():
        x = fresh()
        x.register_hook(lambda g: g[:1])
        x.sum().backward()

    def no_tensor():
        x = fresh()
        x.register_hook(lambda g: 3)
        x.sum().backward()

    def no_tuple():
        y = fresh() * 2
        y.grad_fn.register_hook(lambda inner, outer: 3)
        y.sum().backward()

    def in_place_of_none():
        y = fresh() * 2
        y.grad_fn.register_hook(lambda inner, outer: (inner[0], inner[0]))
        y.sum().backward()

    def no_gradient_wanted():
        torch.ones(2).register_hook(print)

    def no_leaf():
        (fresh() * 2).register_post_accumulate_grad_hook(print)

    def retain_what():
        torch.ones(2).retain_grad()

    for action in sorted(set(locals().values()) - {hooked}, key=lambda action: action.__name__):
        outcome(action)


for case in (every_kind, replacing, removing, in_place, regular, without_inputs, refused):
    log("----", case.__name__)
    case()
