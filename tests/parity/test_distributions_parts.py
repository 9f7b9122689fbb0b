"""What torch.distributions is made of: transforms, constraints, registries; scripts that train with it."""

import math
import pickle
from pathlib import Path

import numpy
import pytest

import rushlight
from helpers.distributions import compare

torch = pytest.importorskip("torch")

TRANSFORMS = {
    "abs": lambda D, f: D.AbsTransform(),
    "affine": lambda D, f: D.AffineTransform(0.5, -2),
    "affine tensors": lambda D, f: D.AffineTransform(f([0.5, 1.0, 2.0]), f([[1.0], [3.0]])),
    "affine event": lambda D, f: D.AffineTransform(f([0.5, 1.0, 2.0]), f([1.0, 3.0, -1.0]), event_dim=1),
    "cat": lambda D, f: D.CatTransform([D.ExpTransform(), D.identity_transform], dim=-1, lengths=[1, 2]),
    "cat rows": lambda D, f: D.CatTransform([D.ExpTransform(), D.TanhTransform()], dim=0),
    "cat events": lambda D, f: D.CatTransform(
        [D.AffineTransform(1.0, 2.0, event_dim=1), D.ExpTransform()], dim=-1, lengths=[1, 2]
    ),
    "cat of others": lambda D, f: D.CatTransform([D.ExpTransform()], lengths=[5]),
    "compose": lambda D, f: D.ComposeTransform([D.ExpTransform(), D.AffineTransform(1.0, 3.0)]),
    "compose events": lambda D, f: D.ComposeTransform(
        [D.ExpTransform(), D.StickBreakingTransform(), D.AffineTransform(0.0, 2.0)]
    ),
    "corr cholesky": lambda D, f: D.CorrCholeskyTransform(),
    "cumulative": lambda D, f: D.CumulativeDistributionTransform(D.Normal(f(0.5), f(2.0))),
    "exp": lambda D, f: D.ExpTransform(),
    "exp cached": lambda D, f: D.ExpTransform(cache_size=1),
    "identity": lambda D, f: D.identity_transform,
    "independent": lambda D, f: D.IndependentTransform(D.ExpTransform(), 1),
    "independent of many": lambda D, f: D.IndependentTransform(D.ExpTransform(), 4),
    "inverse": lambda D, f: D.SigmoidTransform().inv,
    "lower cholesky": lambda D, f: D.LowerCholeskyTransform(),
    "positive definite": lambda D, f: D.PositiveDefiniteTransform(),
    "power": lambda D, f: D.PowerTransform(f(2.5)),
    "power of a number": lambda D, f: D.PowerTransform(-1),
    "reshape": lambda D, f: D.ReshapeTransform((3,), (3, 1)),
    "reshape otherwise": lambda D, f: D.ReshapeTransform((4,), (2, 2)),
    "sigmoid": lambda D, f: D.SigmoidTransform(),
    "softmax": lambda D, f: D.SoftmaxTransform(),
    "softplus": lambda D, f: D.SoftplusTransform(),
    "stack": lambda D, f: D.StackTransform([D.ExpTransform(), D.identity_transform], dim=0),
    "stack columns": lambda D, f: D.StackTransform([D.ExpTransform(), D.TanhTransform()], dim=-1),
    "stick breaking": lambda D, f: D.StickBreakingTransform(),
    "tanh": lambda D, f: D.TanhTransform(),
}
INPUTS = {
    "matrix": [[0.5, 0.1, 0.3], [0.2, 1.5, 0.9]],
    "square": [[0.5, 0.1, 0.3], [0.2, 1.5, 0.9], [0.3, 0.4, 2.0]],
    "number": 0.25,
}


@pytest.mark.parametrize("given", INPUTS)
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transform_is_pytorchs(name, given):
    def ask(question):
        compare(lambda t, D, f: question(TRANSFORMS[name](D, f), f(INPUTS[given]), D))

    ask(lambda f, x, D: f(x))
    ask(lambda f, x, D: f.inv(x * 0.5))
    ask(lambda f, x, D: f.inv(f(x)))
    ask(lambda f, x, D: f.log_abs_det_jacobian(x, f(x)))
    ask(lambda f, x, D: f.inv.log_abs_det_jacobian(f(x), x))
    ask(lambda f, x, D: f.forward_shape(x.shape))
    ask(lambda f, x, D: f.inverse_shape(x.shape))


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transform_tells_what_pytorch_tells(name):
    asked = "domain codomain bijective sign event_dim inv"
    for attribute in asked.split():
        compare(lambda t, D, f, a=attribute: getattr(TRANSFORMS[name](D, f), a))
    compare(lambda t, D, f: repr(TRANSFORMS[name](D, f)))
    compare(lambda t, D, f: TRANSFORMS[name](D, f).with_cache(1)._cache_size)
    compare(lambda t, D, f: TRANSFORMS[name](D, f).inv.inv == TRANSFORMS[name](D, f))
    compare(lambda t, D, f: [TRANSFORMS[name](D, f) == TRANSFORMS[other](D, f) for other in TRANSFORMS])
    compare(lambda t, D, f: repr(pickle.loads(pickle.dumps(TRANSFORMS[name](D, f).with_cache(0)))))


# the classes that constraints.py names by a call; the others are instances
CONSTRAINTS = {
    "greater_than": lambda c, f: c.greater_than(0.5),
    "greater_than_eq": lambda c, f: c.greater_than_eq(f([0.5, 1.0, 0.0])),
    "less_than": lambda c, f: c.less_than(0.5),
    "interval": lambda c, f: c.interval(0.2, f(1.0)),
    "half_open_interval": lambda c, f: c.half_open_interval(0.0, 1.0),
    "integer_interval": lambda c, f: c.integer_interval(0, 2),
    "integer_less_than": lambda c, f: c._IntegerLessThan(2),
    "multinomial": lambda c, f: c.multinomial(3),
    "independent": lambda c, f: c.independent(c.positive, 1),
    "independent of many": lambda c, f: c.independent(c.positive, 3),
    "independent of none": lambda c, f: c.independent(3, 1),
    "independent less": lambda c, f: c.independent(c.positive, -1),
    "independent part": lambda c, f: c.independent(c.positive, 0.5),
    "cat": lambda c, f: c.cat([c.positive, c.real], -1, [1, 2]),
    "cat of others": lambda c, f: c.cat([c.positive], -1, [1, 2]),
    "cat elsewhere": lambda c, f: c.cat([c.positive], 4),
    "cat of none": lambda c, f: c.cat([3]),
    "stack": lambda c, f: c.stack([c.positive, c.real, c.less_than(1)], -1),
    "stack elsewhere": lambda c, f: c.stack([c.positive], -5),
    "mixture": lambda c, f: c.MixtureSameFamilyConstraint(c.real),
    "mixture of vectors": lambda c, f: c.MixtureSameFamilyConstraint(c.simplex),
    "mixture of none": lambda c, f: c.MixtureSameFamilyConstraint(None),
    "dependent of one": lambda c, f: c.dependent(is_discrete=True, event_dim=1),
}
CONSTRAINTS |= {
    name: lambda c, f, name=name: getattr(c, name)
    for name in (
        *("boolean", "corr_cholesky", "dependent", "lower_cholesky", "lower_triangular", "nonnegative"),
        *("nonnegative_integer", "one_hot", "positive", "positive_definite", "positive_integer"),
        *("positive_semidefinite", "real", "real_vector", "simplex", "square", "symmetric", "unit_interval"),
    )
}
VALUES = [
    [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]],
    [[0.2, 0.3, 0.5], [-1.0, 2.0, math.nan]],
    [[[1.0, 0.0], [0.3, 2.0]], [[1.0, 0.5], [0.5, 1.0]], [[1.0, 2.0], [2.0, 1.0]], [[1.0, 0.0], [0.6, 0.8]]],
]


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_constraint_is_pytorchs(name):
    for value in VALUES:
        compare(lambda t, D, f, v=value: CONSTRAINTS[name](D.constraints, f).check(f(v)))
    for attribute in ("is_discrete", "event_dim"):
        compare(lambda t, D, f, a=attribute: getattr(CONSTRAINTS[name](D.constraints, f), a))
    compare(lambda t, D, f: repr(CONSTRAINTS[name](D.constraints, f)).partition(" object at ")[0])
    compare(lambda t, D, f: D.constraints.is_dependent(CONSTRAINTS[name](D.constraints, f)))
    for registry in ("biject_to", "transform_to"):

        def found(t, D, f, registry=registry):
            return getattr(D, registry)(CONSTRAINTS[name](D.constraints, f))

        compare(lambda *side, found=found: repr(found(*side)))
        compare(lambda t, D, f, found=found: found(t, D, f)(f([[0.5, -1.0, 0.3], [0.2, 0.0, 1.0]])))


def dependent_property(t, D, f):
    class Mine(D.Distribution):
        arg_constraints = {}

        @D.constraints.dependent_property(is_discrete=False, event_dim=0)
        def support(self):
            return D.constraints.interval(0, self.high)

        @D.constraints.dependent_property
        def other(self):
            return 3

    mine = Mine()
    mine.high = 2
    return [Mine.support.event_dim, D.constraints.is_dependent(Mine.other), repr(mine.support), mine.other]


def unspecified(t, D, f):
    class Mine(D.Distribution):
        def log_prob(self, value):
            self._validate_sample(value)
            return value

    return Mine().log_prob(f(3.0)) if Mine()._validate_args else None


def own_init(t, D, f):
    class Mine(D.Normal):
        def __init__(self, mean):
            super().__init__(mean, 1.0)

    return Mine(f(0.5)).expand((2,))


def registered(t, D, f):
    class Even(D.constraints.Constraint):
        pass

    registry = D.constraint_registry.ConstraintRegistry()
    registry.register(Even(), lambda constraint: D.ExpTransform())
    return [repr(registry(Even())), registry.register(3) and registry.register(3, 4)]


def switched(t, D, f):
    D.Distribution.set_default_validate_args(False)
    try:
        return D.Normal(f(0.0), f(-1.0)).scale
    finally:
        D.Distribution.set_default_validate_args(True)


def cached(t, D, f):
    exp, x = D.ExpTransform(cache_size=1), f(0.5)
    y = exp(x)
    return [exp(x) is y, exp.inv(y) is x, D.ExpTransform(cache_size=2)]


LINES = {
    each.__name__: each for each in (dependent_property, unspecified, own_init, registered, switched, cached)
}


@pytest.mark.parametrize("name", LINES)
def test_line_answers_as_pytorch(name):
    compare(LINES[name])


# each line of the file is an expression
CASES = Path(__file__).with_name("distributions_cases.txt").read_text().splitlines()


@pytest.mark.parametrize("case", CASES)
def test_case_answers_as_pytorch(case):
    compare(
        lambda t, D, f: repr(eval(case, {"t": t, "D": D, "math": math})).partition(" at 0x")[0], "float32"
    )


# ---- scripts ----
def gaussian_model(t):
    """The model of the tutorials, with the value of its parameter and with the parameter itself."""

    class GaussianModel(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_parameter("mean", t.nn.Parameter(t.zeros(1)))
            self.pdf = t.distributions.Normal(self.state_dict()["mean"], t.tensor([1.0]))

        def forward(self, x):
            return -self.pdf.log_prob(x)

    class Trained(GaussianModel):
        def __init__(self):
            super().__init__()
            self.pdf = t.distributions.Normal(self.mean, t.tensor([1.0]))

    x = t.randn(50) + 3
    model, trained = GaussianModel(), Trained()
    losses = [model(x).mean().item()]
    optimizer = t.optim.SGD(trained.parameters(), lr=0.3)
    for _ in range(20):
        optimizer.zero_grad()
        loss = trained(x).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses + [trained.mean.item()]


def reinforce(t):
    """A policy learns by the log probability of what it did, as the page of torch.distributions shows."""
    policy = t.nn.Linear(4, 3)
    optimizer = t.optim.SGD(policy.parameters(), lr=0.5)
    goals = t.randint(3, (16,))
    states = t.randn(16, 4)
    losses = []
    for _ in range(15):
        m = t.distributions.Categorical(logits=policy(states))
        action = m.sample()
        reward = (action == goals).float() - 0.3
        loss = (-m.log_prob(action) * reward).mean() - 0.01 * m.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def autoencoder(t):
    """A variational autoencoder: rsample() carries the gradient, kl_divergence() keeps it near the prior."""
    D = t.distributions
    encoder, decoder = t.nn.Linear(8, 6), t.nn.Sequential(t.nn.Linear(3, 8), t.nn.Tanh(), t.nn.Linear(8, 8))
    parameters = [*encoder.parameters(), *decoder.parameters()]
    optimizer = t.optim.SGD(parameters, lr=0.1)
    x = (t.rand(20, 8) > 0.5).float()
    prior = D.Independent(D.Normal(t.zeros(3), t.ones(3)), 1)
    losses = []
    for _ in range(15):
        mean, log_scale = encoder(x).chunk(2, dim=1)
        posterior = D.Independent(D.Normal(mean, log_scale.exp()), 1)
        likelihood = D.Independent(D.Bernoulli(logits=decoder(posterior.rsample())), 1)
        loss = (D.kl_divergence(posterior, prior) - likelihood.log_prob(x)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def flow(t):
    """A mixture and a flow fit data by their likelihood; constrained parameters come from transform_to()."""
    D = t.distributions
    x = t.cat([t.randn(40) * 0.5 - 2, t.randn(40) + 1])
    weights, loc, free = (
        t.zeros(2, requires_grad=True),
        t.tensor([-1.0, 1.0], requires_grad=True),
        t.zeros(2, requires_grad=True),
    )
    shift = t.zeros(1, requires_grad=True)
    optimizer = t.optim.SGD([weights, loc, free, shift], lr=0.1)
    losses = []
    for _ in range(15):
        scale = D.transform_to(D.Normal.arg_constraints["scale"])(free)
        base = D.MixtureSameFamily(D.Categorical(logits=weights), D.Normal(loc, scale))
        loss = -D.TransformedDistribution(base, [D.AffineTransform(shift, 1.5)]).log_prob(x).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("script", [gaussian_model, reinforce, autoencoder, flow])
def test_script_gives_pytorchs_numbers(script):
    answers = []
    for t in (rushlight, torch):
        t.manual_seed(5)
        answers.append(script(t))
    numpy.testing.assert_allclose(*answers, rtol=1e-4, atol=1e-5)
