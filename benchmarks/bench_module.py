"""Module against torch's: both run in turns in this process, after their results were found equal.

python benchmarks/bench_module.py [--quick] [--json]
"""

import torch as other

import rushlight as mine
import rushlight.nn
from harness import Bench, statement


def build(torch, nn):

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

    plain, hooked = Identity(), Identity()
    net = nn.Sequential(*[Block() for _ in range(66)], Identity())  # 200 modules
    plain.weight = weight = nn.Parameter(torch.zeros(2))
    plain.conv1 = Identity()
    hooked.register_forward_pre_hook(lambda m, args: None)
    hooked.register_forward_hook(lambda m, args, out: None)
    return {
        "m": plain,
        "h": hooked,
        "w": weight,
        "x": weight,
        "net": net,
        "Module": nn.Module,
        "Linear": nn.Linear,
        "state": net.state_dict(),
    }


# name, statement, loops, goal
CASES = [
    ("m(x), identity forward", "m(x)", 100_000, 6),
    ("m(x), 1 pre + 1 post hook", "h(x)", 50_000, 6),
    ("read m.weight", "m.weight", 200_000, 12),
    ("read m.conv1", "m.conv1", 200_000, 12),
    ("assign a Parameter", "m.weight = w", 50_000, 12),
    ("assign a number", "m.number = 1.0", 50_000, None),
    ("Module()", "Module()", 20_000, None),
    ("Linear(2, 2)", "Linear(2, 2)", 10_000, 4),
    ("named_parameters, 200 modules", "list(net.named_parameters())", 100, 6),
    ("modules, 200 modules", "list(net.modules())", 100, None),
    ("eval() + train()", "net.eval(); net.train()", 100, 40),
    ("zero_grad()", "net.zero_grad()", 100, None),
    ("state_dict()", "net.state_dict()", 100, 4),
    ("load_state_dict(state)", "net.load_state_dict(state)", 20, 15),
]


def check(a, b):
    """The same calls give the same answers on both sides."""
    for scope in (a, b):
        assert scope["m"](scope["x"]) is scope["x"]
        assert scope["h"](scope["x"]) is scope["x"]
        assert scope["m"].weight is scope["w"]
        assert str(scope["net"].load_state_dict(scope["state"])) == "<All keys matched successfully>"
    for walk in ("named_parameters", "named_modules", "named_buffers"):
        names = [[name for name, _ in getattr(scope["net"], walk)()] for scope in (a, b)]
        assert names[0] == names[1]
    assert list(a["state"]) == list(b["state"])
    weights = []
    for torch, scope in ((mine, a), (other, b)):
        torch.manual_seed(0)
        layer = scope["Linear"](2, 2)
        weights.append(layer.weight.tolist() + layer.bias.tolist())
    assert weights[0] == weights[1]
    assert repr(a["net"]) == repr(b["net"])
    assert list(a["Module"]().__dict__) == list(b["Module"]().__dict__)


def main():
    bench = Bench(__doc__)
    ours, theirs = build(mine, rushlight.nn), build(other, other.nn)
    bench.say(f"{'case':32}{'rushlight':>12}{'torch':>12}{'ratio':>9}  goal")
    for name, text, loops, goal in CASES:
        case = bench.compare(
            name,
            statement(text, theirs),
            statement(text, ours),
            lambda: check(ours, theirs),
            max(1, loops // 10) if bench.quick else loops,
            3 if bench.quick else 9,
            clock="own",
            goal=goal,
        )
        ratio = case.neighbours
        mark = "" if goal is None else f"  {goal}x {'met' if ratio >= goal else 'missed'}"
        best = f"{case.min('ours') * 1e9:>9.0f} ns{case.min('theirs') * 1e9:>9.0f} ns"
        bench.say(f"{name:32}{best}{ratio:>8.1f}x{mark}")


if __name__ == "__main__":
    main()
