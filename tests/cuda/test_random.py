"""Random numbers of a device: Philox by its definition, PyTorch's layouts, generators, distributions."""

import os
import pickle

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn

from .conftest import indices_of_64_bits

WORD = np.uint64(0xFFFFFFFF)


def philox(seed, counters, threads):
    """Four words for each pair of a counter and a thread."""
    counters, threads = (np.asarray(x, np.uint64) for x in np.broadcast_arrays(counters, threads))
    half = np.uint64(32)
    c = [counters & WORD, counters >> half, threads & WORD, threads >> half]
    key = [np.uint64(seed & 0xFFFFFFFF), np.uint64(seed >> 32)]
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(b >> half) ^ c[1] ^ key[0], b & WORD, (a >> half) ^ c[3] ^ key[1], a & WORD]
        key = [(key[0] + np.uint64(0x9E3779B9)) & WORD, (key[1] + np.uint64(0xBB67AE85)) & WORD]
    return np.stack(c)


def threads_of(n, processors=4):
    """How many threads draw for n elements on the simulated device: 8 blocks of 256 on each processor."""
    return min((n + 255) // 256, processors * 8) * 256


def words_of(seed, n, each=4, offset=0):
    """The words of each element, `threads` apart: (4 // each, n)."""
    threads = threads_of(n)
    i = np.arange(n)
    words = philox(seed, offset // 4 + i // threads // each, i % threads)
    j = i // threads % each
    return np.stack([words[j * (4 // each) + part, i] for part in range(4 // each)])


def units(words):
    return words.astype(np.float32) * np.float32(2**-32) + np.float32(2**-33)


by_definition = pytest.mark.skipif(
    not os.environ.get("RUSHLIGHT_CUDA_SIM"), reason="the layout of large tensors depends on the GPU"
)


# ---- PyTorch's numbers ----
def test_the_numbers_of_pytorch():
    torch.manual_seed(0)
    expected = [0.3990, 0.5167, 0.0249, 0.9401, 0.9459, 0.7967]
    np.testing.assert_allclose(torch.rand(6, device="cuda").cpu().numpy(), expected, atol=5e-5)
    torch.manual_seed(0)
    expected = [-0.9247, -0.4253, -2.6438, 0.1452]
    np.testing.assert_allclose(torch.randn(4, device="cuda").cpu().numpy(), expected, atol=5e-5)
    torch.manual_seed(42)
    expected = [0.6130, 0.0101, 0.3984, 0.0403]
    np.testing.assert_allclose(torch.rand(4, device="cuda").cpu().numpy(), expected, atol=5e-5)


@by_definition
@pytest.mark.parametrize("n", [1, 255, 8192, 8193, 40000])
def test_uniform_numbers_by_definition(n):
    seed = 0x123456789ABCDEF
    torch.cuda.manual_seed(seed)
    got = torch.rand(n, device="cuda").cpu().numpy()
    u = units(words_of(seed, n)[0])
    np.testing.assert_array_equal(got, np.where(u == 1, np.float32(0), u))
    offset = ((n - 1) // (threads_of(n) * 4) + 1) * 4
    assert torch.cuda.default_generators[0].get_offset() == offset
    got = torch.zeros(n).to("cuda").uniform_(2, 5).cpu().numpy()
    u = units(words_of(seed, n, offset=offset)[0]).astype(np.float64) * 3 + 2
    np.testing.assert_allclose(got, np.where(u == 5, 2, u), rtol=1e-6)


@by_definition
def test_normal_numbers_and_doubles_by_definition():
    n, seed = 20000, 7
    torch.cuda.manual_seed(seed)
    got = torch.randn(n, device="cuda").cpu().numpy()
    threads, i = threads_of(n), np.arange(n)
    words, j = philox(seed, i // threads // 4, i % threads), i // threads % 4
    u, v = (units(words[j // 2 * 2 + part, i]).astype(np.float64) for part in (0, 1))
    radius = np.sqrt(-2 * np.log(u))
    expected = radius * np.where(j % 2, np.cos(2 * np.pi * v), np.sin(2 * np.pi * v))
    np.testing.assert_allclose(got, expected, atol=1e-5)
    torch.cuda.manual_seed(seed)
    got = torch.rand(n, device="cuda", dtype=torch.float64).cpu().numpy()
    low, high = words_of(seed, n, each=2)
    np.testing.assert_array_equal(got, (low ^ high << np.uint64(21)) * 2.0**-53 + 2.0**-54)


@by_definition
@pytest.mark.parametrize("low, high", [(0, 10), (-5, 2**27), (3, 2**40), (-(2**63), 2**63 - 1)])
def test_integers_by_definition(low, high):
    n, seed = 20000, 11
    torch.cuda.manual_seed(seed)
    got = torch.randint(low, high, (n,), device="cuda").cpu().numpy()
    wide = high - low >= 2**28
    words = words_of(seed, n, each=2 if wide else 4)
    drawn = words[0] << np.uint64(32) | words[1] if wide else words[0]
    expected = (drawn % np.uint64(high - low)).astype(np.int64) + np.int64(low)
    np.testing.assert_array_equal(got, expected)


def test_numbers_lie_in_the_order_of_memory():
    torch.cuda.manual_seed(1)
    flat = torch.rand(24, device="cuda").cpu()
    turned = torch.zeros(4, 6).to("cuda").t()
    torch.cuda.manual_seed(1)
    assert torch.equal(turned.uniform_().cpu().t(), flat.view(4, 6))


# ---- distributions ----
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_distributions(dtype):
    torch.manual_seed(5)
    draws = {
        "uniform_": ((-1, 3), 1, 4 / 12**0.5),
        "normal_": ((1, 2), 1, 2),
        "exponential_": ((2,), 0.5, 0.5),
        "geometric_": ((0.25,), 4, 12**0.5),
        "log_normal_": ((0, 0.25), np.exp(1 / 32), 0.26),
        "bernoulli_": ((0.3,), 0.3, 0.21**0.5),
        "random_": ((0, 10), 4.5, 8.25**0.5),
    }
    x = torch.zeros(20000).to(dtype).to("cuda")
    for name, (numbers, mean, deviation) in draws.items():
        drawn = getattr(x, name)(*numbers).cpu().to(torch.float64).numpy()
        assert abs(drawn.mean() - mean) < 6 * deviation / len(drawn) ** 0.5 + 4e-3 * (mean + 1), name
        assert abs(drawn.std() - deviation) < 0.1 * deviation, name
    drawn = x.cauchy_(2, 3).cpu().to(torch.float64).numpy()
    np.testing.assert_allclose(np.quantile(drawn, [0.25, 0.5, 0.75]), [-1, 2, 5], atol=0.3)


def test_rounding_does_not_reach_the_open_end():
    x = torch.rand(20000, device="cuda", dtype=torch.bfloat16).cpu()
    assert x.max().item() < 1 and x.min().item() >= 0


def test_bernoulli_of_chances():
    chances = torch.tensor([0.0, 0.25, 1.0] * 4000).to("cuda")
    drawn = torch.bernoulli(chances).cpu().numpy().reshape(-1, 3).mean(axis=0)
    np.testing.assert_allclose(drawn, [0, 0.25, 1], atol=0.03)


def test_normal_of_tensors():
    mean, std = torch.tensor([0.0, 100.0]).to("cuda"), torch.ones(6000, 1).to("cuda") * 3
    drawn = torch.normal(mean, std).cpu().numpy()
    np.testing.assert_allclose(drawn.mean(axis=0), [0, 100], atol=0.3)
    np.testing.assert_allclose(drawn.std(axis=0), [3, 3], atol=0.2)
    assert torch.normal(mean, 2.0).shape == (2,)


@pytest.mark.parametrize("n", [1, 2, 3, 512, 513, 1000, 9000])
def test_permutations(n):
    drawn = torch.randperm(n, device="cuda").cpu().numpy()
    np.testing.assert_array_equal(np.sort(drawn), np.arange(n))
    if n > 500:
        assert (drawn == np.arange(n)).sum() < 12
        assert abs(np.corrcoef(drawn, np.arange(n))[0, 1]) < 0.2


def test_few_elements_come_in_all_orders():
    torch.manual_seed(0)
    seen = {tuple(torch.randperm(3, device="cuda").tolist()) for _ in range(60)}
    assert len(seen) == 6


def test_categories():
    weights = torch.tensor([[0.0, 1, 3, 0], [2, 0, 0, 2]]).to("cuda")
    drawn = torch.multinomial(weights, 4000, True).cpu().numpy()
    shares = np.stack([np.bincount(row, minlength=4) / 4000 for row in drawn])
    np.testing.assert_allclose(shares, [[0, 0.25, 0.75, 0], [0.5, 0, 0, 0.5]], atol=0.04)
    with indices_of_64_bits():  # several rows for each block
        picked = torch.multinomial(torch.eye(7).to("cuda"), 3, True)
    assert picked.cpu().tolist() == [[i] * 3 for i in range(7)]
    many = torch.ones(1000).to("cuda")
    many[:990] = 0
    assert torch.multinomial(many, 50, True).min().item() >= 990


# ---- dropout ----
@pytest.mark.parametrize("shape", [(64, 64), (63, 65)])
def test_dropout_and_its_gradient(shape):
    x = torch.ones(shape).to("cuda").requires_grad_()
    torch.manual_seed(3)
    y = nn.functional.dropout(x, 0.25)
    y.backward(torch.ones(shape).to("cuda"))
    kept = y.detach().cpu().numpy()
    assert set(np.unique(kept)) == {np.float32(0), np.float32(1 / 0.75)}
    assert abs((kept == 0).mean() - 0.25) < 0.03
    np.testing.assert_array_equal(x.grad.cpu().numpy(), kept)
    torch.manual_seed(3)
    assert torch.equal(nn.functional.dropout(x, 0.25).detach().cpu(), y.detach().cpu())


@pytest.mark.parametrize("p, train, kept", [(0.0, True, 1), (1.0, True, 0), (0.5, False, 1)])
def test_dropout_of_all_or_none(p, train, kept):
    x = torch.ones(5, 7).to("cuda").requires_grad_()
    before = torch.cuda.get_rng_state()
    y = nn.functional.dropout(x, p, train)
    y.backward(torch.ones(5, 7).to("cuda"))
    assert (y.detach().cpu() == kept).all() and (x.grad.cpu() == kept).all()
    assert torch.equal(before, torch.cuda.get_rng_state())


def test_native_dropout():
    x = torch.ones(1000).to("cuda")
    y, mask = torch.native_dropout(x, 0.5, True)
    assert mask.dtype == torch.bool
    np.testing.assert_array_equal(y.cpu().numpy(), 2.0 * mask.cpu().numpy())


def test_slopes():
    x = torch.tensor([-1.0, 2.0] * 2000).to("cuda")
    y = nn.functional.rrelu(x, 0.1, 0.3, True).cpu().numpy().reshape(-1, 2)
    assert (y[:, 1] == 2).all() and -0.3 <= y[:, 0].min() < y[:, 0].max() <= -0.1


# ---- generators ----
def test_states_begin_anew():
    torch.manual_seed(3)
    assert torch.cuda.initial_seed() == torch.initial_seed() == 3
    state, states = torch.cuda.get_rng_state(), torch.cuda.get_rng_state_all()
    assert state.shape == (16,) and len(states) == torch.cuda.device_count()
    first = torch.rand(5, device="cuda").cpu()
    with torch.random.fork_rng():
        second = torch.rand(5, device="cuda").cpu()
    assert torch.equal(second, torch.rand(5, device="cuda").cpu())
    torch.cuda.set_rng_state_all(states)
    assert torch.equal(first, torch.rand(5, device="cuda").cpu())
    torch.cuda.set_rng_state(state, "cuda:0")
    assert torch.equal(first, torch.rand(5, device="cuda").cpu())
    torch.cuda.seed_all()
    torch.cuda.seed()
    torch.seed()
    assert torch.cuda.initial_seed() == torch.initial_seed()


def test_a_generator_of_its_own():
    g = torch.Generator("cuda").manual_seed(9)
    assert g.device == torch.device("cuda:0") and g.initial_seed() == 9
    before = torch.cuda.get_rng_state()
    first = torch.randn(5, device="cuda", generator=g).cpu()
    assert torch.equal(before, torch.cuda.get_rng_state()) and g.get_offset() == 4
    again = pickle.loads(pickle.dumps(g))
    assert (again.device, again.get_offset()) == (g.device, 4)
    g.set_offset(0)
    assert torch.equal(first, torch.randn(5, device="cuda", generator=g).cpu())
    assert torch.equal(g.clone_state().get_state(), g.get_state())
    with pytest.raises(RuntimeError, match="offset must be a multiple of 4"):
        g.set_offset(6)
    with pytest.raises(RuntimeError, match="RNG state is wrong size"):
        g.set_state(torch.get_rng_state())


def test_a_generator_of_another_device():
    with pytest.raises(RuntimeError, match="Expected a 'cuda' device type for generator but found 'cpu'"):
        torch.rand(2, device="cuda", generator=torch.Generator())
    with pytest.raises(RuntimeError, match="Expected a 'cpu' device type for generator but found 'cuda'"):
        torch.zeros(2).uniform_(generator=torch.Generator("cuda"))


def test_devices_have_streams_of_their_own():
    torch.manual_seed(1)
    draws = [torch.rand(4, device=f"cuda:{i}").cpu() for i in range(torch.cuda.device_count())]
    assert all(torch.equal(draws[0], other) for other in draws)


# ---- Note [Words of a generator] ----
def test_streams_draw_apart_and_in_any_order():
    """What two streams draw in turns is what one stream draws, whoever runs first."""
    torch.cuda.manual_seed(21)
    expected = [torch.rand(300, device="cuda").cpu() for _ in range(6)]
    for seed in range(3):
        torch.cuda.manual_seed(21)
        streams = [torch.cuda.Stream() for _ in range(2)]
        drawn = []
        for i in range(6):
            with torch.cuda.stream(streams[(i * (seed + 1)) % 2]):
                drawn.append(torch.rand(300, device="cuda"))
        torch.cuda.synchronize()
        assert all(torch.equal(a.cpu(), b) for a, b in zip(drawn, expected, strict=True))


def test_a_seed_that_is_set_does_not_reach_draws_before_it():
    side = torch.cuda.Stream()
    torch.cuda.manual_seed(1)
    first = torch.rand(64, device="cuda").cpu()
    for stream in (torch.cuda.current_stream(), side):
        with torch.cuda.stream(stream):
            torch.cuda.manual_seed(1)
            before = torch.rand(64, device="cuda")
            torch.cuda.manual_seed(2)
            after = torch.rand(64, device="cuda")
            torch.cuda.manual_seed(1)
            again = torch.rand(64, device="cuda")
        torch.cuda.synchronize()
        assert torch.equal(before.cpu(), first) and torch.equal(again.cpu(), first)
        assert not torch.equal(after.cpu(), first)


def test_states_forward_and_back():
    torch.cuda.manual_seed(5)
    states, drawn = [], []
    for _ in range(4):
        states.append(torch.cuda.get_rng_state())
        drawn.append(torch.randn(100, device="cuda"))
    for i in (3, 0, 2, 1):
        torch.cuda.set_rng_state(states[i])
        assert torch.equal(torch.randn(100, device="cuda").cpu(), drawn[i].cpu())
    state = states[3].numpy().view(np.int64)
    assert state.tolist() == [5, 12]


def test_many_generators():
    generators = [torch.Generator("cuda").manual_seed(i % 7) for i in range(300)]
    drawn = [torch.rand(4, device="cuda", generator=g) for g in generators]
    torch.cuda.synchronize()
    for i, x in enumerate(drawn):
        assert torch.equal(x.cpu(), drawn[i % 7].cpu()) and generators[i].get_offset() == 4


def test_activations_computed_anew_have_the_same_mask():
    from rushlight.utils.checkpoint import checkpoint

    def run(anew):
        torch.manual_seed(8)
        x = torch.ones(40, 10).to("cuda").requires_grad_()

        def part(x):
            return nn.functional.dropout(x * 2, 0.5)

        y = checkpoint(part, x, use_reentrant=anew == "reentrant") if anew else part(x)
        torch.rand(5, device="cuda")
        (y * y).sum().backward()
        return x.grad.cpu()

    assert torch.equal(run(None), run("reentrant")) and torch.equal(run(None), run("saved"))


def test_fork_rng_of_devices():
    torch.manual_seed(0)
    if torch.cuda.device_count() < 2:
        pytest.skip("one device")
    with torch.random.fork_rng(devices=[1]):
        torch.rand(3, device="cuda:0")
        torch.rand(3, device="cuda:1")
    offsets = [g.get_offset() for g in torch.cuda.default_generators]
    assert offsets == [4, 0]


# ---- what takes as many draws as it needs ----
def moments(drawn):
    drawn = drawn.cpu().to(torch.float64).numpy()
    return drawn.mean(axis=0), drawn.var(axis=0), drawn


def test_poisson_numbers():
    rates = np.array([0.0, 0.5, 3.0, 9.9, 10.0, 60.0, 5000.0])
    torch.manual_seed(4)
    mean, variance, drawn = moments(torch.poisson(torch.tensor(rates).to("cuda").expand(4000, 7)))
    np.testing.assert_allclose(mean, rates, rtol=0.06)
    np.testing.assert_allclose(variance, rates, rtol=0.12)
    assert (drawn == np.floor(drawn)).all() and (drawn >= 0).all()
    torch.poisson(torch.tensor([1.0, -1.0]).to("cuda"))
    with pytest.raises(torch.AcceleratorError, match="device-side assert"):
        torch.cuda.synchronize()


def test_binomial_numbers():
    counts = np.array([0.0, 5, 40, 40, 1000, 1000, 7, 7])
    chances = np.array([0.5, 0.3, 0.9, 0.4, 0.01, 0.7, 0.0, 1.0])
    given = [torch.tensor(x).to("cuda").expand(4000, 8) for x in (counts, chances)]
    torch.manual_seed(4)
    mean, variance, drawn = moments(torch.binomial(*given))
    np.testing.assert_allclose(mean, counts * chances, rtol=0.06)
    np.testing.assert_allclose(variance, counts * chances * (1 - chances), rtol=0.12, atol=1e-9)
    assert (drawn <= counts).all() and (drawn == np.floor(drawn)).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gamma_and_dirichlet_numbers(dtype):
    shapes = np.array([0.05, 0.7, 1.0, 4.0, 90.0])
    given = torch.tensor(shapes, dtype=dtype).to("cuda").expand(4000, 5)
    torch.manual_seed(4)
    mean, variance, drawn = moments(torch._standard_gamma(given))
    np.testing.assert_allclose(mean, shapes, rtol=0.15)
    np.testing.assert_allclose(variance[1:], shapes[1:], rtol=0.15)
    assert (drawn > 0).all()
    mean, _, drawn = moments(torch._sample_dirichlet(given[:, :4]))
    np.testing.assert_allclose(mean, shapes[:4] / shapes[:4].sum(), rtol=0.15)
    np.testing.assert_allclose(drawn.sum(axis=1), 1, rtol=1e-5)


def test_gradients_of_gamma_and_dirichlet_numbers():
    rng = np.random.default_rng(0)
    shape, x = (torch.tensor(rng.gamma(2, size=200) + 0.01) for _ in range(2))
    ours = torch._standard_gamma_grad(shape.to("cuda"), x.to("cuda")).cpu().numpy()
    np.testing.assert_allclose(ours, torch._standard_gamma_grad(shape, x).numpy(), rtol=1e-9)
    x = torch.tensor(rng.uniform(0.01, 0.99, 200))
    given = [x, shape, shape + torch.tensor(rng.gamma(2, size=200))]
    ours = torch._dirichlet_grad(*(a.to("cuda") for a in given)).cpu().numpy()
    np.testing.assert_allclose(ours, torch._dirichlet_grad(*given).numpy(), rtol=1e-9)


def test_own_draws_of_two_calls_differ():
    rates = torch.full((5000,), 4.0).to("cuda")
    torch.manual_seed(6)
    first, offset = torch.poisson(rates), torch.cuda.default_generators[0].get_offset()
    second = torch.poisson(rates).cpu().numpy()
    assert offset == 20 and abs(np.corrcoef(first.cpu().numpy(), second)[0, 1]) < 0.06
    torch.manual_seed(6)
    assert torch.equal(first.cpu(), torch.poisson(rates).cpu())


def test_multinomial_without_replacement():
    weights = torch.tensor([0.0, 1.0, 2.0, 5.0]).to("cuda").expand(3000, 4)
    torch.manual_seed(7)
    drawn = torch.multinomial(weights, 3).cpu().numpy()
    assert (np.sort(drawn, axis=1) == [1, 2, 3]).all()
    np.testing.assert_allclose(
        np.bincount(drawn[:, 0], minlength=4) / 3000, [0, 0.125, 0.25, 0.625], atol=0.04
    )
