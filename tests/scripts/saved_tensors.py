"""autograd.graph: hooks on saved tensors, on several tensors, and edges in place of tensors."""

import torch
from torch.autograd import grad, graph


def fresh():
    return torch.tensor([1.0, 2.0], requires_grad=True)


def pack(x):
    print("pack", x)
    return x.detach().clone()


def unpack(x):
    print("unpack", x)
    return x


def packed():
    x = fresh()
    with graph.saved_tensors_hooks(pack, unpack):
        y = x * x
        z = y.log()
    z.sum().backward()
    return x.grad


def packed_and_differentiated_twice():
    x = fresh()
    with graph.saved_tensors_hooks(lambda t: t.tolist(), torch.tensor):
        y = x * x * x
    (g,) = grad(y.sum(), x, create_graph=True)
    g.sum().backward()
    return x.grad


def innermost_only():
    x = fresh()
    with graph.saved_tensors_hooks(lambda t: print("outer"), unpack):
        with graph.saved_tensors_hooks(lambda t: print("inner"), unpack):
            x.log()
        x.log()
    x.log()


def on_the_cpu():
    x = fresh()
    with graph.save_on_cpu(pin_memory=True):
        y = x * x
    y.sum().backward()
    return x.grad


def disabled():
    with graph.disable_saved_tensors_hooks("not here"), graph.saved_tensors_hooks(pack, unpack):
        pass


def disabled_too_late():
    with graph.saved_tensors_hooks(pack, unpack), graph.disable_saved_tensors_hooks("not here"):
        pass


def unpacks_no_tensor():
    x = fresh()
    with graph.saved_tensors_hooks(lambda t: t, lambda t: 3):
        y = x * x
    y.sum().backward()


def packs_in_place():
    x = fresh() * 1
    with graph.saved_tensors_hooks(lambda t: t.mul_(2), unpack):
        x * x


def pack_fails():
    x = fresh()
    with graph.saved_tensors_hooks(lambda t: 1 / 0, unpack):
        x * x


def edges():
    x = fresh()
    y = x * 2
    of_x, of_y = graph.get_gradient_edge(x), graph.get_gradient_edge(y)
    print(of_x.node.name(), of_y.node.name(), of_x.output_nr, type(of_x).__name__)
    print(grad((y * 3).sum(), [of_x, of_y], retain_graph=True), grad(of_y, x, torch.ones(2)))
    torch.autograd.backward(graph.get_gradient_edge((x * 5).sum()))
    return x.grad


def edge_of_nothing():
    graph.get_gradient_edge(torch.ones(2))


def versions():
    x, before = fresh() * 1, 0
    graph.increment_version(x)
    graph.increment_version([x, x])
    return x._version - before


def version_of_a_number():
    graph.increment_version([3])


def hook_on_all():
    a, b = fresh(), fresh()
    c, d = a * b, a * b
    handle = graph.register_multi_grad_hook((a, b, c, d), lambda grads: print([g is not None for g in grads]))
    c.sum().backward(retain_graph=True)
    c.sum().backward(inputs=(a,), retain_graph=True)
    (c + d).sum().backward(retain_graph=True)
    handle.remove()
    c.sum().backward()


def hook_on_any():
    a, b = fresh(), fresh()
    c = a * b
    graph.register_multi_grad_hook((a, b, c), lambda g: print("first", g), mode="any")
    c.sum().backward()


def hook_on_some():
    graph.register_multi_grad_hook((fresh(),), print, mode="some")


def the_node_that_runs():
    y = fresh() * 2
    y.register_hook(lambda g: print(torch._C._current_autograd_node().name()))
    y.sum().backward()
    return torch._C._current_autograd_node(), torch._C._current_graph_task_id()


for case in [value for value in dict(globals()).values() if getattr(value, "__module__", "") == __name__]:
    if case in (fresh, pack, unpack):
        continue
    try:
        print(case.__name__, "->", case())
    except (RuntimeError, TypeError, ValueError, ZeroDivisionError) as error:
        print(case.__name__, "!!", type(error).__name__, error)
