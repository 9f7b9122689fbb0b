"""Probability distributions, as torch.distributions (https://docs.pytorch.org/docs/2.13/distributions.html).

Each has the module that PyTorch has; a name is imported when something first asks for it.
"""

from rushlight import _missing

# the module of each name
_HOMES = {
    "Bernoulli": "bernoulli",
    "Beta": "beta",
    "Binomial": "binomial",
    "Categorical": "categorical",
    "Cauchy": "cauchy",
    "Chi2": "chi2",
    "ContinuousBernoulli": "continuous_bernoulli",
    "Dirichlet": "dirichlet",
    "Distribution": "distribution",
    "Exponential": "exponential",
    "ExponentialFamily": "exp_family",
    "FisherSnedecor": "fishersnedecor",
    "Gamma": "gamma",
    "GeneralizedPareto": "generalized_pareto",
    "Geometric": "geometric",
    "Gumbel": "gumbel",
    "HalfCauchy": "half_cauchy",
    "HalfNormal": "half_normal",
    "Independent": "independent",
    "InverseGamma": "inverse_gamma",
    "Kumaraswamy": "kumaraswamy",
    "LKJCholesky": "lkj_cholesky",
    "Laplace": "laplace",
    "LogNormal": "log_normal",
    "LogisticNormal": "logistic_normal",
    "LowRankMultivariateNormal": "lowrank_multivariate_normal",
    "MixtureSameFamily": "mixture_same_family",
    "Multinomial": "multinomial",
    "MultivariateNormal": "multivariate_normal",
    "NegativeBinomial": "negative_binomial",
    "Normal": "normal",
    "OneHotCategorical": "one_hot_categorical",
    "OneHotCategoricalStraightThrough": "one_hot_categorical",
    "Pareto": "pareto",
    "Poisson": "poisson",
    "RelaxedBernoulli": "relaxed_bernoulli",
    "RelaxedOneHotCategorical": "relaxed_categorical",
    "StudentT": "studentT",
    "TransformedDistribution": "transformed_distribution",
    "Uniform": "uniform",
    "VonMises": "von_mises",
    "Weibull": "weibull",
    "Wishart": "wishart",
    "biject_to": "constraint_registry",
    "kl_divergence": "kl",
    "register_kl": "kl",
    "transform_to": "constraint_registry",
}
_TRANSFORMS = ("Abs", "Affine", "Cat", "Compose", "CorrCholesky", "CumulativeDistribution", "Exp")
_TRANSFORMS += ("Independent", "LowerCholesky", "PositiveDefinite", "Power", "Reshape", "Sigmoid", "Softmax")
_TRANSFORMS += ("Softplus", "Stack", "StickBreaking", "Tanh", "")
_HOMES |= {name + "Transform": "transforms" for name in _TRANSFORMS} | {"identity_transform": "transforms"}
_MODULES = {*_HOMES.values(), "constraints", "utils"}
__all__ = sorted(_HOMES)
_missing_name = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__, {*_HOMES, *_MODULES})


def __getattr__(name):
    home = name if name in _MODULES else _HOMES.get(name)
    if home is None:
        return _missing_name(name)
    from importlib import import_module

    module = import_module(f"{__name__}.{home}")
    value = globals()[name] = module if home == name else getattr(module, name)
    return value
