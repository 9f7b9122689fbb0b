"""Kullback-Leibler divergences: a formula for each pair of distributions that have one."""

import warnings

from rushlight import _missing

_KL_REGISTRY = {}  # (type of p, type of q): formula
_KL_MEMOIZE = {}  # the same for pairs that were asked for, NotImplemented for those without a formula

__all__ = ["register_kl", "kl_divergence"]
__getattr__ = _missing.lacks(__name__)


def register_kl(type_p, type_q):
    """Decorate the formula of kl_divergence() for two types and their subclasses.

    The most specific pair of types wins; where two pairs are equally specific, a RuntimeWarning asks for a
    third that breaks the tie.
    """
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(kind, type):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {kind}")

    def decorator(fun):
        _KL_REGISTRY[type_p, type_q] = fun
        _KL_MEMOIZE.clear()
        return fun

    return decorator


def _is_as_specific(pair, other):
    """Is a pair of types as specific as another? The first type decides, unless both have the same."""
    for mine, others in zip(pair, other):
        if not issubclass(mine, others):
            return False
        if mine is not others:
            break
    return True


def _most_specific(pairs):
    best = pairs[0]
    for pair in pairs[1:]:
        if pair != best and _is_as_specific(pair, best):
            best = pair
    return best


def _dispatch_kl(type_p, type_q):
    """Find the formula of the most specific pair, or NotImplemented."""
    found = [(p, q) for p, q in _KL_REGISTRY if issubclass(type_p, p) and issubclass(type_q, q)]
    if not found:
        return NotImplemented
    by_p = _most_specific(found)
    by_q = _most_specific([(q, p) for p, q in found])[::-1]
    fun = _KL_REGISTRY[by_p]
    if fun is not _KL_REGISTRY[by_q]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). "
            f"Please register_kl({by_p[0].__name__}, {by_q[1].__name__})",
            RuntimeWarning,
            stacklevel=2,
        )
    return fun


def kl_divergence(p, q):
    """Return KL(p || q), the mean of log p(x) - log q(x) over p, of the batch shape.

    NotImplementedError is raised where no formula is registered, neither here nor by register_kl().
    """
    pair = type(p), type(q)
    fun = _KL_MEMOIZE.get(pair)
    if fun is None:
        fun = _KL_MEMOIZE[pair] = _dispatch_kl(*pair)
    if fun is NotImplemented:
        raise NotImplementedError(
            "No KL(p || q) is implemented for p type "
            f"{p.__class__.__name__} and q type {q.__class__.__name__}"
        )
    return fun(p, q)


from . import _cross, _multivariate, _same  # noqa: E402, F401  (formulas register themselves)
