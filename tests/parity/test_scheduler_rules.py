"""What schedulers say and refuse, and what users build on them: the same in both libraries."""

import copy
import inspect
import pickle
import warnings

import pytest

import rushlight
import rushlight.nn
from helpers.pytorch import attempt
from helpers.schedulers import exactly, sgd

torch = pytest.importorskip("torch")

PRIVATE = """_LRScheduler EPOCH_DEPRECATION_WARNING _enable_get_lr_call _format_param _initial_mode
_param_groups_val_list _update_param_group_val _warn_get_lr_called_within_step""".split()


def epoch_squared(epoch):
    return epoch**2


# ---- names ----
def parameters(function):
    return [(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values()]


@pytest.mark.parametrize("home", ["lr_scheduler", "swa_utils"])
def test_names_and_arguments(home):
    theirs, ours = getattr(torch.optim, home), getattr(rushlight.optim, home)
    assert sorted(ours.__all__) == sorted(theirs.__all__)
    for name in ours.__all__ + (PRIVATE if home == "lr_scheduler" else []):
        a, b = getattr(theirs, name), getattr(ours, name)
        if not callable(a):
            assert a == b
            continue
        assert parameters(a) == parameters(b), name
        assert b.__module__ == f"rushlight.optim.{home}"
        if not isinstance(a, type):
            continue
        assert set(vars(a)) - set(dir(b)) <= {"__annotations__"}, name
        for member in vars(a):
            if inspect.isfunction(getattr(a, member)) and member != "_anneal_func":
                assert parameters(getattr(a, member)) == parameters(getattr(b, member)), (name, member)


def test_loaded_when_asked_for():
    assert {"lr_scheduler", "swa_utils"} <= set(rushlight.optim.__all__)
    for name in ("verbose", "print_lr", "_check_verbose_deprecated_warning", "StepLr"):
        assert not hasattr(torch.optim.lr_scheduler, name)
        with pytest.raises(AttributeError, match=f"rushlight.optim.lr_scheduler' has no attribute '{name}'"):
            getattr(rushlight.optim.lr_scheduler, name)


# ---- warnings ----
def test_order_of_steps():
    def script(t, s):
        o = sgd(t)
        first = s.StepLR(o, 3)
        first.step()  # before the optimiser's
        first.step()
        second = s.StepLR(o, 3)
        o.step()
        second.step()
        return [o._opt_called, o.step._wrapped_by_lr_sched, o.step.hooked, o.step.__name__]

    said = exactly(script)
    assert [here for *_, here in said] == [True]
    assert "before `optimizer.step()`" in said[0][0]


def test_a_step_that_is_overridden():
    def script(t, s):
        o = sgd(t)
        scheduler = s.ExponentialLR(o, 0.5)
        o.step = lambda closure=None: None
        o.step()
        scheduler.step()
        return [attempt(s.StepLR, sgd(t), 3, 0.5, -1, 7)[0], attempt(s.StepLR, o, 3)[0]]

    said = exactly(script)
    assert len(said) == 1 and "has been overridden" in said[0][0]


def test_get_lr_is_not_for_users():
    def script(t, s):
        o = sgd(t)
        made = [
            s.StepLR(o, 3),
            s.LambdaLR(o, lambda e: e),
            s.MultiplicativeLR(o, lambda e: 0.5),
            s.CyclicLR(o, 1, 2),
        ]
        made += [s.CosineAnnealingLR(o, 3), s.OneCycleLR(o, 1, 9), s.CosineAnnealingWarmRestarts(o, 3)]
        made += [s.SWALR(o, 0.1)]
        with s._enable_get_lr_call(made[0]) as entered:
            answers = [entered.o is made[0], made[0].get_lr(), made[0]._get_lr_called_within_step]
        return [*answers, *([m.get_lr(), m._get_lr_called_within_step] for m in made)]

    said = exactly(script)
    assert len(said) == 8 and all(here for *_, here in said)  # PyTorch mostly names its own line


def test_the_count_is_kept_while_the_optimiser_lives():
    """The wrapped step holds its optimiser weakly; step's arguments, result and hooks go through."""

    def script(t, s):
        o = sgd(t)
        calls = []
        for register in (o.register_step_pre_hook, o.register_step_post_hook):
            register(lambda opt, args, kwargs: calls.append((type(opt).__name__, len(args), list(kwargs))))
        s.ExponentialLR(o, 0.5)
        s.ExponentialLR(o, 0.5)
        answers = [o.step(), o.step(lambda: 3), o.step(closure=lambda: 4), calls]
        step = o.step
        del o, register
        return [*answers, attempt(step)[0]]

    exactly(script)


# ---- errors ----
ERRORS = """
s.StepLR(3, 1)
s.StepLR(o)
s.CyclicLR("x", 1, 2)
s.OneCycleLR(None, 1, 2)
s.ReduceLROnPlateau([], "min")
s.LambdaLR(o, [f])
s.LambdaLR(o, (f, f, f))
s.LambdaLR(o, 3)
s.MultiplicativeLR(o, [f])
s.MultiplicativeLR(o, [f, 3])
s.StepLR(o, 0).step()
s.StepLR(o, 3, last_epoch=4)
s.ConstantLR(o, 1.5)
s.ConstantLR(o, factor=-0.1)
s.ConstantLR(o, 0, 1).step()
s.LinearLR(o, 0)
s.LinearLR(o, 1.1)
s.LinearLR(o, 0.5, -1)
s.LinearLR(o, 0.5, 1.01)
s.LinearLR(o, total_iters=0).step()
s.PolynomialLR(o, 0).step(0)
s.CosineAnnealingLR(o, 0).step()
s.CosineAnnealingWarmRestarts(o, 0)
s.CosineAnnealingWarmRestarts(o, 2.5)
s.CosineAnnealingWarmRestarts(o, 2, 0)
s.CosineAnnealingWarmRestarts(o, 2, 1.5)
s.CosineAnnealingWarmRestarts(o, 2, eta_min="0")
s.CosineAnnealingWarmRestarts(o, 2).step(-1)
s.ReduceLROnPlateau(o, factor=1.0)
s.ReduceLROnPlateau(o, "low")
s.ReduceLROnPlateau(o, threshold_mode="part")
s.ReduceLROnPlateau(o, min_lr=[0.1])
s.ReduceLROnPlateau(o).step("x")
s.ReduceLROnPlateau(o).step()
s.ReduceLROnPlateau(o).get_lr()
s.CyclicLR(o, [1], 2)
s.CyclicLR(o, 1, (2, 3, 4))
s.CyclicLR(o, 1, 2, mode="square")
s.CyclicLR(o, 1, 2, 0, 0)
s.CyclicLR(plain, 1, 2)
s.CyclicLR(plain, 1, 2, base_momentum=[1, 2, 3], cycle_momentum=False).get_last_lr()
s.CyclicLR(o, 1, 2, base_momentum=[1, 2, 3])
s.OneCycleLR(o, 1)
s.OneCycleLR(o, 1, 0)
s.OneCycleLR(o, 1, 2.5)
s.OneCycleLR(o, 1, epochs=3)
s.OneCycleLR(o, 1, epochs=0, steps_per_epoch=2)
s.OneCycleLR(o, 1, epochs=2.0, steps_per_epoch=2)
s.OneCycleLR(o, 1, epochs=2, steps_per_epoch=-1)
s.OneCycleLR(o, 1, 9, pct_start=1.5)
s.OneCycleLR(o, 1, 9, pct_start=1)
s.OneCycleLR(o, 1, 9, pct_start=None)
s.OneCycleLR(o, 1, 9, anneal_strategy="sine")
s.OneCycleLR(o, [1], 9)
s.OneCycleLR(plain, 1, 9)
s.OneCycleLR(o, 1, 9, max_momentum=[1])
[one.step() for one in [s.OneCycleLR(o, 1, 3)] for _ in range(4)]
s.SequentialLR(o, [], [])
s.SequentialLR(o, [3], [])
s.SequentialLR(o, [s.StepLR(o, 1)], [3])
s.SequentialLR(o, [s.StepLR(o, 1), s.ReduceLROnPlateau(o)], [3])
s.SequentialLR(o, [s.StepLR(o, 1), s.StepLR(plain, 1)], [3])
s.SequentialLR(o, [s.StepLR(o, 1)], []).step(3)
s.ChainedScheduler([])
s.ChainedScheduler([3])
s.ChainedScheduler([s.StepLR(o, 1), object()])
s.ChainedScheduler([s.StepLR(o, 1), s.ReduceLROnPlateau(o)])
s.ChainedScheduler([s.StepLR(o, 1), s.StepLR(plain, 1)])
s.ChainedScheduler([s.StepLR(o, 1)], plain)
s.LRScheduler(o)
s._LRScheduler(o, 3)
s.LambdaLR(o, f).load_state_dict({})
s.LambdaLR(o, [abs, abs]).state_dict()
s.SequentialLR(o, [s.StepLR(o, 1)], []).load_state_dict({})
s.CyclicLR(o, 1, 2).load_state_dict({})
s.LambdaLR(o, f).load_state_dict({"lr_lambdas": [None, None, {}]})
s.MultiplicativeLR(o, f).load_state_dict({"lr_lambdas": [None, {"by": 3}], "last_epoch": 7})
s.ChainedScheduler([s.StepLR(o, 1)]).load_state_dict({"_schedulers": [{"gamma": 1}, {}]})
s.ReduceLROnPlateau(o).load_state_dict({"mode": "best"})
s.SWALR(o, 1).load_state_dict({"anneal_epochs": 3})
s.ReduceLROnPlateau(o, None)
s.MultiStepLR(o, 3)
s.LRScheduler(o, foo=3)
s.StepLR(o, 3, verbose=True)
s.CyclicLR(o, 1, 2, scale_fn=abs).state_dict()
s.SWALR(o, [1])
s.SWALR(o, 1, anneal_strategy="sine")
s.SWALR(o, 1, 2.5)
s.SWALR(o, 1, anneal_epochs=-1)
s.SWALR(3, 1)
s._format_param("lr", o, [1, 2])
s._format_param("lr", o, 3)
s._format_param("lr", o, [1])
s._param_groups_val_list(o, "foo")
s._update_param_group_val({}, "lr", 3)
""".strip().splitlines()


@pytest.mark.parametrize("line", ERRORS)
def test_wrong_arguments(line):
    def script(t, s):
        class Plain(t.optim.Optimizer):
            def step(self, closure=None):
                return None

        plain = Plain([t.nn.Parameter(t.ones(2))], {"lr": 0.5})
        scope = {"t": t, "s": s, "o": sgd(t), "plain": plain, "f": lambda epoch: 1.0}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return attempt(eval, line, scope)

    exactly(script)


def test_groups_that_come_later():
    def script(t, s):
        answers = []
        makers = [
            lambda o: s.StepLR(o, 2),
            lambda o: s.LambdaLR(o, lambda e: 0.5),
            lambda o: s.CosineAnnealingLR(o, 5),
        ]
        makers += [
            lambda o: s.ExponentialLR(o, 0.5),
            lambda o: s.CyclicLR(o, 1, 2),
            lambda o: s.OneCycleLR(o, 1, 9),
        ]
        makers += [lambda o: s.MultiplicativeLR(o, lambda e: 0.5), lambda o: s.PolynomialLR(o, 5)]
        for make in makers:
            o = sgd(t)
            scheduler = make(o)
            o.step()
            o.add_param_group({"params": [t.nn.Parameter(t.ones(3))], "lr": 3.0})
            answers.append([attempt(scheduler.step), [g["lr"] for g in o.param_groups]])
        for min_lr in (0, [0, 0]):
            o = sgd(t)
            plateau = s.ReduceLROnPlateau(o, patience=0, min_lr=min_lr)
            o.add_param_group({"params": [t.nn.Parameter(t.ones(3))], "lr": 3.0})
            answers += [attempt(plateau.step, 3) for _ in range(3)]
            answers += [plateau.min_lrs, plateau.get_last_lr()]
        return answers

    exactly(script)


# ---- copies ----
def test_pickles_and_copies():
    def script(t, s):
        answers = []
        o = sgd(t)
        made = [
            s.StepLR(o, 2),
            s.MultiStepLR(o, [3]),
            s.LambdaLR(o, epoch_squared),
            s.CyclicLR(o, 1, 2),
            s.OneCycleLR(o, 1, 9),
        ]
        made += [s.CyclicLR(o, 1, 2, mode="exp_range", gamma=0.5), s.ReduceLROnPlateau(o), s.LinearLR(o)]
        made += [s.SWALR(o, 0.1), s.CosineAnnealingWarmRestarts(o, 3)]
        made += [s.SequentialLR(o, made[:2], [2]), s.ChainedScheduler(made[:2])]
        for scheduler in made:
            o.step()
            scheduler.step(*([1.0] if isinstance(scheduler, s.ReduceLROnPlateau) else []))
            for twin in (pickle.loads(pickle.dumps(scheduler)), copy.deepcopy(scheduler)):
                answers += [twin.state_dict(), twin.get_last_lr(), hasattr(twin.optimizer, "_opt_called")]
                answers += [type(twin).__name__, hasattr(twin.optimizer.step, "_wrapped_by_lr_sched")]
                assert twin.optimizer is not o
        answers.append(attempt(pickle.dumps, s.LambdaLR(o, lambda e: 1.0))[0])
        return answers

    exactly(script)


def test_tensors_are_copies():
    def script(t, s):
        lr = t.tensor([[0.5]])
        o = t.optim.SGD([t.nn.Parameter(t.ones(2))], lr=lr)
        scheduler = s.ExponentialLR(o, 0.5)
        last = scheduler.get_last_lr()[0]
        last.fill_(9)
        initial = o.param_groups[0]["initial_lr"]
        o.step()
        scheduler.step()
        s._update_param_group_val(o.param_groups[0], "lr", t.tensor([3.0]))
        answers = [
            o.param_groups[0]["lr"] is lr,
            lr,
            initial,
            initial is lr,
            scheduler.base_lrs[0] is initial,
        ]
        return [*answers, s._param_groups_val_list(o, "lr")[0] is lr, s._format_param("x", o, lr)[0] is lr]

    exactly(script)
