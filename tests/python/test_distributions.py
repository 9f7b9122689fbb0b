"""What every distribution must hold, without PyTorch at hand: densities, moments, gradients, divergences."""

import math

import pytest

import rushlight as torch
from helpers.process import python
from rushlight import distributions as D

# the numbers that PyTorch 2.13 draws from the seed 1
RECORDED = {
    "Normal": [1.33068, 2.13346, 1.03084, 2.31066],
    "LogNormal": [3.7836, 8.44405, 2.80342, 10.0811],
    "Uniform": [0.515263, 2.83793, -0.193861, 4.20405],
    "Bernoulli": [0.0, 1.0, 0.0, 0.0],
    "Categorical": [0.0, 1.0],
    "OneHotCategorical": [1.0, 0.0, 0.0, 0.0, 1.0, 0.0],
    "Exponential": [0.125993, 0.127159, 0.533806, 0.0974598],
    "Laplace": [1.36207, 1.70886, 0.89225, 2.31684],
    "Gamma": [0.762228, 1.8547, 0.0918674, 1.47305],
    "Beta": [0.34907, 0.590643, 0.0923849, 0.605736],
    "MultivariateNormal": [1.93529, 2.48351, 1.08722, 2.603],
    "StudentT": [0.939397, 0.289079, 0.123933, 0.746205],
    "VonMises": [0.567479, 0.743099, 0.768899, 0.800259],
}
GIVEN = {
    "Normal": lambda t: (t([1.0, 2.0]), 0.5),
    "LogNormal": lambda t: (t([1.0, 2.0]), 0.5),
    "Uniform": lambda t: (t([-1.0, 2.0]), t([1.0, 5.0])),
    "Bernoulli": lambda t: (t([0.2, 0.7]),),
    "Categorical": lambda t: (t([0.2, 0.5, 0.3]),),
    "OneHotCategorical": lambda t: (t([0.2, 0.5, 0.3]),),
    "Exponential": lambda t: (t([0.5, 2.0]),),
    "Laplace": lambda t: (t([1.0, 2.0]), 0.5),
    "Gamma": lambda t: (t([0.5, 2.0]), 1.5),
    "Beta": lambda t: (t([0.5, 2.0]), 1.5),
    "MultivariateNormal": lambda t: (t([1.0, 2.0]), t([[2.0, 0.5], [0.5, 1.0]])),
    "StudentT": lambda t: (t([3.0, 9.0]),),
    "VonMises": lambda t: (t([0.5, 1.0]), 2.0),
}


def double(values):
    return torch.tensor(values, dtype=torch.float64)


@pytest.mark.parametrize("name", GIVEN)
def test_draws_what_pytorch_draws(name):
    torch.manual_seed(1)
    drawn = getattr(D, name)(*GIVEN[name](torch.tensor)).sample((2,)).flatten()
    assert drawn.tolist() == pytest.approx(RECORDED[name], rel=1e-5)


# of one number; where almost all of it lies
CONTINUOUS = {
    "Beta": ((2.0, 3.5), 0, 1),
    "Cauchy": ((0.5, 0.3), -1e4, 1e4),
    "Chi2": ((3.0,), 0, 60),
    "ContinuousBernoulli": ((0.3,), 0, 1),
    "Exponential": ((1.5,), 0, 30),
    "FisherSnedecor": ((4.0, 9.0), 0, 400),
    "Gamma": ((2.5, 1.5), 0, 40),
    "GeneralizedPareto": ((0.5, 1.0, 0.1), 0.5, 200),
    "Gumbel": ((0.5, 0.7), -2, 25),
    "HalfCauchy": ((0.3,), 0, 1e4),
    "HalfNormal": ((0.7,), 0, 9),
    "InverseGamma": ((4.5, 3.0), 0, 300),
    "Kumaraswamy": ((2.0, 3.0), 0, 1),
    "Laplace": ((0.5, 0.7), -20, 20),
    "LogNormal": ((0.1, 0.5), 0, 60),
    "Normal": ((0.5, 0.7), -8, 8),
    "Pareto": ((0.5, 4.5), 0.5, 300),
    "StudentT": ((5.0, 0.5, 0.7), -200, 200),
    "Uniform": ((-0.5, 1.5), -0.5, 1.5),
    "VonMises": ((0.5, 2.0), -math.pi, math.pi),
    "Weibull": ((0.7, 2.0), 0, 9),
}
WITHOUT_CDF = {"Beta", "FisherSnedecor", "StudentT", "VonMises"}


def made(name):
    return getattr(D, name)(*map(double, CONTINUOUS[name][0]))


def grid(low, high, n=60_000):
    """Middles of cells that are narrow near 0, and their widths."""
    ends = (
        torch.linspace(math.asinh(low * 100), math.asinh(high * 100), n + 1, dtype=torch.float64).sinh() / 100
    )
    return (ends[1:] + ends[:-1]) / 2, ends.diff()


@pytest.mark.parametrize("name", CONTINUOUS)
def test_density_moments_and_cdf_belong_together(name):
    d, (_, low, high) = made(name), CONTINUOUS[name]
    x, width = grid(low, high)
    mass = d.log_prob(x).exp() * width
    assert mass.sum().item() == pytest.approx(1, abs=2e-4)
    if name not in ("Cauchy", "HalfCauchy", "VonMises"):  # no moments; an angle has others
        assert (mass * x).sum().item() == pytest.approx(d.mean.item(), abs=1e-3)
        spread = (mass * (x - d.mean) ** 2).sum().item()
        assert spread == pytest.approx(d.variance.item(), rel=5e-3)
        assert d.stddev.item() == pytest.approx(math.sqrt(d.variance.item()))
    if name in WITHOUT_CDF:
        with pytest.raises(NotImplementedError):
            d.cdf(x)
    else:
        assert torch.allclose(mass.cumsum(0)[::500], d.cdf(x[::500]), atol=3e-4)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_samples_are_where_the_density_is(name):
    """A fifth of the numbers lies between each two fifths of the density."""
    d, (_, low, high) = made(name), CONTINUOUS[name]
    x, width = grid(low, high)
    below = (d.log_prob(x).exp() * width).cumsum(0)
    edges = [x[(below < k / 5).sum().item()].item() for k in range(1, 5)]
    counts = torch.histogram(d.sample((10_000,)), double([-1e300, *edges, 1e300]))[0]
    assert (counts / 2000 - 1).abs().max().item() < 0.09


@pytest.mark.parametrize("name", sorted(set(CONTINUOUS) - {"VonMises", "Pareto", "GeneralizedPareto"}))
def test_icdf_is_the_inverse_of_cdf(name):
    u = torch.linspace(0.05, 0.95, 7, dtype=torch.float64)
    if name in WITHOUT_CDF | {"Chi2", "Gamma", "InverseGamma"}:
        with pytest.raises(NotImplementedError):
            made(name).icdf(u)
    else:
        assert torch.allclose(made(name).cdf(made(name).icdf(u)), u)


@pytest.mark.parametrize(
    "name", sorted(set(CONTINUOUS) - {"VonMises", "Cauchy", "HalfCauchy", "GeneralizedPareto"})
)
def test_gradients_flow_through_samples(name):
    """The mean of the samples' gradients is the gradient of the mean."""
    leaves = [double(value).requires_grad_() for value in CONTINUOUS[name][0]]
    d = getattr(D, name)(*leaves)
    drawn = torch.autograd.grad(d.rsample((10_000,)).mean(), leaves, retain_graph=True, allow_unused=True)
    exact = torch.autograd.grad(d.mean, leaves, allow_unused=True)
    for got, want in zip(drawn, exact):
        assert (0 if got is None else got.item()) == pytest.approx(
            0 if want is None else want.item(), abs=0.15
        )


DISCRETE = [
    lambda: D.Bernoulli(double([0.2, 0.7])),
    lambda: D.Binomial(5, double([0.2, 0.7])),
    lambda: D.Categorical(double([[0.2, 0.7, 0.1], [3.0, 1.0, 1.0]])),
    lambda: D.OneHotCategorical(double([[0.2, 0.7, 0.1], [3.0, 1.0, 1.0]])),
]
COUNTS = [
    lambda: D.Geometric(double([0.2, 0.7])),
    lambda: D.NegativeBinomial(double([2.0, 0.7]), double([0.2, 0.5])),
    lambda: D.Poisson(double([0.2, 7.0])),
]


@pytest.mark.parametrize("make", DISCRETE)
def test_probabilities_of_all_values_are_one(make):
    d = make()
    values = d.enumerate_support()
    log_prob = d.log_prob(values)
    assert torch.allclose(log_prob.exp().sum(0), torch.ones(2, dtype=torch.float64))
    assert torch.allclose(-(log_prob.exp() * log_prob).sum(0), d.entropy())
    assert torch.equal(d.log_prob(d.enumerate_support(expand=False)), log_prob)


@pytest.mark.parametrize("make", COUNTS)
def test_counts_have_their_moments(make):
    d = make()
    values = torch.arange(200, dtype=torch.float64).unsqueeze(-1)
    probs = d.log_prob(values).exp()
    assert torch.allclose(probs.sum(0), torch.ones(2, dtype=torch.float64))
    assert torch.allclose((probs * values).sum(0), d.mean)
    assert torch.allclose((probs * (values - d.mean) ** 2).sum(0), d.variance)
    assert (d.sample((20_000,)).mean(0) - d.mean).abs().max().item() < 0.1


PAIRS = [
    (D.Normal, (0.5, 1.5), (1.0, 0.7)),
    (D.Laplace, (0.5, 1.5), (1.0, 1.7)),
    (D.Exponential, (0.5,), (1.7,)),
    (D.Gamma, (2.5, 1.5), (1.0, 0.7)),
    (D.Beta, (2.5, 1.5), (1.0, 1.7)),
    (D.Gumbel, (0.5, 1.0), (1.0, 1.3)),
    (D.Bernoulli, (0.2,), (0.6,)),
    (D.Poisson, (2.0,), (3.5,)),
    (D.ContinuousBernoulli, (0.2,), (0.6,)),
]


@pytest.mark.parametrize("kind, mine, other", PAIRS)
def test_divergence_is_the_mean_of_log_ratios(kind, mine, other):
    p, q = (kind(*map(double, given)) for given in (mine, other))
    x = p.sample((40_000,))
    ratio = p.log_prob(x) - q.log_prob(x)
    exact = D.kl_divergence(p, q).item()
    assert ratio.mean().item() == pytest.approx(exact, abs=4 * ratio.std().item() / 200)
    assert D.kl_divergence(p, p).item() == pytest.approx(0, abs=1e-12) and exact > 0


def test_registered_divergence_of_a_subclass():
    class Mine(D.Normal):
        pass

    p = Mine(0.0, 1.0)
    before = D.kl_divergence(p, p)
    try:
        D.register_kl(Mine, Mine)(lambda p, q: "mine")
        assert D.kl_divergence(p, p) == "mine" and before.item() == 0
    finally:
        del D.kl._KL_REGISTRY[Mine, Mine]
        D.kl._KL_MEMOIZE.clear()
    with pytest.raises(TypeError, match="Expected type_q to be a Distribution subclass but got 3"):
        D.register_kl(Mine, 3)


TRANSFORMS = [
    lambda: D.AffineTransform(1.0, -2.0),
    lambda: D.ExpTransform(),
    lambda: D.PowerTransform(2.5),
    lambda: D.SigmoidTransform(),
    lambda: D.SoftplusTransform(),
    lambda: D.TanhTransform(),
    lambda: D.ComposeTransform([D.SigmoidTransform(), D.AffineTransform(0.0, 3.0), D.ExpTransform()]),
    lambda: D.CumulativeDistributionTransform(D.Laplace(0.0, 1.0)),
]


@pytest.mark.parametrize("make", TRANSFORMS)
def test_transform_stretches_as_its_derivative(make):
    transform = make()
    x = double([0.3, 0.7, 1.5]).requires_grad_()
    y = transform(x)
    (slope,) = torch.autograd.grad(y.sum(), x)
    assert torch.allclose(slope.abs().log(), transform.log_abs_det_jacobian(x, y))
    assert torch.allclose(transform.inv(y), x)
    assert transform.inv.inv is transform and (slope.sign() == transform.sign).all()


@pytest.mark.parametrize(
    "kind",
    [
        D.StickBreakingTransform,
        D.CorrCholeskyTransform,
        D.LowerCholeskyTransform,
        D.PositiveDefiniteTransform,
    ],
)
def test_transform_leads_where_it_says(kind):
    transform = kind()
    x = torch.randn(5, 3, 3, dtype=torch.float64)
    y = transform(x)
    assert transform.codomain.check(y).all()
    assert torch.allclose(transform(transform.inv(y)), y)


def test_what_is_outside_is_refused():
    with pytest.raises(ValueError, match=r"to satisfy the constraint GreaterThan\(lower_bound=0.0\)"):
        D.Normal(0.0, -1.0)
    with pytest.raises(ValueError, match=r"to be within the support \(Boolean\(\)\)"):
        D.Bernoulli(0.5).log_prob(torch.tensor(0.3))
    assert D.Bernoulli(0.5, validate_args=False).log_prob(torch.tensor(0.3)).item() < 0


def test_expanded_distributions_share_memory():
    d = D.Normal(torch.zeros(3), torch.ones(3))
    wide = d.expand((4, 3))
    assert wide.loc.data_ptr() == d.loc.data_ptr() and wide.sample().shape == (4, 3)
    assert wide._validate_args is d._validate_args and type(wide) is D.Normal


def test_the_model_of_the_tutorials():
    class GaussianModel(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_parameter("mean", torch.nn.Parameter(torch.zeros(1)))
            self.pdf = D.Normal(self.state_dict()["mean"], torch.tensor([1.0]))

        def forward(self, x):
            return -self.pdf.log_prob(x)

    model = GaussianModel()
    assert model(torch.tensor([2.0])).item() == pytest.approx(2 + math.log(2 * math.pi) / 2)
    model.pdf = D.Normal(model.mean, torch.tensor([1.0]))
    x = torch.randn(100) + 3
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for _ in range(30):
        optimizer.zero_grad()
        model(x).mean().backward()
        optimizer.step()
    assert model.mean.item() == pytest.approx(x.mean().item(), abs=1e-4)


def test_modules_come_when_they_are_asked_for():
    code = """
import sys, rushlight
def loaded():
    return sum(name.startswith("rushlight.distributions") for name in sys.modules)
print(loaded())
rushlight.distributions.Normal
few = loaded()
print(0 < few < 9)
rushlight.distributions.kl_divergence
print(loaded() > 30, sorted(dir(rushlight.distributions))[:2])
"""
    assert python(code).splitlines() == ["0", "True", "True ['AbsTransform', 'AffineTransform']"]
