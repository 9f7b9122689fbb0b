"""Where PyTorch keeps operators that have no public name there."""


def aten(name, *more):
    return lambda torch: lambda *args, **named: getattr(torch.ops.aten, name)(*args, *more, **named)


def dense_aten(name):
    """Some kernels of theirs read strided indices as if they were dense."""

    def find(torch):
        theirs = getattr(torch.ops.aten, name)

        def run(*args, **named):
            return theirs(*[a.contiguous() if isinstance(a, torch.Tensor) else a for a in args], **named)

        return run

    return find


def in_format(torch, tensor):
    """The tensor without gaps, channels last if it lies so: what their normalisation works on."""
    return tensor.contiguous(memory_format=torch._prims_common.suggest_memory_format(tensor))


def grad_of(forward):
    """The gradient of forward(input, ...) by its first argument; differentiable, where the arguments are."""

    def find(torch):
        def run(grad, source, *args, **kwargs):
            again = grad.requires_grad or source.requires_grad
            source = source if source.requires_grad else source.detach().requires_grad_()
            with torch.enable_grad():
                result = forward(torch)(source, *args, **kwargs)
            return torch.autograd.grad(result, source, grad, create_graph=again)[0]

        return run

    return find
