"""Recurrent layers beside PyTorch: one process, in turns.

    python benchmarks/bench_rnn.py [--quick] [--json]

Two layers of 128 units over 50 steps of 128 numbers, batch 1 and 32: forward without gradients, and a step of
training with SGD; then a cell, and sequences of different lengths. Prints the minimum of each side in
milliseconds and the ratio beside the goal. Needs torch.
"""

import torch as other

import rushlight as mine
import rushlight.nn
import rushlight.optim  # noqa: F401
from harness import Bench, repeated

UNITS, STEPS = 128, 50


def layers(t, kind):
    t.manual_seed(0)
    return getattr(t.nn, kind)(UNITS, UNITS, 2)


def source(t, batch):
    t.manual_seed(1)
    return t.randn(STEPS, batch, UNITS)


def forward(t, kind, batch):
    net, x = layers(t, kind).eval(), source(t, batch)

    def run():
        with t.no_grad():
            return net(x)[0]

    return run


def training_step(t, kind, batch):
    net, x = layers(t, kind).train(), source(t, batch)
    optimizer = t.optim.SGD(net.parameters(), lr=0.01)

    def run():
        optimizer.zero_grad()
        loss = (net(x)[0] ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return run


def packed(t, kind, batch):
    """Sequences of 50 steps, 49 steps, and so on."""
    net = layers(t, kind).eval()
    lengths = [STEPS - i for i in range(batch)]
    x = t.nn.utils.rnn.pack_padded_sequence(source(t, batch), lengths)

    def run():
        with t.no_grad():
            return net(x)[0].data

    return run


def cell(t, kind, batch):
    t.manual_seed(0)
    net, x = getattr(t.nn, f"{kind}Cell")(UNITS, UNITS), source(t, batch)[0]

    def run():
        with t.no_grad():
            answer = net(x)
        return answer if isinstance(answer, t.Tensor) else answer[0]

    return run


def cases():
    """Name, what makes the function, calls in a round, goal."""
    for kind in ("LSTM", "GRU", "RNN"):
        fast = kind == "LSTM"
        for batch in (1, 32):
            calls = 20 // batch + 2
            for name, make, goal in (
                ("forward", forward, 1.5 if fast else 1.0),
                ("training step", training_step, 1.2 if fast else 1.0),
                ("cell", cell, 1.0),
            ):
                more = kind, batch
                count = calls * 20 if make is cell else calls
                yield f"{kind}, batch {batch}, {name}", lambda t, f=make, m=more: f(t, *m), count, goal
        yield f"{kind}, batch 32, packed", lambda t, k=kind: packed(t, k, 32), 2, 1.0


def main():
    bench = Bench(__doc__)
    for name, make, calls, goal in cases():
        theirs, ours = make(other), make(mine)

        def check(theirs=theirs, ours=ours):
            a, b = (v.float().flatten().tolist() for v in (theirs(), ours()))
            worst = max(abs(p - q) for p, q in zip(a, b, strict=True))
            return worst < 1e-4 or f"by {worst}"

        rounds = 4 if bench.quick else 20
        case = bench.compare(name, repeated(theirs), repeated(ours), check, calls, rounds, goal=goal)
        a, b = (case.min(side) * 1e3 for side in ("theirs", "ours"))
        bench.say(f"{name:<28}torch {a:8.3f}   rushlight {b:8.3f} ms   {case.ratio:5.2f}x   goal {goal}x")


if __name__ == "__main__":
    main()
