"""Samples: random numbers."""

from samples.sample import WHOLE, S, x


def _random(**extra):
    return [S((2, 3), **extra), S((20,), **extra), S((0, 3), **extra), S((), **extra)]


SAMPLES = {
    "rand": _random(),
    "randn": _random(),
    "rand_like": [S(x(2, 3)), S(x(20))],
    "randn_like": [S(x(2, 3)), S(x(20))],
    "randint": [S(10, (2, 3)).but("bool"), S(100, (20,)).but("bool"), S(2, (20,))],
    "randint_low": [S(-5, 10, (2, 3)).but("bool", "uint8"), S(3, 9, (20,)).but("bool"), S(0, 2, (3,))],
    "randperm": [S(10), S(1), S(0)],
    "uniform_": [S(x(2, 3)), S(x(20), -1.0, 2.0)],
    "normal_": [S(x(2, 3)), S(x(20), 1.0, 2.0)],
    "bernoulli_": [S(x(2, 3)), S(x(20), 0.25)],
    "random_": [S(x(2, 3)), S(x(20))],
    "random_to_": [S(x(2, 3), 10).but("bool"), S(x(20), 100).but("bool"), S(x(3), 2)],
    "random_from_": [S(x(2, 3), 0, 10).but("bool"), S(x(20), 1, 100).but("bool"), S(x(3), 0, None)],
    "dropout": [S(x(2, 3), 0.5, False), S(x(20), 0.5, True), S(x(20), 0.0, True), S(x(20), 1.0, True)],
}
FACTORIES = {"rand", "randn", "randint", "randint_low", "randperm"}
RANDOM = set(SAMPLES)
NARROWER = {("dropout", dtype) for dtype in WHOLE}
