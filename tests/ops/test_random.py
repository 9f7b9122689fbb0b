"""The random streams: numbers recorded from PyTorch 2.13 on a CPU (floats in hexadecimal, so exact)."""

import copy
import hashlib
import io
import os
import pickle
import subprocess
import sys

import numpy as np
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
        "-0x1.20370a0000000p+0",
        "-0x1.2701140000000p+0",
        "-0x1.0097ac0000000p-2",
        "-0x1.bc4aba0000000p-2",
        "0x1.329b160000000p-1",
        "-0x1.8e1ab60000000p+0",
        "-0x1.5d8d940000000p-2",
        "0x1.da5e9c0000000p+0",
        "0x1.df54aa0000000p-2",
        "-0x1.42febe0000000p-3",
        "0x1.7193b60000000p+0",
        "0x1.106f420000000p-2",
        "0x1.63ad800000000p+0",
        "0x1.961a000000000p+0",
        "0x1.e481380000000p-1",
        "-0x1.aff6660000000p-1",
        "0x1.dd18600000000p-1",
        "0x1.424e6e0000000p+0",
        "0x1.00a3340000000p+1",
        "0x1.b836740000000p-5",
    ],
    "exponential_": ["0x1.1c4a6c0000000p-5", "0x1.5a04f80000000p-2", "0x1.7b80940000000p+0"],
    "log_normal_": ["0x1.8fbad00000000p+3", "0x1.b04eac0000000p+5", "0x1.ee5af40000000p-1"],
    "cauchy_": ["-0x1.b2c35c0000000p-3", "-0x1.3b94880000000p-2", "0x1.3298720000000p+0"],
    "geometric_": [
        "0x1.4000000000000p+2",
        "0x1.0000000000000p+1",
        "0x1.8000000000000p+1",
        "0x1.0000000000000p+2",
    ],
    "poisson": [
        "0x1.0000000000000p+0",
        "0x1.8000000000000p+1",
        "0x1.c000000000000p+3",
        "0x1.3400000000000p+6",
        "0x1.f180000000000p+9",
    ],
    "binomial": [
        "0x1.0000000000000p+1",
        "0x1.c000000000000p+4",
        "0x1.1800000000000p+5",
        "0x1.6000000000000p+3",
    ],
    "bernoulli": [
        "0x0.0p+0",
        "0x0.0p+0",
        "0x0.0p+0",
        "0x0.0p+0",
        "0x0.0p+0",
        "0x1.0000000000000p+0",
        "0x1.0000000000000p+0",
        "0x1.0000000000000p+0",
    ],
    "randint_like": [
        "0x1.0000000000000p+2",
        "0x1.8000000000000p+1",
        "0x1.8000000000000p+1",
        "0x1.c000000000000p+2",
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
    "randn_block": (0, lambda: torch.randn(20)),
}
# One after the other, from the seed 3: each takes what it needs and no more.
IN_A_ROW = {
    "exponential_": lambda: torch.empty(3).exponential_(),
    "log_normal_": lambda: torch.empty(3).log_normal_(),
    "cauchy_": lambda: torch.empty(3).cauchy_(),
    "geometric_": lambda: torch.empty(4).geometric_(0.3),
    "poisson": lambda: torch.poisson(torch.tensor([0.5, 3, 12, 100, 1000])),
    "binomial": lambda: torch.binomial(
        torch.tensor([5.0, 30, 100, 1000]), torch.tensor([0.3, 0.9, 0.4, 0.01])
    ),
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


def test_draws_in_a_row():
    torch.manual_seed(3)
    for name, draw in IN_A_ROW.items():
        assert exact(draw()) == RECORDED[name], name
    assert torch.multinomial(torch.arange(10.0), 4).tolist() == [7, 6, 9, 8]
    assert torch.multinomial(torch.arange(10.0), 6, True).tolist() == [8, 8, 6, 8, 6, 6]
    assert exact(torch.bernoulli(torch.full((8,), 0.4))) == RECORDED["bernoulli"]
    torch.normal(torch.arange(3.0), torch.arange(3.0) + 1)
    assert exact(torch.randint_like(torch.zeros(4), 9)) == RECORDED["randint_like"]


def test_kernels_draw_the_same_normals():
    """Vectors and the C library's fused multiply-add, over blocks, chunks and ends that are not full."""
    code = """if True:
        import hashlib, rushlight as torch
        digest = hashlib.sha256()
        for n in (16, 17, 31, 512, 513, 20000):
            torch.manual_seed(n)
            for x in (torch.randn(n), torch.empty(n).normal_(1.5, 2.7), torch.normal(torch.randn(n), 0.3)):
                digest.update(x.numpy().tobytes())
            digest.update(torch.get_rng_state().numpy().tobytes())
        print(digest.hexdigest())
    """
    answers = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"RUSHLIGHT_KERNELS": kernels, "RUSHLIGHT_ISA": isa},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for kernels, isa in (("", ""), ("", "avx2"), ("ref", ""))
    }
    assert len(answers) == 1 and len(answers.pop()) == 65


NOT_A_NUMBER = float("nan")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_odd_counts_and_chances_come_to_an_end(dtype):
    odd = torch.tensor([NOT_A_NUMBER, float("inf"), 1e30, 0.0, -1.0, 20.0], dtype=getattr(torch, dtype))
    for chance in (NOT_A_NUMBER, 0.0, 1e-40, 1e-7, 0.3, 0.5, 1.0, 2.0, float("inf")):
        drawn = torch.binomial(odd, torch.full_like(odd, chance))
        assert drawn[3] == 0 and drawn[4] == 0
    assert torch.poisson(odd[1:4]).tolist() == [-(2.0**63), -(2.0**63), 0.0]


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
        with pytest.raises(RuntimeError, match="Invalid mt19937 state"):
            torch.set_rng_state(state)
    assert torch.equal(before[24:], torch.get_rng_state()[24:])
    torch.rand(2000)


def test_generators_are_independent():
    g = torch.Generator().manual_seed(0)
    torch.manual_seed(1)
    assert exact(torch.rand(5, generator=g)) == RECORDED["rand"]
    assert g.initial_seed() == 0 and torch.initial_seed() == 1


# ---- seeds ----
class Index:
    def __index__(self):
        return 7


@pytest.mark.parametrize(
    ("seed", "wanted"),
    [
        (1.5, 1),
        (True, 1),
        (" 4 ", 4),
        (np.int64(3), 3),
        (-1, 2**64 - 1),
        (2**64 - 1, 2**64 - 1),
        (Index(), 7),
    ],
)
def test_seeds_of_the_default_stream_go_through_int(seed, wanted):
    assert torch.manual_seed(seed) is torch.default_generator and torch.initial_seed() == wanted
    first = torch.rand(3).tolist()
    assert torch.rand(3, generator=torch.Generator().manual_seed(wanted)).tolist() == first


@pytest.mark.parametrize(
    "seed", [1.5, True, None, "3", b"5", 1j, [1], Index(), np.float64(2), np.bool_(True)]
)
def test_seeds_of_generators_are_ints(seed):
    g = torch.Generator().manual_seed(3)
    kind = type(seed).__name__ if not isinstance(seed, np.generic) else f"numpy.{type(seed).__name__}"
    with pytest.raises(RuntimeError, match=f"^manual_seed expected a long, but got {kind}$"):
        g.manual_seed(seed)
    assert g.initial_seed() == 3
    for number in (np.int64(-3), np.uint64(2**64 - 1), np.int8(5)):
        assert g.manual_seed(number).initial_seed() == int(number) % 2**64


@pytest.mark.parametrize("seed", [2**64, -(2**63) - 1, 2**70])
def test_seeds_that_are_too_large(seed):
    for start in (torch.manual_seed, torch.Generator().manual_seed):
        with pytest.raises(ValueError, match="^Overflow when unpacking long long$"):
            start(seed)


def test_seeds_from_the_system():
    g = torch.Generator()
    assert g.seed() == g.initial_seed() != torch.Generator().seed()
    assert torch.seed() == torch.initial_seed()


# ---- copies of generators ----
COPIES = {
    "clone_state": lambda g: g.clone_state(),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda g: pickle.loads(pickle.dumps(g)),
    "pickle 2": lambda g: pickle.loads(pickle.dumps(g, 2)),
    "state": lambda g: torch.Generator().set_state(g.get_state()),
    "setstate": lambda g: (new := torch.Generator(), new.__setstate__(g.__reduce__()[2]))[0],
    "file": lambda g: loaded({"g": g})["g"],
    "old file": lambda g: loaded({"g": g}, _use_new_zipfile_serialization=False)["g"],
}


def loaded(obj, **options):
    file = io.BytesIO()
    torch.save(obj, file, **options)
    for _ in range(3):  # what lay in the memory of the numbers
        torch.full((5056,), 255, dtype=torch.uint8)
    file.seek(0)
    return torch.load(file, weights_only=False)


@pytest.mark.parametrize("way", COPIES)
def test_copies_go_on_from_where_they_were_taken(way):
    g = torch.Generator().manual_seed(5)
    torch.randn(3, generator=g, dtype=torch.float64)
    twin = COPIES[way](g)
    assert twin is not g and isinstance(twin, torch.Generator) and type(copy.copy(twin)) is torch.Generator
    assert twin.initial_seed() == 5 and twin.device == torch.device("cpu")
    wanted = torch.randn(7, generator=g).tolist()
    assert torch.randn(7, generator=twin).tolist() == wanted
    assert torch.equal(twin.get_state(), g.get_state())
    torch.rand(1, generator=twin)
    assert not torch.equal(twin.get_state(), g.get_state())


def test_copies_of_the_default_generator_are_apart():
    torch.manual_seed(4)
    for twin in (copy.deepcopy(torch.default_generator), pickle.loads(pickle.dumps(torch.default_generator))):
        assert twin is not torch.default_generator and twin.initial_seed() == 4
    pair = copy.deepcopy([twin, twin])
    assert pair[0] is pair[1] is not twin


def test_what_generators_are_made_of():
    make, args, state = torch.Generator().manual_seed(8).__reduce__()
    assert make is torch.Generator and args == (torch.device("cpu"),)
    assert state[:2] == (8, None) and state[2].shape == (5056,)


def test_what_only_generators_of_gpus_have():
    g = torch.Generator()
    for call in (g.get_offset, lambda: g.set_offset(4)):
        with pytest.raises(RuntimeError, match="^CPU Generator does not use offset$"):
            call()
    with pytest.raises(RuntimeError, match="^manual_offset expected a long, but got float$"):
        g.set_offset(1.5)
    for call in (g.graphsafe_get_state, lambda: g.graphsafe_set_state(g)):
        with pytest.raises(
            NotImplementedError, match="graphsafe_.et_state is not supported in this Generator"
        ):
            call()
    with pytest.raises(TypeError, match="^expected a Generator, but got int$"):
        g.graphsafe_set_state(3)


@pytest.mark.parametrize(
    ("state", "error", "text"),
    [
        (1, TypeError, "expected a torch.ByteTensor, but got int"),
        (torch.zeros(5056), TypeError, "RNG state must be a torch.ByteTensor"),
        (
            torch.zeros(3, dtype=torch.uint8),
            RuntimeError,
            "Expected a CPUGeneratorImplState of size 5056 but found",
        ),
        (torch.zeros(10112, dtype=torch.uint8)[::2], RuntimeError, "RNG state must be contiguous"),
        (torch.zeros(5056, dtype=torch.uint8), RuntimeError, "Invalid mt19937 state"),
    ],
)
def test_wrong_states(state, error, text):
    g = torch.Generator().manual_seed(2)
    before = g.get_state()
    with pytest.raises(error, match=f"^{text}"):
        g.set_state(state)
    with pytest.raises(error, match=f"^{text}"):
        g.__setstate__((2, None, state))
    for wrong in (3, (1, 2), ("a", None, before), (1, 3, before)):
        with pytest.raises((TypeError, ValueError, RuntimeError)):
            g.__setstate__(wrong)
    assert torch.equal(g.get_state(), before)


def test_subclasses_of_generators():
    class Own(torch.Generator):
        pass

    g = Own().manual_seed(3)
    g.note = 1
    assert (
        type(g) is Own
        and torch.rand(2, generator=g).tolist()
        == torch.rand(2, generator=torch.Generator().manual_seed(3)).tolist()
    )
    assert type(copy.deepcopy(g)) is type(g.clone_state()) is torch.Generator
