"""Samples: random numbers."""

from op_samples.sample import WHOLE, Placeholder, S, fixed, nz, unit, x


def _random(**extra):
    return [S((2, 3), **extra), S((20,), **extra), S((0, 3), **extra), S((), **extra)]


def _dropout():
    drops = [S(x(2, 3), 0.5, True).but(*WHOLE), S(x(4, 5, 2), 0.25, True).but(*WHOLE)]
    return [*drops, S(x(2, 3), 0.5, False), S(x(2, 3), 1.0, True)]


HALVES = ("float16", "bfloat16")
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
    "randint_like": [S(x(2, 3), 2), S(x(20), 100).but("bool")],
    "randint_like_low": [S(x(2, 3), 0, 2), S(x(20), 3, 100).but("bool")],
    "randint_like_tensor": [S(x(2, 3), fixed(2)), S(x(20), fixed(7.5)).but("bool")],
    "bernoulli": [S(unit(2, 3)).but(*WHOLE), S(unit(20)).but(*WHOLE), S(unit(0, 3))],
    "bernoulli_number": [S(x(2, 3), 0.5), S(x(20), p=0.25)],
    "bernoulli_tensor_": [
        S(x(2, 3), fixed(0.25)),
        S(x(20), fixed([0.5] * 20)),
        S(unit(3, 4), unit(4)).but(*WHOLE),
    ],
    "exponential_": [S(x(2, 3)).but(*WHOLE), S(x(20), 2.5).but(*WHOLE)],
    "geometric_": [S(x(2, 3), 0.3), S(x(20), p=0.7)],
    "log_normal_": [S(x(2, 3)), S(x(20), 0.5, std=0.25)],
    "cauchy_": [S(x(2, 3)).but(*WHOLE), S(x(20), 1.0, sigma=2.0).but(*WHOLE)],
    "normal_tensors": [
        S(x(2, 3), unit(2, 3)),
        S(x(4, 5), unit(4, 5)),
        S(x(4, 5), unit(5)),
        S(x(17), fixed(2.0)),
    ],
    "normal_mean": [S(x(2, 3)), S(x(4, 5), 2.5)],
    "normal_std": [S(1.5, unit(2, 3)), S(0.0, unit(4, 5))],
    "normal_size": [S(0.0, 1.0, (2, 3)), S(1.5, 2.5, (20,)), S(0, 1, ())],
    "poisson": [S(unit(2, 3)), S(Placeholder((20,), 0, 40)), S(unit(0, 2))],
    "binomial": [
        S(nz(4, 5), unit(4, 5)).but(*WHOLE, *HALVES),
        S(Placeholder((20,), 20, 90), unit(20)).but(*WHOLE, *HALVES),
    ],
    "_standard_gamma": [S(Placeholder(s, 0.1, 9)).but(*WHOLE, *HALVES) for s in ((2, 3), (20,), (), (0, 2))],
    "_standard_gamma_grad": [
        S(Placeholder((4, 5), 0.5, 20), Placeholder((4, 5), 0.1, 20)).but(*WHOLE, *HALVES),
        S(Placeholder((3, 7), 0.5, 20), Placeholder((7,), 0.1, 20)).but(*WHOLE, *HALVES),
    ],
    "_sample_dirichlet": [S(Placeholder(s, 0.1, 9)).but(*WHOLE, *HALVES) for s in ((2, 3), (4, 2), (0, 2))],
    "_dirichlet_grad": [
        S(Placeholder((4, 5), 0.1, 0.9), Placeholder((4, 5), 0.5, 9), Placeholder((5,), 12, 30)).but(
            *WHOLE, *HALVES
        ),
        S(Placeholder((3, 7), 0.1, 0.9), Placeholder((3, 1), 0.5, 9), Placeholder((), 12, 15)).but(
            *WHOLE, *HALVES
        ),
    ],
    "multinomial": [
        S(unit(7), 1).but(*WHOLE),
        S(unit(3, 7), 1).but(*WHOLE),
        S(unit(3, 7), 2, True).but(*WHOLE),
        S(fixed([0.1, 0.7, 0.15, 0.05]), 3),
    ],
    "multinomial_with_replacement": [S(unit(7), 3), S(unit(3, 7), 20)],
    "native_dropout": [
        S(x(2, 3), 0.5, True).but(*WHOLE),
        S(x(20), 0.25, True).but(*WHOLE),
        S(x(4), 0.5, False),
    ],
    "alpha_dropout": _dropout(),
    "alpha_dropout_": _dropout(),
    "feature_dropout": _dropout(),
    "feature_dropout_": _dropout(),
    "feature_alpha_dropout": _dropout(),
    "feature_alpha_dropout_": _dropout(),
    "dropout": [S(x(2, 3), 0.5, False), S(x(20), 0.5, True), S(x(20), 0.0, True), S(x(20), 1.0, True)],
}
PYTORCH = {
    "multinomial_with_replacement": lambda torch: (
        lambda x, n, **options: torch.multinomial(x, n, True, **options)
    )
}
FACTORIES = {"rand", "randn", "randint", "randint_low", "randperm", "normal_size"}
RANDOM = set(SAMPLES)
NARROWER = {("dropout", dtype) for dtype in WHOLE}
