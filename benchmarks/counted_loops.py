"""What count_instructions.py counts: each statement in a loop, in one process under callgrind.

python counted_loops.py <the helper's library> <a text whose length shifts heap and stack>
"""

import ctypes
import gc
import sys
from itertools import repeat

LOOPS = 500
# name, statement, loops; the names of the statements are those of scope() and stand as local variables
CASES = [
    ("relu(x), 1 element", "relu(one)", LOOPS),
    ("x.view(2, 2)", "x.view(2, 2)", LOOPS),
    ("zeros(3)", "zeros(3)", LOOPS),
    ("x[0]", "x[0]", LOOPS),
    ("a + b, 4 elements", "x + y", LOOPS),
    ("linear 1x16x16", "linear(row, weight, bias)", LOOPS),
    ("m(x), identity forward", "plain(x)", LOOPS),
    ("m(x), 1 pre + 1 post hook", "hooked(x)", LOOPS),
    ("read m.weight", "plain.weight", LOOPS),
    ("(x * 2).backward()", "(scalar * 2).backward()", LOOPS),
    ("SGD step, 4 parameters", "sgd.step()", LOOPS),
    ("state_dict(), 200 modules", "net.state_dict()", 20),
]
# plain Python, counted before rushlight is there: it tells this interpreter and libc from others
PROBE = ("interpreter", "probe(table)", LOOPS)


def probe(table):
    total, parts = 0, []
    for key, value in table.items():
        total += value * 3
        parts.append(key.upper())
    return total, "".join(parts)[1:], bytes(300)[1:], isinstance(table, int), str(total)


def shift(length):
    """Moves what is allocated from here on, and the versions that types get."""
    kept = [sys.intern(f"a name {size} {'.' * (size % 60)}") for size in range(7 * length)]
    kept += [type(f"T{number}", (), {"name": number})().name for number in range(3 * length)]
    return kept


def scope():
    import rushlight as torch
    from rushlight import nn
    from rushlight.nn import functional

    class Identity(nn.Module):
        def forward(self, x):
            return x

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = Identity()
            self.conv.weight = nn.Parameter(torch.zeros(4, 4))
            self.conv.bias = nn.Parameter(torch.zeros(4))
            self.norm = Identity()
            self.norm.register_buffer("mean", torch.zeros(4))

    torch.manual_seed(0)
    plain, hooked = Identity(), Identity()
    plain.weight = nn.Parameter(torch.zeros(2))
    hooked.register_forward_pre_hook(lambda module, args: None)
    hooked.register_forward_hook(lambda module, args, out: None)
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
    model(torch.ones(1, 4)).sum().backward()
    return {
        "relu": torch.relu,
        "zeros": torch.zeros,
        "linear": functional.linear,
        "one": torch.tensor([-1.0]),
        "x": torch.tensor([1.0, 2.0, 3.0, 4.0]),
        "y": torch.tensor([10.0, 20.0, 30.0, 40.0]),
        "row": torch.ones(1, 16),
        "weight": torch.eye(16),
        "bias": torch.ones(16),
        "plain": plain,
        "hooked": hooked,
        "scalar": torch.tensor(3.0, requires_grad=True),
        "sgd": torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9),
        "net": nn.Sequential(*[Block() for _ in range(66)], Identity()),
    }


def check(s):
    """Each statement computes what it says; none is counted before."""
    x, scalar = s["x"], s["scalar"]
    assert s["relu"](s["one"]).tolist() == [0]
    assert x.view(2, 2).tolist() == [[1, 2], [3, 4]]
    assert s["zeros"](3).tolist() == [0, 0, 0]
    assert x[0].item() == 1
    assert (x + s["y"]).tolist() == [11, 22, 33, 44]
    assert s["linear"](s["row"], s["weight"], s["bias"]).tolist() == [[2.0] * 16]
    assert s["plain"](x) is x and s["hooked"](x) is x
    assert s["plain"].weight.tolist() == [0, 0]
    (scalar * 2).backward()
    assert scalar.grad.item() == 2
    parameters = s["sgd"].param_groups[0]["params"]
    before = parameters[3].tolist()
    s["sgd"].step()
    assert len(parameters) == 4
    assert all(abs(b - 0.001 - a) < 1e-6 for b, a in zip(before, parameters[3].tolist()))
    assert len(s["net"].state_dict()) == 66 * 3
    assert len(list(s["net"].modules())) == 200


def loop_of(statement, names):
    made = {}
    exec(f"def loop(times, {', '.join(names)}):\n    for _ in times:\n        {statement}\n", made)
    return made["loop"]


def count(helper, name, statement, loops, values):
    loop = loop_of(statement, values)
    for _ in range(2):  # caches are warm, blocks of dead tensors are kept
        loop(repeat(None, loops), **values)
    times = repeat(None, loops)
    helper.count_start()
    loop(times, **values)
    helper.count_stop(name)


def main():
    helper, values = ctypes.PyDLL(sys.argv[1]), {"table": {"one": 1, "two": 2, "three": 3}, "probe": probe}
    helper.count_stop.argtypes = [ctypes.c_char_p]
    gc.disable()
    kept = shift(len(sys.argv[2]))  # noqa: F841
    helper.count_begin()
    name, statement, loops = PROBE
    count(helper, f"{name} * {loops}".encode(), statement, loops, values)
    values = scope()
    check(values)
    gc.freeze()
    for name, statement, loops in CASES:
        count(helper, f"{name} * {loops}".encode(), statement, loops, values)
    for loops in sorted({loops for *_, loops in CASES}):
        count(helper, f"empty * {loops}".encode(), "pass", loops, values)


if __name__ == "__main__":
    main()
