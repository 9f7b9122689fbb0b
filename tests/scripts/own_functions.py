"""autograd.Function: what ctx keeps, what becomes of results, and every refusal."""

import warnings

import torch
from torch.autograd import Function, grad
from torch.autograd.function import once_differentiable

warnings.simplefilter("ignore")


def fresh():
    return torch.tensor([1.0, 2.0], requires_grad=True)


def function(forward=lambda ctx, x, *rest: x * 2, backward=lambda ctx, g: g, **more):
    members = {"forward": forward, "backward": backward, **more}
    return type("Own", (Function,), {name: staticmethod(member) for name, member in members.items()})


class Scale(Function):
    @staticmethod
    def forward(ctx, x, by=2):
        result = x * by
        ctx.save_for_backward(x, None, result)
        ctx.by = by
        return result

    @staticmethod
    def backward(ctx, g):
        x, nothing, result = ctx.saved_tensors
        print("backward", ctx.needs_input_grad, x, nothing, result)
        return (g * ctx.by, *[None] * (len(ctx.needs_input_grad) - 1))


def node():
    y = Scale.apply(fresh(), 3)
    fn = y.grad_fn
    print(
        y, type(fn).__name__, fn.name(), len(fn.next_functions), fn.needs_input_grad, fn.by, fn.requires_grad
    )
    y.sum().backward()
    return fn.saved_tensors


def by_keyword():
    x = fresh()
    Scale.apply(x, by=3).sum().backward()
    return x.grad


def no_gradient_wanted():
    with torch.no_grad():
        print(Scale.apply(fresh()).grad_fn)
    return Scale.apply(torch.ones(2)).requires_grad


def several_results():
    def forward(ctx, x):
        whole, same = x.long(), x * 1
        ctx.mark_non_differentiable(same)
        return same, whole, x * 2, "text", None, x * 3

    def backward(ctx, *grads):
        print(grads)
        return grads[2] + grads[5]

    x = fresh()
    results = function(forward, backward).apply(x)
    print([getattr(r, "requires_grad", r) for r in results], [getattr(r, "output_nr", r) for r in results])
    results[2].sum().backward()
    return x.grad


def missing_gradients_stay_none():
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 1, x * 2

    def backward(ctx, *grads):
        print(grads)
        return grads[1]

    function(forward, backward).apply(fresh())[1].sum().backward()


def an_argument_as_result():
    x = fresh()
    y = function(lambda ctx, x: x, lambda ctx, g: g * 5).apply(x)
    y.sum().backward()
    print(y is x, y._base is x, y, x.grad)
    y.mul_(2)


def a_view_as_result():
    x = fresh()
    y = function(lambda ctx, x: x.view(1, 2), lambda ctx, g: g.view(2) * 5).apply(x)
    y.sum().backward()
    return y._base is x, x.grad


def views_as_results_written():
    two = function(lambda ctx, x: (x.view(1, 2), x.view(2, 1)), lambda ctx, g, h: g)
    two.apply(fresh() * 1)[0].mul_(2)


def written(ctx, x):
    ctx.mark_dirty(x)
    return x.mul_(3)


def written_argument():
    x = fresh()
    y = x * 1
    z = function(written, lambda ctx, g: g * 3).apply(y)
    z.sum().backward()
    return z is y, y._version, x.grad


def written_view():
    x = fresh()
    base = x * 1
    view = base[:1]
    z = function(written, lambda ctx, g: g * 3).apply(view)
    print(z is view, type(view.grad_fn).__name__, type(base.grad_fn).__name__)
    base.sum().backward()
    return x.grad


def written_leaf():
    function(written).apply(fresh())


def written_and_lost():
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x * 1

    function(forward).apply(fresh() * 1)


def written_view_and_more():
    function(lambda ctx, x: (written(ctx, x), x * 1)).apply((fresh() * 1)[:1])


def with_setup():
    def forward(x, by=2):
        return x * by

    def setup_context(ctx, inputs, output):
        print(inputs, output.requires_grad)
        ctx.save_for_backward(inputs[0])

    own = function(forward, lambda ctx, g: (g * 2, None), setup_context=setup_context)
    return own.apply(fresh()), own.apply(fresh(), by=3), own.apply(fresh(), 4)


def with_setup_and_nothing_given():
    function(lambda x: x, setup_context=lambda ctx, inputs, output: None).apply()


def with_setup_and_argument_saved():
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    function(lambda x: x, setup_context=setup_context).apply(fresh())


def twice_differentiable():
    def forward(ctx, x):
        result = x.exp()
        ctx.save_for_backward(result)
        return result

    x = fresh()
    y = function(forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(x)
    (g,) = grad(y.sum(), x, create_graph=True)
    g.sum().backward()
    return (x.grad - x.exp()).abs().max() < 1e-5


def once():
    own = function(backward=once_differentiable(lambda ctx, g: g * 2))
    x, weight = fresh(), fresh()
    (g,) = grad(own.apply(x).sum(), x, create_graph=True)
    print(g)
    (g,) = grad(own.apply(x), x, weight, create_graph=True)
    print(g, g.grad_fn.name())
    g.sum().backward()


def saved_and_written():
    y = fresh() * 1
    z = function(lambda ctx, x: (ctx.save_for_backward(x), x * 2)[1], lambda ctx, g: ctx.saved_tensors).apply(
        y
    )
    y.mul_(2)
    z.sum().backward()


def saved_result_written():
    def forward(ctx, x):
        result = x * 2
        ctx.save_for_backward(result)
        return result

    z = function(forward, lambda ctx, g: ctx.saved_tensors).apply(fresh())
    z.mul_(2)
    z.sum().backward()


def saved_once():
    own = function(
        lambda ctx, x: (ctx.save_for_backward(x), x * 2)[1],
        lambda ctx, g: (ctx.saved_tensors, ctx.saved_tensors),
    )
    own.clear_saved_tensors_on_access = True
    own.apply(fresh()).sum().backward()


def boxed():
    own = function(backward=lambda ctx, grads: (print(type(grads).__name__, len(grads)), grads[0])[1])
    own.boxed_grads_call = True
    own.apply(fresh()).sum().backward()


def hooks_of_the_node():
    y = Scale.apply(fresh())
    y.grad_fn.register_prehook(lambda outer: (outer[0] * 2,))
    y.grad_fn.register_hook(lambda inner, outer: print("hook", inner, outer))
    y.sum().backward()


def vjp():
    members = {"forward": staticmethod(lambda ctx, x: x * 2), "vjp": staticmethod(lambda ctx, g: g * 3)}
    x = fresh()
    type("Own", (Function,), members).apply(x).sum().backward()
    return x.grad


def vjp_and_backward():
    function(vjp=lambda ctx, g: g).apply(fresh()).sum().backward()


def too_many_gradients():
    function(backward=lambda ctx, g: (g, g)).apply(fresh()).sum().backward()


def too_few_gradients():
    function().apply(fresh(), 3).sum().backward()


def more_gradients_that_are_none():
    function(backward=lambda ctx, g: (g, None, None)).apply(fresh()).sum().backward()


def gradient_of_a_number():
    function(backward=lambda ctx, g: (g, g)).apply(fresh(), 3).sum().backward()


def gradient_that_is_a_number():
    function(backward=lambda ctx, g: 3).apply(fresh()).sum().backward()


def gradient_of_another_shape():
    function(backward=lambda ctx, g: torch.ones(3)).apply(fresh()).sum().backward()


def no_forward():
    type("Own", (Function,), {}).apply(fresh())


def no_backward():
    members = {"forward": staticmethod(lambda ctx, x: x * 2)}
    type("Own", (Function,), members).apply(fresh()).sum().backward()


def an_instance():
    return Scale()(fresh())


def saving_a_number():
    function(lambda ctx, x: (ctx.save_for_backward(x, 3), x * 2)[1]).apply(fresh())


def an_unknown_saved_name():
    return Scale.apply(fresh()).grad_fn._saved_x


def calling_the_node():
    return Scale.apply(fresh()).grad_fn(torch.ones(2))


for case in [value for value in dict(globals()).values() if getattr(value, "__module__", "") == __name__]:
    if case in (fresh, function, written, Scale):
        continue
    try:
        print(case.__name__, "->", case())
    except (RuntimeError, TypeError, NotImplementedError, AttributeError) as error:
        print(case.__name__, "!!", type(error).__name__, error)
