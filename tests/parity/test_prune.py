"""Pruning: the same scripts on torch and here."""

import copy

import pytest

from helpers.pytorch import attempt, case, compare, linear, numbers


# ---- pruning ----
@case
def prune_methods(t):
    p = t.nn.utils.prune
    answers = []
    for prune in (
        lambda m: p.l1_unstructured(m, "weight", 3),
        lambda m: p.l1_unstructured(m, "weight", 0.5, importance_scores=numbers(t, 3, 4).flip(0)),
        lambda m: p.ln_structured(m, "weight", 1, n=2, dim=0),
        lambda m: p.ln_structured(m, "weight", 0.5, n=1, dim=-1),
        lambda m: p.ln_structured(m, "weight", 2, n=float("inf"), dim=1),
        lambda m: p.random_unstructured(m, "weight", 0),
        lambda m: p.random_unstructured(m, "weight", 12),
        lambda m: p.random_structured(m, "weight", 3, 0),
        lambda m: p.random_structured(m, "weight", 0.0, 1),
        lambda m: p.identity(m, "weight"),
        lambda m: p.custom_from_mask(m, "weight", t.tensor([[1.0, 0, 1, 0]] * 3)),
    ):
        m = linear(t, 4, 3)
        with t.no_grad():
            m.weight.copy_(m.weight + t.arange(12).reshape(3, 4) * 0.01)
        answers += [prune(m) is m, list(m.state_dict()), m.weight, m.weight_mask, p.is_pruned(m)]
        answers += [m(t.ones(1, 4)), type(next(iter(m._forward_pre_hooks.values()))).__name__]
        p.remove(m, "weight")
        answers += [m.weight, type(m.weight).__name__, list(m.state_dict()), p.is_pruned(m)]
    for count, dim in ((4, None), (1, 0)):
        m = linear(t, 4, 3)
        if dim is None:
            p.random_unstructured(m, "weight", count)
        else:
            p.random_structured(m, "weight", count, dim)
        answers.append(int((m.weight_mask == 0).sum()))
    return answers


@case
def prune_twice(t):
    p = t.nn.utils.prune
    m = linear(t, 4, 3)
    with t.no_grad():
        m.weight.copy_(m.weight + t.arange(12).reshape(3, 4) * 0.01)
    answers = []
    for prune in (
        lambda: p.l1_unstructured(m, "weight", 3),
        lambda: p.ln_structured(m, "weight", 1, n=2, dim=0),
        lambda: p.l1_unstructured(m, "weight", 0.5),
        lambda: p.custom_from_mask(m, "weight", t.tensor([[1.0, 0, 1, 1]] * 3)),
    ):
        prune()
        hook = next(iter(m._forward_pre_hooks.values()))
        answers += [m.weight_mask, m.weight, type(hook).__name__, len(m._forward_pre_hooks)]
        answers.append([type(h).__name__ for h in hook] if isinstance(hook, p.PruningContainer) else None)
    twin = copy.deepcopy(m) if m.weight.is_leaf else None
    p.remove(m, "weight")
    return answers, m.weight, twin


@case
def prune_globally(t):
    p = t.nn.utils.prune
    a, b = linear(t, 4, 3), linear(t, 3, 4)
    with t.no_grad():
        a.weight.copy_(a.weight + t.arange(12).reshape(3, 4) * 0.01)
        b.weight.copy_(b.weight + t.arange(12).reshape(4, 3) * 0.02 + 0.001)
    chosen = [(a, "weight"), (b, "weight")]
    p.global_unstructured(chosen, pruning_method=p.L1Unstructured, amount=10)
    answers = [a.weight_mask, b.weight_mask]
    answers.append(p.L1Unstructured(2).prune(numbers(t, 5) + t.arange(5) * 0.01))
    for wrong in (
        lambda: p.global_unstructured(3, p.L1Unstructured, amount=1),
        lambda: p.global_unstructured(chosen, p.L1Unstructured, importance_scores=[], amount=1),
        lambda: p.l1_unstructured(linear(t), "weight", -1),
        lambda: p.l1_unstructured(linear(t), "weight", 1.5),
        lambda: p.l1_unstructured(linear(t), "weight", 99),
        lambda: p.l1_unstructured(linear(t), "weight", "1"),
        lambda: p.l1_unstructured(linear(t), "weight", 1, importance_scores=t.ones(1)),
        lambda: p.ln_structured(linear(t), "bias", 1, 2, 0),
        lambda: p.ln_structured(linear(t), "weight", 1, 2, 2),
        lambda: p.remove(linear(t), "weight"),
        lambda: p.custom_from_mask(linear(t), "weight", t.ones(1)),
        lambda: p.PruningContainer().add_pruning_method(3),
        lambda: p.L1Unstructured.apply(linear(t), "x", 1),
        lambda: p.BasePruningMethod(),
    ):
        kind, text = attempt(wrong)
        answers.append((kind, text.split(" object at ")[0].replace("torch", "rushlight")))
    return answers


CASES = {name: f for name, f in globals().items() if getattr(f, "is_case", False)}


@pytest.mark.parametrize("name", CASES)
def test_same_as_torch(name):
    compare(CASES[name])
