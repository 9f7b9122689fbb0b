"""Training loops with each scheduler, as tutorials write them; one of them stops and goes on from a file."""

import io

import torch
from torch import nn, optim
from torch.optim import lr_scheduler
from torch.optim.lr_scheduler import LambdaLR, ReduceLROnPlateau, _LRScheduler

torch.manual_seed(0)
inputs = torch.randn(32, 6)
targets = (inputs[:, :1] - inputs[:, 1:2] * inputs[:, 2:3]).tanh()
criterion = nn.MSELoss()


def build(optimizer_class=optim.SGD, **options):
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))
    groups = [{"params": model[0].parameters()}, {"params": model[2].parameters(), "lr": 0.05}]
    return model, optimizer_class(groups, **{"lr": 0.1, **options})


def train_one_epoch(model, optimizer):
    optimizer.zero_grad()
    loss = criterion(model(inputs), targets)
    loss.backward()
    optimizer.step()
    return loss.item()


class WarmupPoly(_LRScheduler):
    """A scheduler as people write them."""

    def __init__(self, optimizer, warmup, total, power=0.9, last_epoch=-1):
        self.warmup, self.total, self.power = warmup, total, power
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self.last_epoch < self.warmup:
            return [lr * (self.last_epoch + 1) / self.warmup for lr in self.base_lrs]
        left = 1 - (self.last_epoch - self.warmup) / (self.total - self.warmup)
        return [lr * max(left, 0.0) ** self.power for lr in self.base_lrs]


def linear_schedule_with_warmup(optimizer, num_warmup_steps, num_training_steps):
    def lr_lambda(step):
        if step < num_warmup_steps:
            return float(step) / float(max(1, num_warmup_steps))
        return max(0.0, (num_training_steps - step) / max(1, num_training_steps - num_warmup_steps))

    return LambdaLR(optimizer, lr_lambda)


def warmup_then_cosine(optimizer):
    warmup = lr_scheduler.LinearLR(optimizer, start_factor=0.1, total_iters=4)
    cosine = lr_scheduler.CosineAnnealingLR(optimizer, T_max=8, eta_min=1e-3)
    return lr_scheduler.SequentialLR(optimizer, [warmup, cosine], milestones=[4])


schedules = {
    "StepLR": lambda o: lr_scheduler.StepLR(o, step_size=4, gamma=0.5),
    "MultiStepLR": lambda o: lr_scheduler.MultiStepLR(o, milestones=[3, 8], gamma=0.1),
    "ExponentialLR": lambda o: lr_scheduler.ExponentialLR(o, gamma=0.9),
    "MultiplicativeLR": lambda o: lr_scheduler.MultiplicativeLR(o, lr_lambda=lambda epoch: 0.95),
    "LambdaLR": lambda o: LambdaLR(o, lr_lambda=[lambda epoch: 0.95**epoch, lambda epoch: 1 / (1 + epoch)]),
    "ConstantLR": lambda o: lr_scheduler.ConstantLR(o, factor=0.5, total_iters=4),
    "LinearLR": lambda o: lr_scheduler.LinearLR(o, start_factor=0.5, total_iters=4),
    "PolynomialLR": lambda o: lr_scheduler.PolynomialLR(o, total_iters=10, power=2.0),
    "CosineAnnealingLR": lambda o: lr_scheduler.CosineAnnealingLR(o, T_max=12),
    "CosineAnnealingWarmRestarts": lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, T_0=3, T_mult=2),
    "CyclicLR": lambda o: lr_scheduler.CyclicLR(
        o, base_lr=0.01, max_lr=0.1, step_size_up=3, mode="triangular2"
    ),
    "OneCycleLR": lambda o: lr_scheduler.OneCycleLR(o, max_lr=0.2, steps_per_epoch=1, epochs=13),
    "ChainedScheduler": lambda o: lr_scheduler.ChainedScheduler(
        [lr_scheduler.ConstantLR(o, factor=0.1, total_iters=2), lr_scheduler.ExponentialLR(o, gamma=0.9)]
    ),
    "SequentialLR": warmup_then_cosine,
    "linear with warm-up": lambda o: linear_schedule_with_warmup(o, 3, 12),
    "WarmupPoly": lambda o: WarmupPoly(o, 3, 12),
}

for name, make in schedules.items():
    model, optimizer = build(momentum=0.9)
    scheduler = make(optimizer)
    print(name, sorted(scheduler.state_dict()))
    for epoch in range(12):
        loss = train_one_epoch(model, optimizer)
        before_lr = optimizer.param_groups[0]["lr"]
        scheduler.step()
        after_lr = scheduler.get_last_lr()
        if epoch % 3 == 2:
            momentum = optimizer.param_groups[0]["momentum"]
            print(
                f"  epoch {epoch}: loss {loss:.3f}, lr {before_lr:.6f} ->",
                *(f"{lr:.6f}" for lr in after_lr),
                end="",
            )
            print(f", momentum {momentum:.4f}")

# when a number no longer gets better
model, optimizer = build(optim.AdamW, lr=0.3)
scheduler = ReduceLROnPlateau(optimizer, "min", factor=0.5, patience=2, threshold=1e-2, min_lr=1e-3)
for epoch in range(24):
    scheduler.step(round(train_one_epoch(model, optimizer), 2))
    if epoch % 6 == 5:
        print(f"plateau {epoch}:", scheduler.get_last_lr(), scheduler.num_bad_epochs, f"{scheduler.best:.2f}")

# a checkpoint in the middle: the rest is the same to the last digit
model, optimizer = build(optim.AdamW, lr=0.01)
scheduler = lr_scheduler.OneCycleLR(optimizer, max_lr=[0.05, 0.02], total_steps=20)
for _ in range(10):
    train_one_epoch(model, optimizer)
    scheduler.step()
file = io.BytesIO()
torch.save(
    {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict()},
    file,
)
file.seek(0)


def finish(model, optimizer, scheduler):
    losses = []
    for _ in range(9):
        losses.append(train_one_epoch(model, optimizer))
        scheduler.step()
    return losses, scheduler.get_last_lr(), [group["betas"] for group in optimizer.param_groups]


uninterrupted = finish(model, optimizer, scheduler)
model, optimizer = build(optim.AdamW, lr=0.01)
scheduler = lr_scheduler.OneCycleLR(optimizer, max_lr=[0.05, 0.02], total_steps=20)
checkpoint = torch.load(file, weights_only=True)
model.load_state_dict(checkpoint["model"])
optimizer.load_state_dict(checkpoint["optimizer"])
scheduler.load_state_dict(checkpoint["scheduler"])
print("resumed:", finish(model, optimizer, scheduler) == uninterrupted)
print([f"{lr:.3e}" for lr in uninterrupted[1]], [f"{beta:.4f}" for beta, _ in uninterrupted[2]])
print(scheduler.state_dict())
try:
    for _ in range(3):
        scheduler.step()
except ValueError as error:
    print("ValueError:", error)
