"""Every scheduler, with many options, in both libraries: learning rates, momentum, state dicts, warnings."""

import io
import math

import pytest

import rushlight
import rushlight.nn
from helpers.pytorch import attempt, plain
from helpers.schedulers import Names, exactly

torch = pytest.importorskip("torch")


class Height:
    """A callable object, whose attributes a state dict keeps."""

    def __init__(self, by):
        self.by = by

    def __call__(self, x):
        return 1 / (1 + self.by * x)


def halves(epoch):
    return 0.5 ** (epoch // 7)


# what makes a scheduler of module s for optimiser o
SCHEDULES = {
    "lambda": lambda s, o: s.LambdaLR(o, halves),
    "lambdas": lambda s, o: s.LambdaLR(o, [lambda e: 0.9**e, Height(0.3)]),
    "multiplicative": lambda s, o: s.MultiplicativeLR(o, lambda e: 0.9 + e / 1000),
    "multiplicatives": lambda s, o: s.MultiplicativeLR(o, (Height(0.01), halves)),
    "step": lambda s, o: s.StepLR(o, 7),
    "step gamma": lambda s, o: s.StepLR(o, step_size=3, gamma=0.7),
    "multi step": lambda s, o: s.MultiStepLR(o, [5, 12, 12, 30]),
    "multi step gamma": lambda s, o: s.MultiStepLR(o, (0, 9), gamma=1.5),
    "constant": lambda s, o: s.ConstantLR(o),
    "constant long": lambda s, o: s.ConstantLR(o, factor=0.25, total_iters=22),
    "linear": lambda s, o: s.LinearLR(o),
    "linear down": lambda s, o: s.LinearLR(o, 1.0, 0.1, 33),
    "linear to 0": lambda s, o: s.LinearLR(o, start_factor=0.7, end_factor=0, total_iters=18),
    "exponential": lambda s, o: s.ExponentialLR(o, 0.93),
    "polynomial": lambda s, o: s.PolynomialLR(o),
    "polynomial square": lambda s, o: s.PolynomialLR(o, total_iters=40, power=2),
    "cosine": lambda s, o: s.CosineAnnealingLR(o, 50),
    "cosine waves": lambda s, o: s.CosineAnnealingLR(o, T_max=8, eta_min=1e-3),
    "restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 7),
    "restarts longer": lambda s, o: s.CosineAnnealingWarmRestarts(o, T_0=3, T_mult=2, eta_min=1e-4),
    "one cycle": lambda s, o: s.OneCycleLR(o, 0.3, 55),
    "one cycle epochs": lambda s, o: s.OneCycleLR(o, max_lr=[0.3, 0.7], epochs=6, steps_per_epoch=9),
    "one cycle linear": lambda s, o: s.OneCycleLR(
        o, 1, 60, anneal_strategy="linear", pct_start=0.1, div_factor=10, final_div_factor=100
    ),
    "one cycle three": lambda s, o: s.OneCycleLR(
        o, 0.5, 51, three_phase=True, base_momentum=[0.7, 0.8], max_momentum=0.99
    ),
    "one cycle alone": lambda s, o: s.OneCycleLR(o, 0.5, 51, cycle_momentum=False, pct_start=0.0),
    "cyclic": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 5),
    "cyclic 2": lambda s, o: s.CyclicLR(o, [0.01, 0.02], 0.1, 4, 9, mode="triangular2"),
    "cyclic range": lambda s, o: s.CyclicLR(o, 0.01, [0.1, 1], 6, mode="exp_range", gamma=0.97),
    "cyclic own": lambda s, o: s.CyclicLR(
        o, 0.01, 0.1, 5, scale_fn=lambda x: 0.9**x, scale_mode="iterations"
    ),
    "cyclic object": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 5, scale_fn=Height(0.5), mode="anything"),
    "cyclic momentum": lambda s, o: s.CyclicLR(
        o, 0.01, 0.1, 5, base_momentum=[0.1, 0.2], max_momentum=(0.8, 0.95)
    ),
    "cyclic alone": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 3, 1, cycle_momentum=False),
    "sequence": lambda s, o: s.SequentialLR(
        o, [s.ConstantLR(o, 0.1, 8), s.ExponentialLR(o, 0.9), s.CosineAnnealingLR(o, 9)], [10, 25]
    ),
    "sequence warm": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.01, total_iters=5), s.CosineAnnealingWarmRestarts(o, 6)], milestones=[5]
    ),
    "sequence in sequence": lambda s, o: s.SequentialLR(
        o, [s.SequentialLR(o, [s.StepLR(o, 2), s.PolynomialLR(o, 20)], [7]), s.LambdaLR(o, halves)], [30]
    ),
    "chain": lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9)]),
    "chain of three": lambda s, o: s.ChainedScheduler(
        (s.LinearLR(o, 0.5, total_iters=9), s.StepLR(o, 11), s.MultiplicativeLR(o, Height(0.02))), optimizer=o
    ),
    "plateau": lambda s, o: s.ReduceLROnPlateau(o),
    "plateau max": lambda s, o: s.ReduceLROnPlateau(
        o, "max", factor=0.5, patience=2, threshold=0.1, cooldown=3, min_lr=[1e-3, 0]
    ),
    "plateau abs": lambda s, o: s.ReduceLROnPlateau(
        o, patience=1, threshold_mode="abs", threshold=0.01, min_lr=5e-4, eps=1e-3
    ),
    "plateau max abs": lambda s, o: s.ReduceLROnPlateau(
        o, mode="max", patience=0, threshold_mode="abs", threshold=0.3, factor=0.8
    ),
    "averages": lambda s, o: s.SWALR(o, 0.05),
    "averages linear": lambda s, o: s.SWALR(o, [0.05, 0.5], anneal_epochs=20, anneal_strategy="linear"),
    "averages at once": lambda s, o: s.SWALR(o, swa_lr=0.05, anneal_epochs=0),
}


def made(optimizer, lrs, t, **options):
    """An optimiser of one parameter for each learning rate."""
    groups = [{"params": [t.nn.Parameter(t.ones(2))], "lr": lr} for lr in lrs]
    return optimizer(groups, **options)


OPTIMIZERS = {
    "momentum": lambda t: made(t.optim.SGD, [0.1, 0.01], t, momentum=0.9),
    "betas": lambda t: made(t.optim.AdamW, [0.1, 0.01], t),
    "tensors": lambda t: made(t.optim.SGD, t.tensor([0.125, 0.25]).double().split(1), t, momentum=0.9),
    "0-dim tensors": lambda t: made(t.optim.AdamW, [t.tensor(0.25), t.tensor(0.5)], t, foreach=False),
}


def metric(step):
    return math.exp(-step / 6) + 0.2 * math.sin(step)


def groups(optimizer):
    """The groups without parameters; learning rates that are tensors also say who they are."""
    return [{k: v for k, v in group.items() if k != "params"} for group in optimizer.param_groups]


def a_step(optimizer, scheduler, i):
    optimizer.step()
    if type(scheduler).__name__ == "ReduceLROnPlateau":
        scheduler.step(metric(i))
    else:
        scheduler.step()


def steps(t, optimizer, scheduler, numbers):
    """What each step leaves, and the state dict of every tenth."""
    for i in numbers:
        a_step(optimizer, scheduler, i)
        yield plain([scheduler.get_last_lr(), groups(optimizer)], t)
        if i % 10 == 9:
            state = plain(scheduler.state_dict(), t)
            yield list(state), state


def through_file(writer, reader, *objects, weights_only=True):
    file = io.BytesIO()
    writer.save(objects, file)
    file.seek(0)
    return reader.load(file, weights_only=weights_only)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", SCHEDULES)
def test_fifty_steps(name, optimizer):
    def script(t, s):
        o = OPTIMIZERS[optimizer](t)
        lrs = [group["lr"] for group in o.param_groups]
        scheduler = SCHEDULES[name](s, o)
        first = plain([scheduler.get_last_lr(), groups(o), scheduler.state_dict()], t)
        rest = list(steps(t, o, scheduler, range(50)))
        if "tensors" in optimizer:
            assert all(lr is group["lr"] for lr, group in zip(lrs, o.param_groups, strict=True))
        return [first, *rest]

    exactly(script)


@pytest.mark.filterwarnings("ignore:Detected call of")
@pytest.mark.parametrize("name", SCHEDULES)
def test_resumed_in_the_other_library(name):
    """State written at the 20th step and read by either library: 20 more steps are those of one run."""
    o = OPTIMIZERS["momentum"](torch)
    s = SCHEDULES[name](Names(torch), o)
    whole = list(steps(torch, o, s, range(40)))[22:]
    for writer, reader in ((torch, rushlight), (rushlight, torch), (rushlight, rushlight)):
        o = OPTIMIZERS["momentum"](writer)
        s = SCHEDULES[name](Names(writer), o)
        for i in range(20):
            a_step(o, s, i)
        states = through_file(writer, reader, o.state_dict(), s.state_dict())
        o = OPTIMIZERS["momentum"](reader)
        s = SCHEDULES[name](Names(reader), o)
        o.load_state_dict(states[0])
        s.load_state_dict(states[1])
        assert list(steps(reader, o, s, range(20, 40))) == whole, (writer, reader)


@pytest.mark.parametrize("name", [n for n in SCHEDULES if not n.startswith(("sequence", "chain"))])
def test_epochs_that_are_given(name):
    """step(epoch) takes the closed form and says that it is deprecated."""

    def script(t, s):
        o = OPTIMIZERS["momentum"](t)
        scheduler = SCHEDULES[name](s, o)
        o.step()
        answers = []
        for epoch in (3, 17, 17, 0, 2, 30, 49, 7, *range(26, -1, -1)):
            given = (metric(epoch), epoch) if "plateau" in name else (epoch,)
            answers.append([attempt(scheduler.step, *given), scheduler.last_epoch, groups(o)])
            a_step(o, scheduler, epoch)
            answers.append([scheduler.get_last_lr(), groups(o)])
        return answers

    exactly(script)


SIMPLE = [n for n in SCHEDULES if not n.startswith(("sequence", "chain", "plateau"))]


@pytest.mark.parametrize("name", SIMPLE)
def test_from_another_epoch(name):
    """last_epoch: the groups say where it began, and KeyError where they do not."""

    def script(t, s):
        class Later(Names):
            def __getattr__(self, name):
                made = super().__getattr__(name)
                return lambda *args, **kwargs: made(*args, last_epoch=12, **kwargs)

        o = OPTIMIZERS["momentum"](t)
        answers = [attempt(SCHEDULES[name], Later(t), o)]
        SCHEDULES[name](s, o)
        scheduler = SCHEDULES[name](Later(t), o)
        return [str(answers), scheduler.state_dict(), *steps(t, o, scheduler, range(30))]

    exactly(script)


@pytest.mark.filterwarnings("ignore:Detected call of", "ignore:Seems like")
def test_whole_schedulers_in_files():
    """What can be pickled goes on in the other library."""
    written = 0
    for name, make in SCHEDULES.items():
        answers = []
        for writer, reader in (
            (torch, torch),
            (torch, rushlight),
            (rushlight, torch),
            (rushlight, rushlight),
        ):
            o = OPTIMIZERS["momentum"](writer)
            s = make(Names(writer), o)
            for i in range(15):
                a_step(o, s, i)
            files = attempt(through_file, writer, reader, o, s, weights_only=False)
            if "lambda" in str(files):  # it has no name
                answers.append("no file")
                continue
            written += 1
            twin = files[1]
            assert twin.optimizer is files[0], files
            answers.append(list(steps(reader, twin.optimizer, twin, range(15, 40))))
        assert all(answer == answers[0] for answer in answers), name
    assert written > 4 * 40
