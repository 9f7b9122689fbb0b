"""torch.distributions: the same lines on torch and on rushlight, in one process, from the same seeds."""

import copy
import math
import pickle
import warnings

import numpy
import pytest

import rushlight
from helpers.distributions import Side, agree, compare

torch = pytest.importorskip("torch")

# each makes distributions of t.distributions from numbers of a dtype: f(list) is a leaf that wants a gradient
CASES = {
    "normal": lambda D, f: D.Normal(f([[0.5, -1.0], [2.0, 0.0]]), f([1.5, 0.3])),
    "normal of numbers": lambda D, f: D.Normal(0, 2.5),
    "normal of both": lambda D, f: D.Normal(1.5, f([0.5, 1.0, 3.0])),
    "log normal": lambda D, f: D.LogNormal(f([0.5, -1.0]), f([0.5, 0.3])),
    "uniform": lambda D, f: D.Uniform(f([-1.0, 0.0]), f([2.0, 0.5])),
    "uniform of numbers": lambda D, f: D.Uniform(-1, 2.5),
    "bernoulli": lambda D, f: D.Bernoulli(f([0.2, 0.5, 0.9])),
    "bernoulli logits": lambda D, f: D.Bernoulli(logits=f([[0.2, -1.5], [0.0, 3.0]])),
    "bernoulli of a number": lambda D, f: D.Bernoulli(0.25),
    "categorical": lambda D, f: D.Categorical(f([[0.1, 0.2, 0.7], [1.0, 2.0, 3.0]])),
    "categorical logits": lambda D, f: D.Categorical(logits=f([0.3, -0.5, 2.0, 0.1])),
    "one hot": lambda D, f: D.OneHotCategorical(f([[0.1, 0.2, 0.7], [1.0, 2.0, 3.0]])),
    "one hot through": lambda D, f: D.OneHotCategoricalStraightThrough(logits=f([0.3, -0.5, 2.0])),
    "exponential": lambda D, f: D.Exponential(f([0.5, 3.0])),
    "laplace": lambda D, f: D.Laplace(f([0.5, -1.0]), f([1.5, 0.3])),
    "independent": lambda D, f: D.Independent(D.Normal(f([[0.5, -1.0], [2.0, 0.0]]), f([1.5, 0.3])), 1),
    "independent of two": lambda D, f: D.Independent(D.Laplace(f([[0.5, -1.0], [2.0, 0.0]]), f([1.5])), 2),
    "logistic": lambda D, f: D.TransformedDistribution(
        D.Uniform(f([0.0, 0.0]), f([1.0, 1.0])),
        [D.SigmoidTransform().inv, D.AffineTransform(f([1.0, 2.0]), -3.0)],
    ),
    "tanh": lambda D, f: D.TransformedDistribution(
        D.Normal(f([0.1, 0.4]), f([1.0, 0.5])), D.TanhTransform(cache_size=1)
    ),
    "stick breaking": lambda D, f: D.TransformedDistribution(
        D.Normal(f([0.1, 0.4, -1.0]), f([1.0, 0.5, 0.7])), D.StickBreakingTransform()
    ),
    "reshaped": lambda D, f: D.TransformedDistribution(
        D.Normal(f([0.1, 0.4, -1.0, 2.0]), f([1.0])), [D.ReshapeTransform((4,), (2, 2)), D.ExpTransform()]
    ),
    "multivariate": lambda D, f: D.MultivariateNormal(f([0.5, -1.0]), f([[2.0, 0.3], [0.3, 0.5]])),
    "multivariate batch": lambda D, f: D.MultivariateNormal(
        f([[0.5, -1.0], [2.0, 1.0], [0.0, 0.1]]), scale_tril=f([[1.5, 0.0], [0.3, 0.5]])
    ),
    "multivariate precision": lambda D, f: D.MultivariateNormal(
        f([0.5, -1.0]), precision_matrix=f([[[2.0, 0.3], [0.3, 0.5]], [[1.0, 0.0], [0.0, 3.0]]])
    ),
    "low rank": lambda D, f: D.LowRankMultivariateNormal(
        f([0.5, -1.0, 2.0]), f([[1.0, 0.5], [0.2, -1.0], [0.0, 2.0]]), f([0.5, 1.0, 2.0])
    ),
    "beta": lambda D, f: D.Beta(f([0.5, 2.0, 9.0]), f([1.5, 0.7, 12.0])),
    "beta of numbers": lambda D, f: D.Beta(2, 3.5),
    "dirichlet": lambda D, f: D.Dirichlet(f([[0.5, 2.0, 9.0], [0.3, 0.2, 0.1]])),
    "gamma": lambda D, f: D.Gamma(f([0.5, 2.0, 20.0]), f([1.5, 0.7, 2.0])),
    "chi2": lambda D, f: D.Chi2(f([0.5, 3.0])),
    "poisson": lambda D, f: D.Poisson(f([0.5, 3.0, 40.0])),
    "student": lambda D, f: D.StudentT(f([0.5, 1.5, 5.0]), f([1.0]), f([2.0, 1.0, 0.5])),
    "half normal": lambda D, f: D.HalfNormal(f([0.5, 3.0])),
    "half cauchy": lambda D, f: D.HalfCauchy(f([0.5, 3.0])),
    "cauchy": lambda D, f: D.Cauchy(f([0.5, -1.0]), f([1.5, 0.3])),
    "geometric": lambda D, f: D.Geometric(f([0.2, 0.9])),
    "geometric logits": lambda D, f: D.Geometric(logits=f([0.2, -2.0])),
    "gumbel": lambda D, f: D.Gumbel(f([0.5, -1.0]), f([1.5, 0.3])),
    "binomial": lambda D, f: D.Binomial(10, f([0.2, 0.5, 0.9])),
    "binomial logits": lambda D, f: D.Binomial(3, logits=f([0.2, -1.5, 0.0])),
    "negative binomial": lambda D, f: D.NegativeBinomial(f([4.0, 0.5]), f([0.2, 0.6])),
    "multinomial": lambda D, f: D.Multinomial(5, f([[0.1, 0.2, 0.7], [1.0, 2.0, 3.0]])),
    "mixture": lambda D, f: D.MixtureSameFamily(
        D.Categorical(f([[0.2, 0.8]] * 3)), D.Normal(f([[0.5, -1.0], [2.0, 0.0], [1.0, 1.0]]), f([1.5, 0.3]))
    ),
    "mixture of vectors": lambda D, f: D.MixtureSameFamily(
        D.Categorical(logits=f([[0.2, 0.8], [0.5, 0.1]])),
        D.Independent(D.Normal(f([[[0.5, -1.0, 0.0], [2.0, 0.0, 1.0]]] * 2), f([1.5, 0.3, 1.0])), 1),
    ),
    "relaxed bernoulli": lambda D, f: D.RelaxedBernoulli(f(0.7), f([0.2, 0.5, 0.9])),
    "relaxed one hot": lambda D, f: D.RelaxedOneHotCategorical(f(0.7), logits=f([0.3, -0.5, 2.0])),
    "logistic normal": lambda D, f: D.LogisticNormal(f([0.5, -1.0]), f([1.5, 0.3])),
    "kumaraswamy": lambda D, f: D.Kumaraswamy(f([0.5, 2.0]), f([1.5, 3.0])),
    "pareto": lambda D, f: D.Pareto(f([0.5, 2.0]), f([1.5, 3.0])),
    "weibull": lambda D, f: D.Weibull(f([0.5, 2.0]), f([1.5, 3.0])),
    "von mises": lambda D, f: D.VonMises(f([0.5, -2.0]), f([1.5, 7.0])),
    "continuous bernoulli": lambda D, f: D.ContinuousBernoulli(f([0.2, 0.4999, 0.9])),
    "continuous bernoulli logits": lambda D, f: D.ContinuousBernoulli(logits=f([0.9, 0.0, -3.0])),
    "fisher": lambda D, f: D.FisherSnedecor(f([1.5, 3.0]), f([3.5, 10.0])),
    "inverse gamma": lambda D, f: D.InverseGamma(f([1.5, 3.0]), f([3.5, 1.0])),
    "lkj": lambda D, f: D.LKJCholesky(3, f([0.5, 2.0])),
    "wishart": lambda D, f: D.Wishart(f(3.5), f([[2.0, 0.3], [0.3, 0.5]])),
    "wishart batch": lambda D, f: D.Wishart(f([3.0, 4.0]), scale_tril=f([[1.5, 0.0], [0.3, 0.5]])),
    "generalized pareto": lambda D, f: D.GeneralizedPareto(f([0.5, 0.0, 1.0]), f([1.5]), f([0.3, 0.0, -0.4])),
}
DRAWN = ("sample", "samples", "sample_n", "rsample", "expand, sample")
ATTRIBUTES = (
    "mean mode variance stddev batch_shape event_shape has_rsample has_enumerate_support support".split()
)
ATTRIBUTES += ["arg_constraints", "probs", "logits", "param_shape", "scale_tril", "covariance_matrix"]
ATTRIBUTES += ["precision_matrix", "concentration1", "df", "temperature"]


def questions(side, d):
    """What is asked of a distribution, by name."""
    t = side.t
    value = t.no_grad()(d.sample)((3,))
    shape = tuple(d.batch_shape)
    u = t.linspace(0.1, 0.9, 3 * math.prod(shape), dtype=side.dtype).view((3, *shape))
    asked = {name: lambda name=name: getattr(d, name) for name in ATTRIBUTES if name in dir(d)}
    return asked | {
        "repr": lambda: repr(d),
        "sample": d.sample,
        "samples": lambda: d.sample((3, 2)),
        "sample_n": lambda: d.sample_n(2),
        "rsample": lambda: d.rsample((2,)),
        "log_prob": lambda: d.log_prob(value),
        "cdf": lambda: d.cdf(value),
        "icdf": lambda: d.icdf(u),
        "entropy": lambda: d.entropy(),
        "perplexity": lambda: d.perplexity(),
        "enumerate_support": lambda: d.enumerate_support(),
        "enumerate_support, short": lambda: d.enumerate_support(expand=False),
        "expand": lambda: repr(d.expand((2, *shape))),
        "expand, sample": lambda: d.expand((2, *shape)).sample((2,)),
        "expand, log_prob": lambda: d.expand((3, *shape)).log_prob(value),
        "a number": lambda: d.log_prob(0.5),
        "outside": lambda: d.log_prob(value * math.nan),
        "of another shape": lambda: d.log_prob(t.zeros(7, 5, dtype=side.dtype)),
        "divergence": lambda: t.distributions.kl_divergence(d, d.expand(shape)),
        "copy": lambda: copy.deepcopy(d.expand(shape)).batch_shape,
        "pickle": lambda: pickle.loads(pickle.dumps(d.expand(shape))).log_prob(value),
    }


# what PyTorch fails at: the gradient of a mask that it has written to, a dtype that it forgot
BROKEN = {("wishart", "rsample"), ("wishart batch", "rsample")}
BROKEN |= {("generalized pareto", asked) for asked in ("log_prob", "cdf", "expand, log_prob", "pickle")}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_distribution_is_pytorchs(name, dtype):
    ours, theirs = Side(rushlight, dtype), Side(torch, dtype)
    pair = []
    for side in (ours, theirs):
        side.t.manual_seed(3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pair.append(questions(side, side.make(CASES[name])))
    for asked in pair[1] if dtype == "float64" else (*DRAWN, "log_prob", "mean", "variance", "entropy"):
        got, want = ours.answer(pair[0][asked]), theirs.answer(pair[1][asked])
        if (name, asked) in BROKEN and isinstance(want[0], str):
            assert isinstance(got[0], numpy.ndarray)
            continue
        try:
            agree(got, want, 1e-5 if asked in DRAWN else 2e-4)
        except AssertionError as error:
            raise AssertionError(f"{asked}: {error}\nrushlight: {got}\ntorch: {want}") from None


# ---- divergences between families ----
PARTNERS = {
    "bernoulli": lambda D, f: D.Bernoulli(f([0.2, 0.7])),
    "beta": lambda D, f: D.Beta(f([0.5, 2.0]), f([1.5, 3.0])),
    "binomial": lambda D, f: D.Binomial(4, f([0.5, 0.25])),
    "cauchy": lambda D, f: D.Cauchy(f([0.5, -1.0]), f([1.5, 3.0])),
    "continuous bernoulli": lambda D, f: D.ContinuousBernoulli(f([0.3, 0.8])),
    "exponential": lambda D, f: D.Exponential(f([0.5, 2.0])),
    "gamma": lambda D, f: D.Gamma(f([0.5, 2.0]), f([1.5, 3.0])),
    "gumbel": lambda D, f: D.Gumbel(f([0.5, -1.0]), f([1.5, 3.0])),
    "half normal": lambda D, f: D.HalfNormal(f([0.5, 3.0])),
    "laplace": lambda D, f: D.Laplace(f([0.5, -1.0]), f([1.5, 3.0])),
    "normal": lambda D, f: D.Normal(f([0.5, -1.0]), f([1.5, 3.0])),
    "pareto": lambda D, f: D.Pareto(f([0.5, 2.0]), f([2.5, 3.0])),
    "poisson": lambda D, f: D.Poisson(f([0.5, 2.0])),
    "uniform": lambda D, f: D.Uniform(f([0.1, 0.0]), f([0.5, 0.9])),
    "wide uniform": lambda D, f: D.Uniform(f([-0.1, -1.0]), f([1.5, 2.0])),
}


@pytest.mark.parametrize("p", PARTNERS)
def test_divergences_between_families_are_pytorchs(p):
    for q in PARTNERS:
        compare(lambda t, D, f, q=q: D.kl_divergence(PARTNERS[p](D, f), PARTNERS[q](D, f)))


def vectors(D, f):
    loc, tril = f([[0.1, 0.4], [1.0, -1.0], [0.0, 0.5]]), f([[1.5, 0.0], [0.3, 0.5]])
    low = D.LowRankMultivariateNormal(loc, f([[1.0], [0.2]]), f([0.5, 1.0]))
    return [
        D.MultivariateNormal(loc, scale_tril=tril),
        D.MultivariateNormal(f([0.0, 1.0]), f([[2.0, 0.3], [0.3, 1.0]])),
        low,
    ]


@pytest.mark.parametrize("i", range(3))
def test_divergences_between_vectors_are_pytorchs(i):
    for j in range(3):
        compare(lambda t, D, f, j=j: D.kl_divergence(vectors(D, f)[i], vectors(D, f)[j]))
    compare(lambda t, D, f: D.kl_divergence(vectors(D, f)[i], D.MultivariateNormal(f([0.0]), f([[1.0]]))))


def zero_probabilities(t, D, f):
    p, q = [0.0, 0.5, 0.5], [0.5, 0.5, 0.0]
    return t.cat(
        [
            D.kl_divergence(kind(f(a)), kind(f(b))).view(-1)
            for a, b in ((p, q), (q, p))
            for kind in (D.Bernoulli, D.Categorical)
        ]
    )


def registered(t, D, f):
    class A(D.Normal):
        pass

    class B(A):
        pass

    @D.register_kl(A, D.Normal)
    def first(p, q):
        return "first"

    @D.register_kl(D.Normal, A)
    def second(p, q):
        return "second"

    a, b, normal = A(0.0, 1.0), B(0.0, 1.0), D.Normal(0.0, 1.0)
    return [D.kl_divergence(*pair) for pair in ((a, normal), (normal, b), (b, b), (a, a), (normal, normal))]


LINES = {
    "zero probabilities": zero_probabilities,
    "registered": registered,
    "expfamily": lambda t, D, f: D.kl.kl_divergence.__globals__["_KL_REGISTRY"][
        D.ExponentialFamily, D.ExponentialFamily
    ](D.Normal(f(0.5), f(2.0)), D.Normal(f(1.0), f(0.3))),
    "entropy by normalizer": lambda t, D, f: D.ExponentialFamily.entropy(
        D.Gamma(f([1.5, 2.0]), f([0.3, 1.0]))
    ),
    "transformed": lambda t, D, f: D.kl_divergence(D.LogNormal(f(0.5), f(2.0)), D.LogNormal(f(1.0), f(0.3))),
    "transformed otherwise": lambda t, D, f: D.kl_divergence(D.LogNormal(0, 1), D.HalfNormal(1.0)),
    "independent": lambda t, D, f: D.kl_divergence(
        *(D.Independent(D.Normal(f([0.5, 1.0]), f([2.0])), 1) for _ in range(2))
    ),
    "independent otherwise": lambda t, D, f: D.kl_divergence(
        *(D.Independent(D.Normal(f([0.5, 1.0]), f([2.0])), n) for n in (0, 1))
    ),
    "negative scale": lambda t, D, f: D.Normal(f([0.0, 1.0]), f([1.0, -1.0])),
    "unchecked": lambda t, D, f: D.Normal(f(0.0), f(-1.0), validate_args=False).log_prob(f(3.0)),
    "shapes": lambda t, D, f: D.Normal(f([0.0, 1.0]), f([1.0, 1.0, 1.0])),
    "a list": lambda t, D, f: D.Normal([0.0], 1.0),
    "both": lambda t, D, f: D.Bernoulli(0.5, 0.5),
    "neither": lambda t, D, f: D.Categorical(),
    "no dims": lambda t, D, f: D.Categorical(f(1.0)),
    "no dims of logits": lambda t, D, f: D.Categorical(logits=f(1.0)),
    "negative weight": lambda t, D, f: D.Categorical(f([-1.0, 3.0])),
    "bounds": lambda t, D, f: D.Uniform(f([0.0, 1.0]), f([1.0, 1.0])),
    "above 1": lambda t, D, f: D.Bernoulli(f(1.5)),
    "never": lambda t, D, f: D.Geometric(f([0.5, 0.0])),
    "no matrix": lambda t, D, f: D.MultivariateNormal(f([0.0])),
    "two matrices": lambda t, D, f: D.MultivariateNormal(f([0.0]), f([[1.0]]), f([[1.0]])),
    "a vector": lambda t, D, f: D.MultivariateNormal(f([0.0]), f([1.0])),
    "a vector as factor": lambda t, D, f: D.MultivariateNormal(f([0.0]), scale_tril=f([1.0])),
    "not positive definite": lambda t, D, f: D.MultivariateNormal(f([0.0, 1.0]), f([[1.0, 2.0], [2.0, 1.0]])),
    "not symmetric": lambda t, D, f: D.MultivariateNormal(f([0.0, 1.0]), f([[1.0, 0.5], [0.0, 1.0]])),
    "no positive factor": lambda t, D, f: D.MultivariateNormal(f([0.0]), scale_tril=f([[-1.0]])),
    "low rank, factor": lambda t, D, f: D.LowRankMultivariateNormal(f([0.0]), f([[1.0], [1.0]]), f([1.0])),
    "low rank, diagonal": lambda t, D, f: D.LowRankMultivariateNormal(f([0.0]), f([[1.0]]), f([1.0, 1.0])),
    "low rank, batch": lambda t, D, f: D.LowRankMultivariateNormal(
        f([[0.0]] * 2), f([[[1.0]]] * 3), f([1.0])
    ),
    "wishart, df": lambda t, D, f: D.Wishart(f(0.5), f([[1.0, 0.0], [0.0, 1.0]])),
    "wishart, low df": lambda t, D, f: D.Wishart(f(1.5), f([[1.0, 0.0], [0.0, 1.0]])),
    "lkj of one": lambda t, D, f: D.LKJCholesky(1),
    "multinomial of many": lambda t, D, f: D.Multinomial(f([3.0, 4.0]), f([[0.5, 0.5]] * 2)),
    "binomials": lambda t, D, f: D.Binomial(f([3.0, 4.0]), f([0.5, 0.5])).entropy(),
    "no categorical": lambda t, D, f: D.MixtureSameFamily(D.Normal(0, 1), D.Normal(f([0.0]), f([1.0]))),
    "no distribution": lambda t, D, f: D.MixtureSameFamily(D.Categorical(f([1.0])), 3),
    "components": lambda t, D, f: D.MixtureSameFamily(D.Categorical(f([1.0])), D.Normal(f([0.0] * 2), 1.0)),
    "batches": lambda t, D, f: D.MixtureSameFamily(
        D.Categorical(f([[1.0]] * 2)), D.Normal(f([[0.0]] * 3), 1.0)
    ),
    "too few dims": lambda t, D, f: D.Independent(D.Normal(0, 1), 1),
    "no transform": lambda t, D, f: D.TransformedDistribution(D.Normal(0, 1), 3),
    "no transforms": lambda t, D, f: D.TransformedDistribution(D.Normal(0, 1), [3]),
    "no vector": lambda t, D, f: D.TransformedDistribution(D.Normal(0, 1), D.StickBreakingTransform()),
    "no families": lambda t, D, f: D.kl_divergence(D.VonMises(f(0.0), f(1.0)), D.Normal(0, 1)),
    "no mode": lambda t, D, f: D.LogisticNormal(f(0.0), f(1.0)).mode,
    "no switch": lambda t, D, f: D.Distribution.set_default_validate_args(3),
    "subscript": lambda t, D, f: D.Independent[D.Normal].__args__[0] is D.Normal,
    "straight through": lambda t, D, f: D.OneHotCategoricalStraightThrough(f([1.0, 2.0, 3.0])).rsample((4,)),
    "validated in range": lambda t, D, f: D.Uniform(f(0.0), f(1.0)).log_prob(f([0.5, 1.5])),
    "half precision": lambda t, D, f: D.Normal(t.zeros(3, dtype=t.bfloat16), 1.0).sample().dtype,
    "integers": lambda t, D, f: D.Normal(t.tensor([1, 2]), t.tensor([1, 2])).variance,
    "tril": lambda t, D, f: D.utils.vec_to_tril_matrix(f([1.0, 2.0, 3.0]), -1),
    "tril, above": lambda t, D, f: D.utils.vec_to_tril_matrix(f([1.0, 2.0, 3.0, 4.0, 5.0]), 1),
    "tril, odd": lambda t, D, f: D.utils.vec_to_tril_matrix(f([1.0, 2.0])),
    "vec": lambda t, D, f: D.utils.tril_matrix_to_vec(f([[1.0, 2.0], [3.0, 4.0]])),
    "vec, outside": lambda t, D, f: D.utils.tril_matrix_to_vec(f([[1.0, 2.0], [3.0, 4.0]]), 2),
    "clamped": lambda t, D, f: D.utils.clamp_probs(f([0.0, 0.5, 1.0])),
    "logits": lambda t, D, f: D.utils.probs_to_logits(f([0.0, 0.5, 1.0]), True),
}


@pytest.mark.parametrize("name", LINES)
def test_line_answers_as_pytorch(name):
    compare(LINES[name])
