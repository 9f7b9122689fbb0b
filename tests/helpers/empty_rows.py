"""Calls with rows of no elements that begin where their storage ends: nothing of them may be read."""


def ends(torch, shape, dtype, last=0):
    """A tensor without elements whose first place is the one behind the last element of a storage.

    Its rows lie one element apart, its columns `last`: of what is stretched the columns lie in one place.
    """
    steps = [last if d == len(shape) - 1 else 1 for d in range(len(shape))]
    return torch.zeros(16, dtype=dtype).as_strided(shape, steps, 16 if shape[0] == 0 else 0)


def selecting(torch, x, i):
    yield "embedding", lambda: torch.nn.functional.embedding(i, x)
    yield "index_select", lambda: torch.index_select(x, 0, i)
    yield "index", lambda: x[i]
    yield "index of two", lambda: x[i, :, None]
    yield "gather", lambda: torch.gather(x, 0, i[:, None].expand(3, 0))
    yield "gather along", lambda: torch.gather(x, 1, i[:0].expand(17, 0))
    yield "take_along_dim", lambda: torch.take_along_dim(x, i[:, None], 0)
    yield "take", lambda: torch.take(x, i[:0])
    yield "masked_select", lambda: torch.masked_select(x, x == 0)
    yield "repeat_interleave", lambda: torch.repeat_interleave(x, 2, 0)
    yield "unfold", lambda: x.unfold(0, 2, 1).contiguous()
    yield "diagonal", lambda: torch.diagonal(x).contiguous()
    yield "nonzero", lambda: torch.nonzero(x)


def writing(torch, x, i):
    rows = x[:3]
    yield "index_put", lambda: x.clone().index_put_((i,), rows)
    yield "index_put accumulate", lambda: x.clone().index_put_((i,), rows, accumulate=True)
    yield "index_add", lambda: torch.index_add(x, 0, i, rows)
    yield "index_copy", lambda: torch.index_copy(x, 0, i, rows)
    yield "index_fill", lambda: torch.index_fill(x, 0, i, 1)
    yield "scatter", lambda: torch.scatter(x, 0, i[:, None].expand(3, 0), rows)
    yield "scatter number", lambda: torch.scatter(x, 0, i[:, None].expand(3, 0), 1)
    yield "scatter_add", lambda: torch.scatter_add(x, 0, i[:, None].expand(3, 0), rows)
    yield "scatter_reduce", lambda: torch.scatter_reduce(x, 0, i[:, None].expand(3, 0), rows, "sum")
    yield "select_scatter", lambda: torch.select_scatter(x, x[16], 0, 16)
    yield "slice_scatter", lambda: torch.slice_scatter(x, rows, 0, 14)
    yield "masked_fill", lambda: torch.masked_fill(x, x == 0, 1)
    yield "masked_scatter", lambda: torch.masked_scatter(x, x == 0, rows)
    yield "where", lambda: torch.where(x == 0, x, x)
    yield "put", lambda: x.clone().put_(i[:0], rows)


def moving(torch, x, i):
    pad = torch.nn.functional.pad
    yield "pad", lambda: pad(x, (2, 1), value=3)
    yield "pad rows", lambda: pad(x, (0, 0, 1, 2))
    yield "cat", lambda: torch.cat([x, x[16:], x], 0)
    yield "cat of columns", lambda: torch.cat([x, torch.ones(17, 2, dtype=x.dtype), x], 1)
    yield "stack", lambda: torch.stack([x, x], 1)
    yield "roll", lambda: torch.roll(x, 3, 0)
    yield "roll flat", lambda: torch.roll(x, 3)
    yield "flip", lambda: torch.flip(x, (0, 1))
    yield "repeat", lambda: x.repeat(2, 3)
    yield "tril", lambda: torch.tril(x)
    yield "triu", lambda: torch.triu(x, -1)
    yield "clone", lambda: x.clone()
    yield "turned", lambda: x.t().contiguous()
    yield "cast", lambda: x.to(torch.float64)
    yield "cast to int", lambda: x.to(torch.int16)
    yield "copy", lambda: torch.ones(17, 0).copy_(x)
    yield "copy of a row", lambda: torch.ones(5, 0).copy_(x[16])


def computing(torch, x, i):
    yield "add", lambda: x + x[16]
    yield "sum", lambda: x.sum(1)
    yield "cumsum", lambda: torch.cumsum(x, 1)
    yield "sort", lambda: torch.sort(x, 1)[0]
    yield "sort rows", lambda: torch.sort(x, 0)[0]
    yield "outer", lambda: torch.outer(x[16], x[:3].sum(1))
    if x.dtype.is_floating_point:
        yield "matmul", lambda: x @ x.t()
        yield "addr", lambda: torch.addr(x, x.sum(1), x[16])
        yield "softmax", lambda: torch.softmax(x, 1)
        yield "layer_norm", lambda: torch.nn.functional.layer_norm(x, (0,))
        yield "embedding_bag", lambda: torch.nn.functional.embedding_bag(i[None], x)
        yield "attention", lambda: torch.nn.functional.scaled_dot_product_attention(x, x, x)


def spatial(torch, dtype):
    if not dtype.is_floating_point:
        return
    pad = torch.nn.functional.pad
    x = ends(torch, (2, 0, 3), dtype, 1)
    yield "pad reflect", lambda: pad(x, (1, 1), mode="reflect")
    yield "pad replicate", lambda: pad(x, (1, 1), mode="replicate")
    yield "pad circular", lambda: pad(x, (1, 1), mode="circular")
    y = ends(torch, (0, 4, 2, 2), dtype, 1)
    yield "pixel_shuffle", lambda: torch.pixel_shuffle(y, 2)
    yield "pixel_unshuffle", lambda: torch.pixel_unshuffle(y, 2)
    yield "unfold of images", lambda: torch.nn.functional.unfold(y, 2)


def calls(torch, dtype):
    """Pairs of a name and what makes the call."""
    i = torch.tensor([16, 0, 16])
    for last in (0, 1):
        x = ends(torch, (17, 0), dtype, last)
        for kind in (selecting, writing, moving, computing):
            yield from ((f"{name}, columns {last} apart", call) for name, call in kind(torch, x, i))
    yield from spatial(torch, dtype)


DTYPES = ("float32", "float64", "bfloat16", "int64", "uint8", "bool")


def answers(torch, dtype):
    """By name: shape, dtype and values, or that it is an error."""
    found = {}
    for name, call in calls(torch, getattr(torch, dtype)):
        try:
            made = call()
            found[name] = [list(made.shape), str(made.dtype).split(".")[-1], str(made.flatten().tolist())]
        except (RuntimeError, IndexError) as error:
            found[name] = [type(error).__name__]
    return found


def backwards(torch):
    """The shapes of the gradients, by name."""
    i = torch.tensor([16, 0, 16])
    x = ends(torch, (17, 0), torch.float32).requires_grad_()
    found = {}
    for kind in (selecting, writing, moving, computing):
        for name, call in kind(torch, x, i):
            made = call()
            if made.requires_grad:
                (grad,) = torch.autograd.grad(made.sum(), x)
                found[name] = [list(grad.shape)]
    return found
