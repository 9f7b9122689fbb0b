"""Schedulers that users write, and what they do with PyTorch's: the same in both libraries."""

from helpers.schedulers import exactly, sgd


def warm_up(t, base):
    """Schedulers as they stand in many repositories."""

    class WarmUp(base):
        def __init__(self, optimizer, multiplier, total_epoch, after=None):
            self.multiplier, self.total_epoch, self.after, self.finished = (
                multiplier,
                total_epoch,
                after,
                False,
            )
            super().__init__(optimizer)

        def get_lr(self):
            if self.last_epoch > self.total_epoch:
                if self.after and not self.finished:
                    self.after.base_lrs = [lr * self.multiplier for lr in self.base_lrs]
                    self.finished = True
                return (
                    self.after.get_last_lr() if self.after else [lr * self.multiplier for lr in self.base_lrs]
                )
            part = self.last_epoch / self.total_epoch
            return [lr * ((self.multiplier - 1.0) * part + 1.0) for lr in self.base_lrs]

        def step(self, epoch=None):
            if self.finished and self.after:
                self.after.step(None if epoch is None else epoch - self.total_epoch)
                self._last_lr = self.after.get_last_lr()
            else:
                super().step(epoch)

    return WarmUp


def test_schedulers_of_users():
    def script(t, s):
        answers = []
        for base in (s._LRScheduler, s.LRScheduler):
            o = sgd(t)
            scheduler = warm_up(t, base)(o, 8, 5, s.CosineAnnealingLR(o, 20))
            for _ in range(30):
                o.step()
                scheduler.step()
                answers.append([scheduler.get_last_lr(), [g["lr"] for g in o.param_groups]])
            answers.append(list(scheduler.state_dict()))
            answers.append(isinstance(scheduler, s.LRScheduler))
        return answers

    exactly(script)


def test_closed_forms_and_factors_of_users():
    def script(t, s):
        class Poly(s._LRScheduler):
            def __init__(self, optimizer, max_iters, power=0.9, last_epoch=-1, min_lr=1e-6):
                self.power, self.max_iters, self.min_lr = power, max_iters, min_lr
                super().__init__(optimizer, last_epoch)

            def get_lr(self):
                left = (1 - self.last_epoch / self.max_iters) ** self.power
                return [max(base_lr * left, self.min_lr) for base_lr in self.base_lrs]

            def _get_closed_form_lr(self):
                return [7.0 for _ in self.base_lrs]

        class Slow(s.StepLR):
            def get_lr(self):
                return [lr * 0.99 for lr in super().get_lr()]

        class Noisy(s.ReduceLROnPlateau):
            def _reduce_lr(self, epoch):
                self.said = epoch
                super()._reduce_lr(epoch)

        o = sgd(t)
        made, answers = [Poly(o, 10), Slow(o, 3)], []
        for i in range(9):
            o.step()
            for scheduler in made:
                scheduler.step(*([i] if i % 4 == 3 else []))
                answers.append(scheduler.get_last_lr())
        noisy = Noisy(o, patience=1)
        for i in range(5):
            noisy.step(t.tensor(float(i)))
        return [*answers, noisy.said, noisy.state_dict(), noisy.in_cooldown, noisy.best]

    exactly(script)


def test_parts_of_epochs():
    """CosineAnnealingWarmRestarts between epochs, as its documentation has it."""

    def script(t, s):
        answers = []
        for t_mult in (1, 2, 3):
            o = sgd(t)
            scheduler = s.CosineAnnealingWarmRestarts(o, 2, t_mult)
            for i in range(60):
                o.step()
                scheduler.step(i / 6)
                answers.append([scheduler.get_last_lr(), scheduler.state_dict()])
            for _ in range(20):
                scheduler.step()
                answers.append(
                    [scheduler.get_last_lr(), scheduler.last_epoch, scheduler.T_cur, scheduler.T_i]
                )
        return answers

    exactly(script)


def test_options_that_a_state_brings():
    def script(t, s):
        answers = []
        for mine, loaded in (
            ("exp_range", "triangular2"),
            ("triangular", "exp_range"),
            ("exp_range", "exp_range"),
        ):
            o = sgd(t)
            first = s.CyclicLR(o, 0.1, 1, 3, mode=loaded, gamma=0.9)
            second = s.CyclicLR(sgd(t), 0.2, 2, 7, mode=mine, gamma=0.5)
            second.load_state_dict(first.state_dict())
            for scheduler in (first, second):
                for _ in range(11):
                    scheduler.optimizer.step()
                    scheduler.step()
                    answers.append(scheduler.get_last_lr())
        return answers

    exactly(script)


def test_learning_rates_that_users_change():
    """A chainable scheduler goes on from what stands in the group."""

    def script(t, s):
        answers = []
        for make in (
            lambda o: s.StepLR(o, 2),
            lambda o: s.ExponentialLR(o, 0.5),
            lambda o: s.CosineAnnealingLR(o, 9),
        ):
            o = sgd(t)
            scheduler = make(o)
            for i in range(8):
                o.step()
                if i == 4:
                    o.param_groups[0]["lr"] = 5.0
                scheduler.step()
                answers.append(scheduler.get_last_lr())
        return answers

    exactly(script)
