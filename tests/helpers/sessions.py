"""A training session that goes on from its last checkpoint, in which lies all that draws or counts."""

import os
import random

EPOCHS = 100  # of the whole plan, by which the rates go


def _parts(t):
    nn = t.nn
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3, bias=False),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.Flatten(),
        nn.Dropout(0.3),
        nn.Linear(64, 3),
    )
    weights = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() == 1]
    optimizer = t.optim.AdamW([{"params": weights}, {"params": others, "weight_decay": 0.0}], lr=1e-3)
    scheduler = t.optim.lr_scheduler.OneCycleLR(optimizer, 0.02, epochs=EPOCHS, steps_per_epoch=4)
    return {"model": model, "optimizer": optimizer, "scheduler": scheduler}


def _train(t, parts, x, y):
    x = x.flip(3) if random.random() < 0.5 else x
    loss = t.nn.functional.cross_entropy(parts["model"](x), y)
    parts["optimizer"].zero_grad()
    loss.backward()
    t.nn.utils.clip_grad_norm_(parts["model"].parameters(), 1.0)
    parts["optimizer"].step()
    parts["scheduler"].step()
    return loss.item()


def train(t, data, path, epochs, workers=0):
    """Train until so many epochs are done, saving after each; yields (epoch, losses) before it is saved.

    ``data`` is torch.utils.data of the library t.
    """
    t.manual_seed(0)
    random.seed(0)
    dataset = data.TensorDataset(t.randn(32, 1, 6, 6), t.randint(3, (32,)))
    parts, order, done = _parts(t), t.Generator().manual_seed(1), 0
    if os.path.exists(path):
        saved = t.load(path)
        for name, part in parts.items():
            part.load_state_dict(saved[name])
        t.set_rng_state(saved["random"])
        order.set_state(saved["order"])
        random.setstate(saved["python"])
        done = saved["epoch"]
    sampler = data.RandomSampler(dataset, generator=order)
    loader = data.DataLoader(dataset, batch_size=8, sampler=sampler, num_workers=workers)
    for epoch in range(done + 1, epochs + 1):
        yield epoch, [_train(t, parts, x, y) for x, y in loader]
        saved = {name: part.state_dict() for name, part in parts.items()}
        saved |= {"random": t.get_rng_state(), "order": order.get_state(), "python": random.getstate()}
        t.save(saved | {"epoch": epoch}, path)
