"""Optimizers that others write on torch.optim.Optimizer, as well-known ones are: PyTorch's numbers."""

import copy
import io
import pickle
from collections import defaultdict

import pytest

import rushlight
import rushlight.nn

torch = pytest.importorskip("torch")


def lion(t):
    class Lion(t.optim.Optimizer):
        """Steps by the sign of a mean of gradients (Chen and others, 2023), over lists."""

        def __init__(self, params, lr=1e-3, betas=(0.9, 0.99), weight_decay=0.0):
            if not 0.0 <= lr:
                raise ValueError(f"Invalid learning rate: {lr}")
            super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

        @t.no_grad()
        def step(self, closure=None):
            loss = None
            if closure is not None:
                with t.enable_grad():
                    loss = closure()
            for group in self.param_groups:
                params = [p for p in group["params"] if p.grad is not None]
                grads = [p.grad for p in params]
                for p in params:
                    if "exp_avg" not in self.state[p]:
                        self.state[p]["exp_avg"] = t.zeros_like(p, memory_format=t.preserve_format)
                means = [self.state[p]["exp_avg"] for p in params]
                first, second = group["betas"]
                t._foreach_mul_(params, 1 - group["lr"] * group["weight_decay"])
                moves = t._foreach_mul(means, first)
                t._foreach_add_(moves, grads, alpha=1 - first)
                t._foreach_sign_(moves)
                t._foreach_add_(params, moves, alpha=-group["lr"])
                t._foreach_lerp_(means, grads, 1 - second)
            return loss

    return Lion


def lamb(t):
    class Lamb(t.optim.Optimizer):
        """Adam's direction, as long as the layer's weights are (You and others, 2019); clipped as a whole."""

        def __init__(self, params, lr=1e-2, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.01, max_norm=1.0):
            names = dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, max_norm=max_norm)
            super().__init__(params, names)

        def __setstate__(self, state):
            super().__setstate__(state)
            for group in self.param_groups:
                group.setdefault("max_norm", None)

        @t.no_grad()
        def step(self, closure=None):
            loss = t.enable_grad()(closure)() if closure else None
            everything = [p.grad for g in self.param_groups for p in g["params"] if p.grad is not None]
            norm = t.linalg.vector_norm(t.stack(t._foreach_norm(everything)))
            for group in self.param_groups:
                shrink = (group["max_norm"] / (norm + 1e-6)).clamp(max=1.0)
                group["step"] = group.get("step", 0) + 1
                for p in group["params"]:
                    if p.grad is not None:
                        self.update(p, p.grad * shrink, group)
            return loss

        def update(self, p, grad, group):
            state, (first, second) = self.state[p], group["betas"]
            if len(state) == 0:
                state["exp_avg"], state["exp_avg_sq"] = t.zeros_like(p), t.zeros_like(p)
            state["exp_avg"].mul_(first).add_(grad, alpha=1 - first)
            state["exp_avg_sq"].mul_(second).addcmul_(grad, grad, value=1 - second)
            root = (state["exp_avg_sq"] / (1 - second ** group["step"])).sqrt_().add_(group["eps"])
            move = (state["exp_avg"] / (1 - first ** group["step"])).div_(root)
            move.add_(p, alpha=group["weight_decay"])
            size, long = p.norm(2.0), move.norm(2.0)
            one = t.ones_like(size)
            ratio = t.where(size > 0, t.where(long > 0, size / long, one), one)
            p.add_(move.mul_(ratio), alpha=-group["lr"])

    return Lamb


def ada_bound(t):
    class AdaBound(t.optim.Optimizer):
        """Adam whose rates are bound ever closer to that of SGD (Luo and others, 2019)."""

        def __init__(self, params, lr=1e-2, final_lr=0.1, gamma=0.05, betas=(0.9, 0.99), eps=1e-8):
            defaults = dict(lr=lr, final_lr=final_lr, gamma=gamma, betas=betas, eps=eps)
            super().__init__(params, defaults)
            self.base_lrs = [group["lr"] for group in self.param_groups]

        def step(self, closure=None):
            loss = None if closure is None else closure()
            for group, base_lr in zip(self.param_groups, self.base_lrs, strict=True):
                for p in group["params"]:
                    if p.grad is None:
                        continue
                    if p.grad.is_sparse:
                        raise RuntimeError("AdaBound does not support sparse gradients")
                    self.update(p, p.grad.data, group, group["lr"] / base_lr)
            return loss

        def update(self, p, grad, group, scale):
            state, (first, second) = self.state[p], group["betas"]
            if not state:
                state["step"] = 0
                state["mean"] = t.zeros_like(p.data)
                state["square"] = t.zeros_like(p.data)
            state["step"] += 1
            n = state["step"]
            state["mean"].mul_(first).add_(grad, alpha=1 - first)
            state["square"].mul_(second).addcmul_(grad, grad, value=1 - second)
            rate = group["lr"] * (1 - second**n) ** 0.5 / (1 - first**n)
            final = group["final_lr"] * scale
            low = final * (1 - 1 / (group["gamma"] * n + 1))
            high = final * (1 + 1 / (group["gamma"] * n))
            rates = t.full_like(state["square"], rate).div_(state["square"].sqrt().add_(group["eps"]))
            p.data.add_(-rates.clamp_(low, high).mul_(state["mean"]))

    return AdaBound


def lookahead(t, inner):
    class Lookahead(t.optim.Optimizer):
        """Every k steps of another optimizer, the weights go halfway back (Zhang and others, 2019)."""

        def __init__(self, optimizer, k=3, alpha=0.5):
            self.optimizer, self.k, self.alpha = optimizer, k, alpha
            self.param_groups, self.defaults = optimizer.param_groups, optimizer.defaults
            self.state = defaultdict(dict)
            self.__setstate__({})  # the dicts of hooks
            for group in self.param_groups:
                group["counter"] = 0

        @t.no_grad()
        def step(self, closure=None):
            loss = self.optimizer.step(closure)
            for group in self.param_groups:
                for p in group["params"] if group["counter"] == 0 else ():
                    slow = self.state[p].setdefault("slow", p.detach().clone())
                    slow.add_(p - slow, alpha=self.alpha)
                    p.copy_(slow)
                group["counter"] = (group["counter"] + 1) % self.k
            return loss

        def zero_grad(self, set_to_none=True):
            self.optimizer.zero_grad(set_to_none)

    return lambda params: Lookahead(inner(params))


def sharpness_aware(t):
    class SAM(t.optim.Optimizer):
        """Steps by the gradient at the worst place nearby (Foret and others, 2020): two passes a step."""

        def __init__(self, params, base_optimizer=t.optim.SGD, rho=0.05, adaptive=True, **options):
            super().__init__(params, dict(rho=rho, adaptive=adaptive, **options))
            self.base_optimizer = base_optimizer(self.param_groups, **options)
            self.param_groups = self.base_optimizer.param_groups
            self.defaults.update(self.base_optimizer.defaults)

        @t.no_grad()
        def first_step(self, zero_grad=False):
            norm = t.norm(
                t.stack(
                    [
                        ((t.abs(p) if group["adaptive"] else 1.0) * p.grad).norm(p=2)
                        for group in self.param_groups
                        for p in group["params"]
                    ]
                ),
                p=2,
            )
            for group in self.param_groups:
                scale = group["rho"] / (norm + 1e-12)
                for p in group["params"]:
                    self.state[p]["old"] = p.data.clone()
                    p.add_((t.pow(p, 2) if group["adaptive"] else 1.0) * p.grad * scale.to(p))
            if zero_grad:
                self.zero_grad()

        @t.no_grad()
        def second_step(self, zero_grad=False):
            for group in self.param_groups:
                for p in group["params"]:
                    p.data = self.state[p]["old"]
            self.base_optimizer.step()
            if zero_grad:
                self.zero_grad()

        @t.no_grad()
        def step(self, closure=None):
            assert closure is not None, "SAM requires closure"
            closure = t.enable_grad()(closure)
            loss = closure()
            self.first_step(zero_grad=True)
            closure()
            self.second_step()
            return loss

        def load_state_dict(self, state_dict):
            super().load_state_dict(state_dict)
            self.base_optimizer.param_groups = self.param_groups

    return lambda params: SAM(params, lr=0.05, momentum=0.9)


MAKERS = {
    "lion": lambda t: lambda params: lion(t)(params, lr=0.01, weight_decay=0.1),
    "lamb": lamb,
    "ada_bound": ada_bound,
    "lookahead of lamb": lambda t: lookahead(t, lamb(t)),
    "lookahead of adam": lambda t: lookahead(t, lambda params: t.optim.Adam(params, lr=0.02)),
    "sam": sharpness_aware,
}


def model_and_data(t):
    t.manual_seed(0)
    model = t.nn.Sequential(t.nn.Linear(3, 8), t.nn.Tanh(), t.nn.Linear(8, 2))
    return model, t.randn(16, 3), t.randint(2, (16,))


def groups_of(model):
    return [
        {"params": [model[0].weight, model[2].weight]},
        {"params": [model[0].bias, model[2].bias], "lr": 0.003},
    ]


def train(t, make, steps, log, state=None):
    """Losses and hooks' notes of some steps go to the log; returns the model and its optimizer."""
    model, x, y = model_and_data(t)
    optimizer = make(groups_of(model))
    if state:
        model.load_state_dict(state[0])
        optimizer.load_state_dict(state[1])
    handles = [
        optimizer.register_step_pre_hook(lambda o, args, kwargs: log.append(len(args))),
        optimizer.register_step_post_hook(lambda o, args, kwargs: log.append(sorted(kwargs))),
    ]
    scheduler = t.optim.lr_scheduler.StepLR(optimizer, 4, 0.5)

    def closure():
        optimizer.zero_grad()
        loss = t.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        return loss

    for _ in range(steps):
        log.append(optimizer.step(closure=closure).item())
        scheduler.step()
    for handle in handles:
        handle.remove()
    log.append(optimizer.step(closure).item())
    return model, optimizer


def numbers(value):
    """The value with tensors and parameters as lists; what is loaded into a dict keeps its keys."""
    if isinstance(value, torch.Tensor | rushlight.Tensor):
        return value.tolist()
    if isinstance(value, dict):
        return {key: numbers(part) for key, part in value.items()}
    return [numbers(part) for part in value] if isinstance(value, list | tuple) else value


def same(ours, theirs):
    if isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        ours, theirs = list(ours.values()), list(theirs.values())
    if isinstance(theirs, list):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            same(a, b)
    else:
        assert ours == (pytest.approx(theirs, rel=1e-5, abs=1e-5) if isinstance(theirs, float) else theirs)


@pytest.mark.parametrize("name", MAKERS)
def test_twelve_steps(name):
    answers = []
    for t in (rushlight, torch):
        log = []
        model, optimizer = train(t, MAKERS[name](t), 12, log)
        rates = [{k: v for k, v in group.items() if k != "params"} for group in optimizer.param_groups]
        answers.append(numbers([log, model.state_dict(), optimizer.state_dict(), rates, repr(optimizer)]))
    same(*answers)


@pytest.mark.parametrize("name", ["lion", "lamb", "ada_bound", "sam"])
def test_state_goes_on(name):
    """Saved by one library and loaded by the other, and copied."""
    states = {}
    for t in (rushlight, torch):
        model, optimizer = train(t, MAKERS[name](t), 3, [])
        file = io.BytesIO()
        t.save((model.state_dict(), optimizer.state_dict()), file)
        states[t] = file.getvalue()
    logs = []
    for t, other in ((rushlight, torch), (torch, rushlight)):
        for state in (states[t], states[other]):
            log = []
            train(t, MAKERS[name](t), 4, log, t.load(io.BytesIO(state)))
            logs.append(log)
    for log in logs[:3]:
        same(log, logs[3])


def test_copies_keep_what_a_step_finds():
    for t in (rushlight, torch):
        model, optimizer = train(t, MAKERS["ada_bound"](t), 2, [])
        both = copy.deepcopy((model, optimizer))
        for m, o in ((model, optimizer), both):
            for p in m.parameters():
                p.grad = t.ones_like(p)
            o.base_lrs = [0.01, 0.003]
            o.step()
        for a, b in zip(model.parameters(), both[0].parameters(), strict=True):
            assert t.equal(a, b)
        again = pickle.loads(pickle.dumps(t.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)))
        assert again.param_groups[0]["lr"] == 0.5 and again.state_dict()["state"] == {}
