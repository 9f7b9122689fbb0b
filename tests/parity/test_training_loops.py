"""Training loops as tutorials and repositories have them: all that they would print, in both libraries."""

import copy
import io
import math

import numpy as np
import pytest

import rushlight
import rushlight.nn

torch = pytest.importorskip("torch")


def clusters(t, n=96, classes=3, size=4):
    """Points (n, size) around a centre for each class."""
    centres = 2 * t.randn(classes, size)
    y = t.randint(classes, (n,))
    return centres[y] + t.randn(n, size), y


def mlp(t, *sizes):
    layers = []
    for a, b in zip(sizes, sizes[1:], strict=False):
        layers += [t.nn.Linear(a, b), t.nn.ReLU()]
    return t.nn.Sequential(*layers[:-1])


def loader(t, *tensors, **options):
    from_t = __import__(f"{t.__name__}.utils.data", fromlist=["data"])
    return from_t.DataLoader(from_t.TensorDataset(*tensors), **options)


def descend(optimizer, loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def variational_autoencoder(t):
    nn, F = t.nn, t.nn.functional

    class VAE(nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden, self.mean, self.log_var = nn.Linear(16, 12), nn.Linear(12, 3), nn.Linear(12, 3)
            self.decoder = mlp(t, 3, 12, 16)

        def forward(self, x):
            h = t.tanh(self.hidden(x))
            mean, log_var = self.mean(h), self.log_var(h)
            z = mean + t.randn_like(mean) * t.exp(0.5 * log_var)
            return t.sigmoid(self.decoder(z)), mean, log_var

    model = VAE()
    optimizer = t.optim.Adam(model.parameters(), lr=1e-2)
    x = t.rand(64, 16).round()
    for _ in range(3):
        for (batch,) in loader(t, x, batch_size=16, shuffle=True):
            drawn, mean, log_var = model(batch)
            apart = F.binary_cross_entropy(drawn, batch, reduction="sum")
            divergence = -0.5 * t.sum(1 + log_var - mean.pow(2) - log_var.exp())
            yield descend(optimizer, apart + divergence)
    with t.no_grad():
        yield model.decoder(t.randn(2, 3)).sigmoid().tolist()


def adversaries(t):
    nn = t.nn
    makes = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.LeakyReLU(0.2), nn.Linear(16, 2))
    judges = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1), nn.Sigmoid())
    first = t.optim.Adam(makes.parameters(), lr=2e-3, betas=(0.5, 0.999))
    second = t.optim.Adam(judges.parameters(), lr=2e-3, betas=(0.5, 0.999))
    criterion, ones, zeros = nn.BCELoss(), t.ones(32, 1), t.zeros(32, 1)
    for _ in range(10):
        real, fake = t.randn(32, 2) * 0.3 + 1, makes(t.randn(32, 4))
        second.zero_grad()
        on_real, on_fake = criterion(judges(real), ones), criterion(judges(fake.detach()), zeros)
        on_real.backward()
        on_fake.backward()
        second.step()
        yield (on_real + on_fake).item()
        yield descend(first, criterion(judges(fake), ones))


def wasserstein_with_penalty(t):
    makes, judges = mlp(t, 3, 16, 2), mlp(t, 2, 16, 1)
    first, second = t.optim.RMSprop(makes.parameters(), 1e-3), t.optim.RMSprop(judges.parameters(), 1e-3)
    for step in range(8):
        real, fake = t.randn(16, 2), makes(t.randn(16, 3))
        part = t.rand(16, 1)
        between = (part * real + (1 - part) * fake).detach().requires_grad_(True)
        (slope,) = t.autograd.grad(judges(between).sum(), between, create_graph=True)
        penalty = ((slope.norm(2, dim=1) - 1) ** 2).mean()
        yield descend(second, judges(fake.detach()).mean() - judges(real).mean() + 10 * penalty)
        if step % 2:
            yield descend(first, -judges(fake).mean())


def triplets(t):
    model = mlp(t, 4, 16, 8)
    optimizer = t.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    criterion = t.nn.TripletMarginLoss(margin=1.0, swap=True)
    apart = t.nn.CosineEmbeddingLoss(margin=0.2)
    x, y = clusters(t)
    for _ in range(8):
        anchor = t.randint(len(x), (24,))
        same = t.stack([x[t.multinomial((y == y[i]).float(), 1)[0]] for i in anchor])
        other = t.stack([x[t.multinomial((y != y[i]).float(), 1)[0]] for i in anchor])
        a, p, n = model(x[anchor]), model(same), model(other)
        yield descend(optimizer, criterion(a, p, n) + 0.1 * apart(a, n, -t.ones(24)))


def quasi_newton(t):
    x = t.linspace(-1, 1, 40, dtype=t.float64).unsqueeze(1)
    y = t.sin(3 * x) + 0.1 * t.randn(40, 1, dtype=t.float64)
    model = mlp(t, 1, 8, 1).double()
    optimizer = t.optim.LBFGS(model.parameters(), lr=0.5, max_iter=8, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = t.nn.functional.mse_loss(model(x), y)
        loss.backward()
        return loss

    for _ in range(5):
        yield optimizer.step(closure).item()


def sequences_without_places(t):
    model = t.nn.Sequential(t.nn.Conv1d(5, 16, 3, padding=1), t.nn.GELU(), t.nn.Conv1d(16, 4, 1))
    optimizer = t.optim.NAdam(model.parameters(), lr=0.01)
    criterion = t.nn.CTCLoss(blank=0, zero_infinity=True)
    x = t.randn(6, 5, 20)
    targets, lengths = t.randint(1, 4, (6, 7)), t.tensor([7, 5, 6, 3, 1, 7])
    for _ in range(8):
        scores = model(x).permute(2, 0, 1).log_softmax(2)
        yield descend(optimizer, criterion(scores, targets, t.full((6,), 20), lengths))
    yield scores.argmax(2).t().tolist()


def rate_finder(t):
    x, y = clusters(t)
    model = mlp(t, 4, 16, 3)
    kept = copy.deepcopy(model.state_dict())
    optimizer = t.optim.SGD(model.parameters(), lr=1e-4)
    scheduler = t.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 10 ** (step / 6))
    mean = 0.0
    for step in range(1, 19):
        loss = descend(optimizer, t.nn.functional.cross_entropy(model(x), y))
        mean = 0.9 * mean + 0.1 * loss
        yield scheduler.get_last_lr()[0], mean / (1 - 0.9**step)
        scheduler.step()
    model.load_state_dict(kept)
    yield t.nn.functional.cross_entropy(model(x), y).item()


def accumulation_in_halves(t):
    x, y = clusters(t, 64)
    model = mlp(t, 4, 32, 3)
    optimizer = t.optim.AdamW(model.parameters(), lr=0.01)
    scaler = t.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=3)
    for step in range(16):
        part = slice(step % 4 * 16, step % 4 * 16 + 16)
        with t.autocast("cpu", dtype=t.bfloat16):
            loss = t.nn.functional.cross_entropy(model(x[part]), y[part]) / 4
        scaler.scale(loss).backward()
        if step % 4 == 3:
            scaler.unscale_(optimizer)
            norm = t.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            yield norm.item(), scaler.get_scale()
        yield loss.item()


def averages_of_weights(t):
    averaged = __import__(f"{t.__name__}.optim.swa_utils", fromlist=["swa_utils"])
    x, y = clusters(t)
    model = t.nn.Sequential(
        t.nn.Linear(4, 16, bias=False), t.nn.BatchNorm1d(16), t.nn.ReLU(), t.nn.Linear(16, 3)
    )
    mean = averaged.AveragedModel(model, multi_avg_fn=averaged.get_ema_multi_avg_fn(0.9))
    optimizer = t.optim.Adam(model.parameters(), lr=0.01)
    rates = averaged.SWALR(optimizer, swa_lr=0.002, anneal_epochs=4)
    for _ in range(8):
        yield descend(optimizer, t.nn.functional.cross_entropy(model(x), y))
        mean.update_parameters(model)
        rates.step()
    averaged.update_bn(loader(t, x, batch_size=32), mean)
    mean.eval()
    yield t.nn.functional.cross_entropy(mean(x), y).item(), int(mean.n_averaged)


def mixed_samples(t):
    F = t.nn.functional
    x, y = clusters(t)
    targets, model = F.one_hot(y, 3).float(), mlp(t, 4, 16, 3)
    optimizer = t.optim.RAdam(model.parameters(), lr=0.02)
    criterion = t.nn.CrossEntropyLoss(label_smoothing=0.1)
    draws = np.random.default_rng(0)
    for _ in range(8):
        part, order = float(draws.beta(0.4, 0.4)), t.randperm(len(x))
        mixed = part * x + (1 - part) * x[order]
        loss = criterion(model(mixed), part * targets + (1 - part) * targets[order])
        yield descend(optimizer, loss)
        yield F.kl_div(model(x).log_softmax(1), targets, reduction="batchmean").item()


def early_stopping(t):
    x, y = clusters(t)
    model = mlp(t, 4, 64, 3)
    optimizer = t.optim.Adagrad(model.parameters(), lr=0.1)
    scheduler = t.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.3, patience=1, min_lr=1e-3)
    best, patience, kept = math.inf, 3, None
    for _ in range(40):
        for a, b in loader(t, x[:64], y[:64], batch_size=16, shuffle=True):
            descend(optimizer, t.nn.functional.cross_entropy(model(a), b))
        with t.no_grad():
            loss = t.nn.functional.cross_entropy(model(x[64:]), y[64:]).item()
        scheduler.step(loss)
        yield loss, optimizer.param_groups[0]["lr"]
        if loss < best:
            best, patience, kept = loss, 3, copy.deepcopy(model.state_dict())
        else:
            patience -= 1
        if patience == 0:
            break
    yield scheduler.last_epoch, scheduler.num_bad_epochs, sorted(kept)


def rare_classes(t):
    data = __import__(f"{t.__name__}.utils.data", fromlist=["data"])
    x = t.randn(60, 4)
    y = t.tensor([0] * 50 + [1] * 10)
    weights = (1.0 / t.bincount(y).float())[y]
    sampler = data.WeightedRandomSampler(weights, 60, replacement=True)
    model = mlp(t, 4, 8, 1)
    optimizer = t.optim.Adamax(model.parameters(), lr=0.02)
    criterion = t.nn.BCEWithLogitsLoss(pos_weight=t.tensor(1.5))
    for _ in range(3):
        for a, b in loader(t, x, y, batch_size=20, sampler=sampler):
            yield b.sum().item(), descend(optimizer, criterion(model(a).squeeze(1), b.float()))


def folds(t):
    data = __import__(f"{t.__name__}.utils.data", fromlist=["data"])
    x, y = clusters(t, 60)
    dataset, order = data.TensorDataset(x, y), t.randperm(60)
    for fold in range(3):
        held = order[fold * 20 : fold * 20 + 20].tolist()
        rest = [i for i in order.tolist() if i not in held]
        model = mlp(t, 4, 16, 3)
        optimizer = t.optim.Rprop(model.parameters(), lr=0.01)
        batches = data.DataLoader(dataset, batch_size=40, sampler=data.SubsetRandomSampler(rest))
        for _ in range(4):
            for a, b in batches:
                yield descend(optimizer, t.nn.functional.cross_entropy(model(a), b))
        tests = data.DataLoader(data.Subset(dataset, held), batch_size=7)
        with t.no_grad():
            yield sum((model(a).argmax(1) == b).sum().item() for a, b in tests)


def saved_and_resumed(t):
    x, y = clusters(t)

    def session():
        model = mlp(t, 4, 16, 3)
        optimizer = t.optim.ASGD(model.parameters(), lr=0.05, t0=3)
        return model, optimizer, t.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=3, T_mult=2)

    parts = session()
    for half in range(2):
        model, optimizer, scheduler = parts
        for _ in range(5):
            yield descend(optimizer, t.nn.functional.multi_margin_loss(model(x), y))
            scheduler.step()
            yield scheduler.get_last_lr()
        if half == 0:
            file = io.BytesIO()
            t.save({"parts": [part.state_dict() for part in parts], "epoch": 5}, file)
            file.seek(0)
            parts = session()
            for part, state in zip(parts, t.load(file)["parts"], strict=True):
                part.load_state_dict(state)


def distilled(t):
    F = t.nn.functional
    x, y = clusters(t)
    teacher, student = mlp(t, 4, 32, 3).eval().requires_grad_(False), mlp(t, 4, 4, 3)
    optimizer = t.optim.Adadelta(student.parameters(), lr=0.5)
    for _ in range(8):
        soft = F.kl_div((student(x) / 3).log_softmax(1), (teacher(x) / 3).softmax(1), reduction="batchmean")
        yield descend(optimizer, 9 * 0.7 * soft + 0.3 * F.cross_entropy(student(x), y))


def words(t):
    text = t.randint(20, (60,))
    model = t.nn.Sequential(t.nn.Embedding(20, 8), t.nn.Flatten(), t.nn.Linear(16, 16), t.nn.Tanh())
    adaptive = t.nn.AdaptiveLogSoftmaxWithLoss(16, 20, cutoffs=[5, 12])
    both = [*model.parameters(), *adaptive.parameters()]
    optimizer = t.optim.SGD(both, lr=0.5)
    scheduler = t.optim.lr_scheduler.SequentialLR(
        optimizer,
        [
            t.optim.lr_scheduler.LinearLR(optimizer, 0.1, total_iters=3),
            t.optim.lr_scheduler.ExponentialLR(optimizer, 0.8),
        ],
        milestones=[3],
    )
    pairs = t.stack([text[:-2], text[1:-1]], 1)
    for _ in range(8):
        yield descend(optimizer, adaptive(model(pairs), text[2:]).loss)
        t.nn.utils.clip_grad_value_(both, 0.1)
        scheduler.step()
        yield scheduler.get_last_lr()


def policy(t):
    actor = mlp(t, 3, 16, 2)
    optimizer = t.optim.Adam(actor.parameters(), lr=0.02)
    for _ in range(8):
        state = t.randn(12, 3)
        choice = t.distributions.Categorical(logits=actor(state))
        action = choice.sample()
        reward = t.where(action == (state.sum(1) > 0).long(), 1.0, -1.0)
        loss = -(choice.log_prob(action) * reward).mean() - 0.01 * choice.entropy().mean()
        yield action.tolist(), descend(optimizer, loss)


def uncertain_regression(t):
    x = t.linspace(-2, 2, 64).unsqueeze(1)
    y = x**2 + 0.2 * x.abs() * t.randn(64, 1)
    model = mlp(t, 1, 16, 2)
    optimizer = t.optim.AdamW(model.parameters(), lr=0.02, amsgrad=True)
    scheduler = t.optim.lr_scheduler.CyclicLR(optimizer, 1e-3, 2e-2, step_size_up=3, cycle_momentum=False)
    for _ in range(10):
        mean, log_var = model(x).chunk(2, 1)
        yield descend(optimizer, t.nn.functional.gaussian_nll_loss(mean, y, log_var.exp()))
        yield t.nn.functional.huber_loss(mean, y).item(), t.nn.functional.smooth_l1_loss(mean, y).item()
        scheduler.step()


LOOPS = [
    variational_autoencoder,
    adversaries,
    wasserstein_with_penalty,
    triplets,
    quasi_newton,
    sequences_without_places,
    rate_finder,
    accumulation_in_halves,
    averages_of_weights,
    mixed_samples,
    early_stopping,
    rare_classes,
    folds,
    saved_and_resumed,
    distilled,
    words,
    policy,
    uncertain_regression,
]
LIMITS = {accumulation_in_halves: 1e-2}  # bfloat16 rounds sums that were added in another order


def flat(value):
    """The numbers of nested lists and tuples; other values as they are."""
    return [x for part in value for x in flat(part)] if isinstance(value, list | tuple) else [value]


@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.__name__)
def test_prints_pytorchs_numbers(loop):
    printed = []
    for t in (torch, rushlight):
        t.manual_seed(3)
        printed.append(flat(list(loop(t))))
    theirs, ours = printed
    assert len(theirs) == len(ours) >= 5 and [type(x) for x in theirs] == [type(x) for x in ours]
    limit = LIMITS.get(loop, 1e-4)
    for a, b in zip(theirs, ours, strict=True):
        assert b == (pytest.approx(a, rel=limit, abs=limit) if isinstance(a, float) else a)
