"""The random streams: numbers recorded from PyTorch 2.13 on a CPU (floats in hexadecimal, so exact)."""

import hashlib

import pytest

import rushlight as torch

RECORDED = {
    "rand": [
        "0x1.fc2ab00000000p-2",
        "0x1.89545e0000000p-1",
        "0x1.6a67500000000p-4",
        "0x1.0e66000000000p-3",
        "0x1.3acd0c0000000p-2",
    ],
    "rand_double": ["0x1.f0aac97c4aa2fp-1", "0x1.6a675d821ccc0p-1", "0x1.d6687b744a5f6p-2"],
    "uniform_": [
        "0x1.34a7000000000p+1",
        "0x1.499a400000000p+1",
        "-0x1.5ef3400000000p-4",
        "0x1.65f4a40000000p+1",
    ],
    "randn_small": [
        "0x1.8a7eb80000000p+0",
        "-0x1.2c78a00000000p-2",
        "-0x1.16e2920000000p+1",
        "0x1.23096c0000000p-1",
        "-0x1.15a3420000000p+0",
    ],
    "randn_double": ["0x1.8a7eb8902be3ap+0", "-0x1.2c78a087c6feap-2", "-0x1.16e2920a70ee5p+1"],
    "randint": [4, 9, 3, 0, 3, 9, 7, 3],
    "randint_big": [741280623151, 506137267392, 291447657211],
    "randperm": [4, 1, 7, 5, 3, 9, 0, 8, 6, 2],
    "bernoulli_": [
        "0x0.0p+0",
        "0x0.0p+0",
        "0x0.0p+0",
        "0x0.0p+0",
        "0x0.0p+0",
        "0x0.0p+0",
        "0x1.0000000000000p+0",
        "0x0.0p+0",
        "0x0.0p+0",
        "0x1.0000000000000p+0",
    ],
    "rand_half": [
        "0x1.fc40000000000p-2",
        "0x1.8940000000000p-1",
        "0x1.6a80000000000p-4",
        "0x1.0e80000000000p-3",
    ],
    "rand_bfloat16": [
        "0x1.fc00000000000p-2",
        "0x1.8a00000000000p-1",
        "0x1.6a00000000000p-4",
        "0x1.0e00000000000p-3",
    ],
    "mixed": ["0x1.23096c0000000p-1", "0x1.4875f80000000p-3"],
    "dropout": [
        "0x1.0000000000000p+1",
        "0x1.0000000000000p+1",
        "0x0.0p+0",
        "0x0.0p+0",
        "0x0.0p+0",
        "0x0.0p+0",
        "0x1.0000000000000p+1",
        "0x0.0p+0",
        "0x0.0p+0",
        "0x0.0p+0",
    ],
    "randn_block": [
        -1.12584,
        -1.15236,
        -0.25058,
        -0.43388,
        0.59884,
        -1.5551,
        -0.34136,
        1.85301,
        0.4681,
        -0.15771,
        1.44366,
        0.26605,
        1.38937,
        1.58633,
        0.9463,
        -0.84368,
        0.93183,
        1.25901,
        2.00498,
        0.05374,
    ],
    "state": "6b946b1e8eaa7cc34c15471fd11e2776616c44bd026ff5c4edf74976ee06e4c3",
    "negative_seed": ["0x1.dc93cc0000000p-1", "0x1.524a720000000p-1"],
}

DRAWS = {
    "rand": (0, lambda: torch.rand(5)),
    "rand_double": (0, lambda: torch.rand(3, dtype=torch.float64)),
    "uniform_": (42, lambda: torch.empty(4).uniform_(-2, 3)),
    "randn_small": (0, lambda: torch.randn(5)),
    "randn_double": (0, lambda: torch.randn(3, dtype=torch.float64)),
    "randint": (0, lambda: torch.randint(0, 10, (8,))),
    "randint_big": (0, lambda: torch.randint(0, 2**40, (3,))),
    "randperm": (0, lambda: torch.randperm(10)),
    "bernoulli_": (0, lambda: torch.empty(10).bernoulli_(0.3)),
    "rand_half": (0, lambda: torch.rand(4, dtype=torch.float16)),
    "rand_bfloat16": (0, lambda: torch.rand(4, dtype=torch.bfloat16)),
    "dropout": (7, lambda: torch.dropout(torch.ones(10), 0.5, True)),
    "negative_seed": (-5, lambda: torch.rand(2)),
}


def exact(t):
    return [float(x).hex() if t.is_floating_point() else int(x) for x in t.tolist()]


@pytest.mark.parametrize("name", DRAWS)
def test_draws_what_pytorch_draws(name):
    seed, draw = DRAWS[name]
    torch.manual_seed(seed)
    assert exact(draw()) == RECORDED[name]


def test_the_second_normal_is_carried_across_calls():
    torch.manual_seed(0)
    torch.randn(3)
    torch.rand(2)
    assert exact(torch.randn(2)) == RECORDED["mixed"]


def test_blocks_of_sixteen_normals():
    torch.manual_seed(0)
    assert torch.randn(20).tolist() == pytest.approx(RECORDED["randn_block"], abs=2e-5)


def test_state_is_pytorchs_byte_for_byte():
    torch.manual_seed(123)
    torch.rand(700)
    torch.randn(1)
    state = torch.get_rng_state()
    assert state.numel() == 5056
    assert hashlib.sha256(state.numpy().tobytes()).hexdigest() == RECORDED["state"]


def test_state_comes_back():
    torch.manual_seed(5)
    torch.randn(3)
    state = torch.get_rng_state()
    first = torch.randn(7).tolist()
    torch.set_rng_state(state)
    assert torch.randn(7).tolist() == first


@pytest.mark.parametrize("at, value", [(8, 255), (12, 255), (16, 255), (20, 255)])
def test_a_forged_state_cannot_read_outside(at, value):
    state = torch.get_rng_state()
    state[at : at + 4] = value
    before = torch.get_rng_state()
    if at == 12:  # only a flag
        torch.set_rng_state(state)
    else:
        with pytest.raises(RuntimeError, match="RNG state"):
            torch.set_rng_state(state)
    assert torch.equal(before[24:], torch.get_rng_state()[24:])
    torch.rand(2000)


def test_generators_are_independent():
    g = torch.Generator().manual_seed(0)
    torch.manual_seed(1)
    assert exact(torch.rand(5, generator=g)) == RECORDED["rand"]
    assert g.initial_seed() == 0 and torch.initial_seed() == 1
