"""Every kind of hook on a small tree, each call logged."""

import torch
from torch import nn
from torch.nn.modules import module as registry

log = print


class Leaf(nn.Module):
    def __init__(self, name):
        super().__init__()
        self.name = name
        self.weight = nn.Parameter(torch.ones(1))

    def forward(self, x, scale=1):
        log("  forward", self.name, x.tolist(), scale)
        return x * scale


class Tree(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = Leaf("a")
        self.b = Leaf("b")

    def forward(self, x):
        log("  forward tree")
        return self.b(self.a(x, scale=2))


def naming(what):
    def hook(module, *rest):
        shown = [r.tolist() if isinstance(r, torch.Tensor) else r for r in rest]
        log(what, getattr(module, "name", type(module).__name__), len(shown))

    return hook


m = Tree()
handles = [
    registry.register_module_forward_pre_hook(naming("global pre")),
    registry.register_module_forward_hook(naming("global post")),
    registry.register_module_forward_hook(naming("global post kwargs"), with_kwargs=True),
    registry.register_module_forward_hook(naming("global always"), always_call=True),
    m.register_forward_pre_hook(naming("pre")),
    m.register_forward_pre_hook(naming("pre first"), prepend=True),
    m.a.register_forward_pre_hook(lambda mod, args, kwargs: ((args[0] + 1,), {"scale": 3}), with_kwargs=True),
    m.a.register_forward_pre_hook(naming("pre kwargs"), with_kwargs=True),
    m.a.register_forward_hook(lambda mod, args, out: out + 10),
    m.a.register_forward_hook(naming("post")),
    m.a.register_forward_hook(naming("post kwargs"), with_kwargs=True),
    m.b.register_forward_hook(naming("always"), always_call=True),
    m.b.register_forward_hook(naming("post first"), prepend=True),
    m.register_state_dict_pre_hook(naming("state pre")),
    m._register_state_dict_hook(naming("state")),
    m.b.register_state_dict_post_hook(naming("state post")),
    m._register_load_state_dict_pre_hook(lambda *args: log("load pre", args[1:4], args[4:])),
    m.b.register_load_state_dict_pre_hook(naming("load pre with module")),
    m.register_load_state_dict_post_hook(naming("load post")),
    registry.register_module_parameter_registration_hook(lambda m, name, p: log("parameter", name, p.shape)),
    registry.register_module_buffer_registration_hook(lambda m, name, b: log("buffer", name, b.shape)),
    registry.register_module_module_registration_hook(lambda m, name, c: log("child", name, c.name)),
    m.register_full_backward_pre_hook(naming("backward pre")),
    m.register_full_backward_hook(naming("backward")),
]
with torch.no_grad():
    print(m(torch.ones(1)))
    once = m.a.register_forward_hook(lambda mod, args, out: once.remove())
    print(m(torch.ones(1)))
    print(len(m.a._forward_hooks))

    def fail(mod, args):
        raise ValueError("stopped here")

    with m.b.register_forward_pre_hook(fail):
        try:
            m(torch.ones(1))
        except ValueError as e:
            print(e)
    m.forward(torch.ones(1))
state = m.state_dict()
print(list(state))
print(m.load_state_dict(state))
m.c = Leaf("c")
m.register_buffer("d", torch.zeros(2))
print(len(m._backward_hooks), len(m._backward_pre_hooks), m._is_full_backward_hook)
try:
    m.register_backward_hook(naming("old"))
except RuntimeError as e:
    print(e)
for handle in handles:
    handle.remove()
with torch.no_grad():
    print(m(torch.ones(1)))
print([len(v) for k, v in m.__dict__.items() if k.endswith("hooks")])
