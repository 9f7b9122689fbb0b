"""Schedulers: their learning rates against closed formulas, their rules, and averages of models."""

import copy
import gc
import math
import pickle
import subprocess
import sys
import warnings
import weakref

import numpy as np
import pytest

import rushlight
from rushlight import nn, optim
from rushlight.optim import lr_scheduler, swa_utils

LR, N = 0.8, 40
pytestmark = pytest.mark.filterwarnings("error")


def a_weight():
    return nn.Parameter(rushlight.ones(2))


def sgd(lr=LR, **options):
    return optim.SGD([a_weight()], lr=lr, **options)


def rates(optimizer, scheduler, n=N):
    """The learning rates that n epochs train with."""
    lrs = []
    for _ in range(n):
        lrs.append(float(optimizer.param_groups[0]["lr"]))
        assert float(scheduler.get_last_lr()[0]) == lrs[-1]
        optimizer.step()
        scheduler.step()
    return lrs


def cosine(part):
    """From 1 to 0 while part goes from 0 to 1."""
    return (1 + math.cos(math.pi * part)) / 2


def triangle(epoch, up, down):
    at = epoch % (up + down)
    return at / up if at <= up else (up + down - at) / down


def one_cycle(epoch, n, high, low, end, part=0.3):
    top = part * n - 1
    if epoch <= top:
        return high + (low - high) * cosine(epoch / top)
    return end + (high - end) * cosine((epoch - top) / (n - 1 - top))


# what makes a scheduler, and the learning rate of an epoch
FORMULAS = {
    "lambda": (lambda o: lr_scheduler.LambdaLR(o, lambda e: 0.9**e), lambda e: LR * 0.9**e),
    "multiplicative": (lambda o: lr_scheduler.MultiplicativeLR(o, lambda e: 0.9), lambda e: LR * 0.9**e),
    "exponential": (lambda o: lr_scheduler.ExponentialLR(o, 0.9), lambda e: LR * 0.9**e),
    "step": (lambda o: lr_scheduler.StepLR(o, 6, 0.5), lambda e: LR * 0.5 ** (e // 6)),
    "multi step": (
        lambda o: lr_scheduler.MultiStepLR(o, [4, 11, 11], 0.5),
        lambda e: LR * 0.5 ** ((e >= 4) + 2 * (e >= 11)),
    ),
    "constant": (lambda o: lr_scheduler.ConstantLR(o, 0.25, 7), lambda e: LR * (0.25 if e < 7 else 1)),
    "linear": (
        lambda o: lr_scheduler.LinearLR(o, 0.2, 0.7, 10),
        lambda e: LR * (0.2 + 0.5 * min(e, 10) / 10),
    ),
    "polynomial": (
        lambda o: lr_scheduler.PolynomialLR(o, 30, 1.5),
        lambda e: LR * (1 - min(e, 30) / 30) ** 1.5,
    ),
    "cosine": (
        lambda o: lr_scheduler.CosineAnnealingLR(o, 12, 0.1),
        lambda e: 0.1 + (LR - 0.1) * cosine(e / 12),
    ),
    "restarts": (
        lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 8, eta_min=0.1),
        lambda e: 0.1 + (LR - 0.1) * cosine(e % 8 / 8),
    ),
    "restarts that grow": (
        lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 8, 2),
        lambda e: (
            LR * (cosine(e / 8) if e < 8 else cosine((e - 8) / 16) if e < 24 else cosine((e - 24) / 32))
        ),
    ),
    "cyclic": (
        lambda o: lr_scheduler.CyclicLR(o, 0.1, 0.5, 4, 6, cycle_momentum=False),
        lambda e: 0.1 + 0.4 * triangle(e, 4, 6),
    ),
    "cyclic that shrinks": (
        lambda o: lr_scheduler.CyclicLR(o, 0.1, 0.5, 4, 6, mode="triangular2", cycle_momentum=False),
        lambda e: 0.1 + 0.4 * triangle(e, 4, 6) / 2 ** (e // 10),
    ),
    "one cycle": (
        lambda o: lr_scheduler.OneCycleLR(o, 0.5, N + 1, cycle_momentum=False),
        lambda e: one_cycle(e, N + 1, 0.5, 0.5 / 25, 0.5 / 25 / 1e4),
    ),
    "sequence": (
        lambda o: lr_scheduler.SequentialLR(
            o, [lr_scheduler.LinearLR(o, 0.1, 1, 5), lr_scheduler.ExponentialLR(o, 0.9)], [5]
        ),
        lambda e: LR * (0.1 + 0.9 * e / 5 if e < 5 else 0.9 ** (e - 5)),
    ),
    "chain": (
        lambda o: lr_scheduler.ChainedScheduler(
            [lr_scheduler.ConstantLR(o, 0.5, 3), lr_scheduler.ExponentialLR(o, 0.9)]
        ),
        lambda e: LR * 0.9**e * (0.5 if e < 3 else 1),
    ),
    "averages": (
        lambda o: swa_utils.SWALR(o, 0.2, anneal_epochs=9),
        lambda e: 0.2 + (LR - 0.2) * (cosine(min(e, 9) / 9)),
    ),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_learning_rates_follow_their_formula(name):
    make, formula = FORMULAS[name]
    wanted = [formula(epoch) for epoch in range(N)]
    optimizer = sgd()
    np.testing.assert_allclose(rates(optimizer, make(optimizer)), wanted, rtol=1e-9, atol=1e-12)
    lr = rushlight.tensor(LR, dtype=rushlight.float64)
    optimizer = sgd(lr)
    np.testing.assert_allclose(rates(optimizer, make(optimizer)), wanted, rtol=1e-9, atol=1e-12)
    assert optimizer.param_groups[0]["lr"] is lr


@pytest.mark.parametrize("name", FORMULAS)
def test_a_scheduler_that_is_loaded_goes_on(name):
    make, formula = FORMULAS[name]
    optimizer = sgd()
    scheduler = make(optimizer)
    rates(optimizer, scheduler, 13)
    states = copy.deepcopy([optimizer.state_dict(), scheduler.state_dict()])
    rest = rates(optimizer, scheduler, N - 13)
    optimizer = sgd(0.1)
    scheduler = make(optimizer)
    optimizer.load_state_dict(states[0])
    scheduler.load_state_dict(states[1])
    assert rates(optimizer, scheduler, N - 13) == rest
    assert rest[0] == pytest.approx(formula(13), rel=1e-9, abs=1e-12)


def test_loading_does_not_change_what_is_loaded():
    class Half:
        def __init__(self):
            self.times = 0

        def __call__(self, epoch):
            return 0.5

    for make in (
        lambda o: lr_scheduler.LambdaLR(o, Half()),
        lambda o: lr_scheduler.CyclicLR(o, 0.1, 1, scale_fn=Half(), cycle_momentum=False),
        lambda o: lr_scheduler.ChainedScheduler([lr_scheduler.MultiplicativeLR(o, Half())]),
    ):
        state = make(sgd()).state_dict()
        before = copy.deepcopy(state)
        for _ in range(2):
            make(sgd()).load_state_dict(state)
        assert state == before and list(state) == list(before)


def test_a_plateau():
    optimizer = sgd()
    scheduler = lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1, cooldown=2, min_lr=0.15)
    lrs = []
    for metric in (5, 4, 4, 4, 4, 4, 4, 4, 4, rushlight.tensor(4.0), 4, 1, 1, 1):
        scheduler.step(metric)
        lrs.append(optimizer.param_groups[0]["lr"])
    assert lrs == [0.8] * 3 + [0.4] * 4 + [0.2] * 6 + [0.15]
    assert scheduler.best == 1.0 and type(scheduler.best) is float and scheduler.in_cooldown


def test_momentum_goes_the_other_way():
    for make in (
        lambda o: lr_scheduler.CyclicLR(o, 0.1, 0.5, 4, base_momentum=0.6, max_momentum=0.9),
        lambda o: lr_scheduler.OneCycleLR(o, 0.5, N + 1, base_momentum=0.6, max_momentum=0.9),
    ):
        for optimizer in (sgd(momentum=0.5), optim.AdamW([a_weight()], lr=LR, betas=(0.5, 0.7))):
            scheduler, group, seen = make(optimizer), optimizer.param_groups[0], []
            for _ in range(N):
                seen.append((group["lr"], group["betas"][0] if "betas" in group else group["momentum"]))
                optimizer.step()
                scheduler.step()
            lrs, momentums = map(np.array, zip(*seen, strict=True))
            assert momentums[0] == 0.9 and momentums[lrs.argmax()] == pytest.approx(0.6, abs=5e-3)
            rising = np.diff(lrs) > 0
            assert (np.diff(momentums)[rising] < 1e-9).all()
            assert group.get("betas", (0, 0.7))[1] == 0.7


def test_warnings_name_the_users_line():
    optimizer = sgd()
    scheduler = lr_scheduler.StepLR(optimizer, 3)
    with pytest.warns(UserWarning, match="before `optimizer.step\\(\\)`") as warned:
        scheduler.step()
    assert warned[0].filename == __file__
    with pytest.warns(UserWarning, match="get_last_lr") as warned:
        scheduler.get_lr()
    assert warned[0].filename == __file__
    with pytest.warns(UserWarning, match="epoch parameter") as warned:
        scheduler.step(7)
    assert warned[0].filename == __file__ and scheduler.get_last_lr() == [pytest.approx(LR * 0.01)]


def test_nothing_is_kept_alive():
    optimizer = sgd()
    schedulers = [lr_scheduler.StepLR(optimizer, 3), lr_scheduler.ExponentialLR(optimizer, 0.5)]
    dead = weakref.ref(optimizer)
    gc.disable()
    try:
        del optimizer, schedulers
        assert dead() is None
    finally:
        gc.enable()


def test_pickles_hold_the_optimiser():
    optimizer = sgd()
    twins = pickle.loads(
        pickle.dumps([optimizer, lr_scheduler.CyclicLR(optimizer, 0.1, 0.5, cycle_momentum=False)])
    )
    assert twins[1].optimizer is twins[0] and twins[1].scale_fn(3) == 1.0
    unpicklable = (AttributeError, pickle.PicklingError)  # the latter from Python 3.14 on
    with pytest.raises(unpicklable, match="local object"):
        pickle.dumps(lr_scheduler.LambdaLR(optimizer, lambda epoch: 1.0))


def test_imported_when_first_asked_for():
    code = (
        "import sys, rushlight.optim as o; print([m for m in sys.modules if 'sched' in m or 'swa' in m]);"
        "print(o.lr_scheduler.StepLR.__module__, o.swa_utils.SWALR.__module__, 'swa_utils' in dir(o))"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.split("\n")[:2] == ["[]", "rushlight.optim.lr_scheduler rushlight.optim.swa_utils True"]


# ---- averages ----
def test_averages_are_means():
    rng = np.random.default_rng(0)
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    mean = swa_utils.AveragedModel(model)
    moving = swa_utils.AveragedModel(model, multi_avg_fn=swa_utils.get_ema_multi_avg_fn(0.75))
    seen = []
    for _ in range(5):
        seen.append(rng.normal(size=(2, 3)))
        with rushlight.no_grad():
            model[0].weight.copy_(rushlight.tensor(seen[-1]))
        model(rushlight.tensor(rng.normal(size=(4, 3))).float())
        mean.update_parameters(model)
        moving.update_parameters(model)
    np.testing.assert_allclose(mean.module[0].weight.detach().numpy(), np.mean(seen, 0), atol=1e-6)
    ema = seen[0]
    for weight in seen[1:]:
        ema = 0.75 * ema + 0.25 * weight
    np.testing.assert_allclose(moving.module[0].weight.detach().numpy(), ema, atol=1e-6)
    assert mean.n_averaged == 5 and mean.module[1].num_batches_tracked == 5
    assert list(mean.state_dict())[:2] == ["n_averaged", "module.0.weight"]
    assert mean.module[0].weight.requires_grad and mean.module[0].weight.grad_fn is None


def test_update_bn_takes_means_over_batches():
    rng = np.random.default_rng(0)
    batches = [rng.normal(3, 2, size=(6, 2)) for _ in range(4)]
    model = nn.Sequential(nn.BatchNorm1d(2, momentum=0.9)).eval()
    swa_utils.update_bn([(rushlight.tensor(b).float(), 7) for b in batches], model)
    norm = model[0]
    np.testing.assert_allclose(norm.running_mean.numpy(), np.mean([b.mean(0) for b in batches], 0), rtol=1e-5)
    np.testing.assert_allclose(
        norm.running_var.numpy(), np.mean([b.var(0, ddof=1) for b in batches], 0), rtol=1e-5
    )
    assert norm.momentum == 0.9 and not model.training


def test_wrong_order_is_said_once():
    optimizer = sgd()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        scheduler = lr_scheduler.ExponentialLR(optimizer, 0.5)
        for _ in range(3):
            scheduler.step()
            optimizer.step()
    assert len(warned) == 1
