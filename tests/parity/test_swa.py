"""Averaged models in both libraries: parameters, buffers, state dicts, files, and how they train."""

import copy
import io
import itertools
import warnings

import pytest

import rushlight
import rushlight.nn
from helpers.pytorch import attempt, conv, linear, numbers, plain

torch = pytest.importorskip("torch")


def net(t):
    return t.nn.Sequential(conv(t), t.nn.BatchNorm2d(4), t.nn.ReLU(), t.nn.Flatten(), linear(t, 16, 3))


def batch(t, i):
    return numbers(t, 5, 2, 4, 4, start=i / 3) * (1 + i)


def both(script, limit=1e-6):
    """Run the script, which is given the library and its swa_utils, on both: the same numbers."""
    answers = []
    for t in (torch, rushlight):
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            answer = plain(script(t, t.optim.swa_utils), t)
        answers.append([answer, [(w.category, str(w.message)) for w in warned]])
    theirs, ours = answers
    agree(theirs, ours, limit)


def agree(a, b, limit):
    if isinstance(a, float):
        assert b == pytest.approx(a, rel=limit, abs=limit)
    elif isinstance(a, dict):
        assert list(a) == list(b)
        agree(list(a.values()), list(b.values()), limit)
    elif isinstance(a, (list, tuple)):
        assert type(a) is type(b) and len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            agree(x, y, limit)
    else:
        assert a == b


def train(t, model, optimizer, i):
    optimizer.zero_grad()
    t.nn.functional.cross_entropy(model(batch(t, i)), t.tensor([0, 1, 2, 0, 1])).backward()
    optimizer.step()


AVERAGES = {
    "swa": lambda u: {},
    "swa buffers": lambda u: {"use_buffers": True},
    "swa each": lambda u: {"avg_fn": u.get_swa_avg_fn()},
    "swa lists": lambda u: {"multi_avg_fn": u.get_swa_multi_avg_fn()},
    "ema": lambda u: {"multi_avg_fn": u.get_ema_multi_avg_fn(0.9)},
    "ema default": lambda u: {"multi_avg_fn": u.get_ema_multi_avg_fn(), "device": "cpu"},
    "ema buffers": lambda u: {"multi_avg_fn": u.get_ema_multi_avg_fn(0.7), "use_buffers": True},
    "ema each": lambda u: {"avg_fn": u.get_ema_avg_fn(0.8), "use_buffers": True},
    "own": lambda u: {"avg_fn": lambda mine, theirs, n: mine * 0.25 + theirs * 0.75 / n},
}


@pytest.mark.parametrize("name", AVERAGES)
def test_averages(name):
    def script(t, u):
        model = net(t)
        optimizer = t.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
        averaged = u.AveragedModel(model, **AVERAGES[name](u))
        answers = [plain(averaged.state_dict(), t), repr(averaged), averaged.use_buffers]
        for i in range(5):
            train(t, model, optimizer, i)
            assert averaged.update_parameters(model) is None
            answers.append(plain(averaged.state_dict(), t))
        u.update_bn([batch(t, i) for i in range(3)], averaged)
        return [*answers, averaged.state_dict(), averaged.eval()(batch(t, 1))]

    both(script)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int64"])
@pytest.mark.parametrize("name", AVERAGES)
def test_dtypes(name, dtype):
    def script(t, u):
        class Mixed(t.nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = t.nn.Parameter(t.ones(3))
                self.other = t.nn.Parameter(numbers(t, 4).to(getattr(t, dtype)) * 8, requires_grad=False)
                self.register_buffer("count", t.tensor(3))
                self.register_buffer("mask", None)

        model = Mixed()
        averaged = u.AveragedModel(model, **AVERAGES[name](u))
        answers = []
        for i in range(3):
            with t.no_grad():
                model.weight.add_(i)
                model.other.mul_(i + 2)
                model.count.add_(i)
            answers.append(attempt(averaged.update_parameters, model))
            if answers[-1] is not None:  # which dtypes were averaged before is a matter of luck
                break
            answers.append(plain(averaged.state_dict(), t))
        return answers

    both(script, {"float16": 2e-3, "bfloat16": 2e-2}.get(dtype, 1e-6))


def test_functions_alone():
    def script(t, u):
        answers = []
        for make in (u.get_ema_multi_avg_fn, u.get_swa_multi_avg_fn, u.get_ema_avg_fn, u.get_swa_avg_fn):
            for n in (0, 3, t.tensor(2)):
                for dtype in (t.float32, t.float64, t.int64):
                    a, b = numbers(t, 3).mul(4).to(dtype), t.tensor([1, 2, 3]).to(dtype)
                    a.requires_grad_(dtype is t.float32)
                    lists = "multi" in make.__name__
                    answer = attempt(make(), *(([a], [b]) if lists else (a, b)), n)
                    answers += [answer, a, make().__name__]
        for wrong in (-0.1, 1.1):
            answers += [attempt(u.get_ema_avg_fn, wrong), attempt(u.get_ema_multi_avg_fn, decay=wrong)]
        answers.append(attempt(u.AveragedModel, net(t), None, u.get_swa_avg_fn(), u.get_swa_multi_avg_fn()))
        return answers

    both(script)


def test_lists_are_of_one_dtype():
    def script(t, u):
        seen = []

        def keep(averages, currents, n):
            seen.append(
                [[a.dtype == averages[0].dtype for a in averages], len(currents), type(n) is t.Tensor]
            )
            seen.append([a.requires_grad or c.requires_grad for a, c in zip(averages, currents, strict=True)])

        model = t.nn.Sequential(linear(t), linear(t).double(), linear(t))
        averaged = u.AveragedModel(model, avg_fn=u.get_swa_avg_fn())
        averaged.multi_avg_fn = keep  # goes before
        for _ in range(2):
            averaged.update_parameters(model)
        return sorted(map(str, seen)), averaged.n_averaged

    both(script)


def test_other_models():
    """Fewer parameters end it early; other buffers raise; the model itself is not touched."""

    def script(t, u):
        model = net(t)
        before = copy.deepcopy(model.state_dict())
        averaged = u.AveragedModel(model)
        answers = [attempt(averaged.update_parameters, linear(t)), averaged.n_averaged]
        answers.append(attempt(averaged.update_parameters, model[:1]))
        averaged.update_parameters(model)
        return [*answers, averaged.module[0].weight, before, model.state_dict(), averaged.module is model]

    both(script)


def test_update_bn():
    def script(t, u):
        model, answers = net(t), []
        model[1].momentum = 0.3
        model.eval()
        loaders = [[batch(t, 1), batch(t, 2)], [(batch(t, 1), 3)], [[batch(t, 2), 3], [batch(t, 3)]]]
        for loader, device in itertools.product(loaders, (None, "cpu", t.device("cpu"))):
            u.update_bn(iter(loader), model, device)
            answers += [plain(model[1].state_dict(), t), model[1].momentum, model.training]
        model.train()
        u.update_bn([], model)
        answers += [plain(model[1].state_dict(), t), model.training, model[1].momentum]
        plain_one = linear(t)
        return [*answers, u.update_bn(3, plain_one), attempt(u.update_bn, [3], model)[0]]

    both(script)


def test_state_goes_on_in_the_other_library():
    def steps(t, model, averaged, numbers):
        optimizer = t.optim.SGD(model.parameters(), lr=0.01)
        for i in numbers:
            train(t, model, optimizer, i)
            averaged.update_parameters(model)

    ends = []
    for writer, reader in ((torch, torch), (torch, rushlight), (rushlight, torch), (rushlight, rushlight)):
        model = net(writer)
        averaged = writer.optim.swa_utils.AveragedModel(model)
        steps(writer, model, averaged, range(3))
        file = io.BytesIO()
        writer.save([model.state_dict(), averaged.state_dict()], file)
        file.seek(0)
        states = reader.load(file, weights_only=True)
        model = net(reader)
        averaged = reader.optim.swa_utils.AveragedModel(model)
        model.load_state_dict(states[0])
        averaged.load_state_dict(states[1])
        steps(reader, model, averaged, range(3, 6))
        ends.append(plain(averaged.state_dict(), reader))
    assert "n_averaged" in ends[0] and "module.0.weight" in ends[0] and ends[0]["n_averaged"][-1] == [6]
    for end in ends[1:]:
        agree(ends[0], end, 1e-5)


def test_whole_models_in_files():
    for writer, reader in ((torch, rushlight), (rushlight, torch), (rushlight, rushlight)):
        averaged = writer.optim.swa_utils.AveragedModel(net(writer))
        averaged.update_parameters(averaged.module)
        file = io.BytesIO()
        writer.save(averaged, file)
        file.seek(0)
        back = reader.load(file, weights_only=False)
        assert type(back) is reader.optim.swa_utils.AveragedModel
        agree(plain(averaged.state_dict(), writer), plain(back.state_dict(), reader), 0)
        back.update_parameters(net(reader))
        assert back.n_averaged == 2


def test_a_whole_training():
    """As the tutorial has it: a schedule, then SWALR and averages, batch norms at the end."""

    def script(t, u):
        model = net(t)
        optimizer = t.optim.SGD(model.parameters(), lr=0.05, momentum=0.5, weight_decay=1e-3)
        averaged = u.AveragedModel(model)
        scheduler = t.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=10)
        swa_scheduler = u.SWALR(optimizer, swa_lr=0.02, anneal_epochs=3)
        answers = []
        for epoch in range(10):
            for i in range(2):
                train(t, model, optimizer, i)
            if epoch > 4:
                averaged.update_parameters(model)
                swa_scheduler.step()
            else:
                scheduler.step()
            answers.append(optimizer.param_groups[0]["lr"])
        u.update_bn([batch(t, i) for i in range(2)], averaged)
        return [*answers, averaged.state_dict(), optimizer.param_groups[0]["swa_lr"]]

    both(script, 1e-4)
