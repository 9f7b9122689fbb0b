"""A Transformer's encoder, and what it is made of, beside PyTorch: one process, in turns.

    python benchmarks/bench_transformer.py [--quick] [--json]

Four layers of 256 with 8 heads and 1024 inside, over 128 places: forward in eval mode, with padding as well,
and a step of AdamW; then operators over 2048 rows of 768, forward and backward. Prints the minimum of each
side in milliseconds, and the ratio beside the goal. Needs torch.
"""

import torch as other

import rushlight as mine
import rushlight.nn
import rushlight.optim  # noqa: F401
from harness import Bench, repeated

WIDTH, PLACES, ROWS, COLUMNS = 256, 128, 2048, 768


def encoder(t, dropout=0.0):
    t.manual_seed(0)
    layer = t.nn.TransformerEncoderLayer(WIDTH, 8, 1024, dropout=dropout, activation="gelu", batch_first=True)
    return t.nn.TransformerEncoder(layer, 4)


def source(t, batch):
    t.manual_seed(1)
    return t.randn(batch, PLACES, WIDTH)


def forward(t, batch, padded=False):
    net, x = encoder(t).eval(), source(t, batch)
    ends = t.tensor([[PLACES - i * 5] for i in range(batch)])
    padding = t.arange(PLACES) >= ends if padded else None

    def run():
        with t.no_grad():
            return net(x, src_key_padding_mask=padding)

    return run


def training_step(t, batch):
    net, x = encoder(t).train(), source(t, batch)
    optimizer = t.optim.AdamW(net.parameters(), lr=1e-4)

    def run():
        optimizer.zero_grad()
        loss = (net(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return run


OPERATORS = {
    "layer_norm": lambda t, x: t.nn.functional.layer_norm(x, (COLUMNS,)),
    "softmax, rows": lambda t, x: x.softmax(-1),
    "softmax, columns": lambda t, x: x.softmax(0),
    "gelu": lambda t, x: t.nn.functional.gelu(x),
    "gelu, tanh": lambda t, x: t.nn.functional.gelu(x, approximate="tanh"),
}


def operator(t, function, dtype, backward):
    t.manual_seed(2)
    x = t.randn(ROWS, COLUMNS).to(getattr(t, dtype))
    if not backward:
        return lambda: function(t, x)
    x.requires_grad_()
    y, g = function(t, x), t.randn(ROWS, COLUMNS).to(getattr(t, dtype))
    return lambda: t.autograd.grad(y, x, g, retain_graph=True)[0]


def cases():
    """Name, what makes the function, calls in a round, goal, how near results must be."""
    for batch in (1, 16):
        yield f"encoder, batch {batch}", lambda t, n=batch: forward(t, n), 3, 1.2, 1e-4
        yield f"encoder, batch {batch}, padding", lambda t, n=batch: forward(t, n, True), 3, 1.2, 1e-4
        yield f"training step, batch {batch}", lambda t, n=batch: training_step(t, n), 2, 1.1, 1e-3
    for dtype in ("float32", "bfloat16"):
        for name, function in OPERATORS.items():
            for backward in (False, True):
                title = f"{name}, {dtype}{', backward' if backward else ''}"
                more = function, dtype, backward
                yield title, lambda t, more=more: operator(t, *more), 10, 1.0, 0.05


def main():
    bench = Bench(__doc__)
    for name, make, calls, goal, near in cases():
        theirs, ours = make(other), make(mine)

        def check(theirs=theirs, ours=ours, near=near):
            a, b = (v.float().flatten().tolist() for v in (theirs(), ours()))
            worst = max(abs(p - q) for p, q in zip(a, b, strict=True))
            return worst < near or f"by {worst}"

        rounds = 4 if bench.quick else 20
        case = bench.compare(name, repeated(theirs), repeated(ours), check, calls, rounds, goal=goal)
        a, b = (case.min(side) * 1e3 for side in ("theirs", "ours"))
        bench.say(f"{name:<36}torch {a:8.3f}   rushlight {b:8.3f} ms   {case.ratio:5.2f}x   goal {goal}x")


if __name__ == "__main__":
    main()
