"""Trees of modules and state dicts at random: walking, saving and loading end as under torch."""

import random
from collections import OrderedDict

import pytest

import rushlight
import rushlight.nn

torch = pytest.importorskip("torch")


class Grower:
    """Grows the same tree in either library from one seed; what users override writes a log."""

    def __init__(self, t, seed):
        self.t, self.random, self.log = t, random.Random(seed), []

    def classes(self):
        t, log = self.t, self.log

        class Plain(t.nn.Module):
            pass

        class OwnLoad(t.nn.Module):
            def _load_from_state_dict(self, state, prefix, metadata, *rest):
                log.append((list(state), prefix, dict(metadata)))
                if len(state) > 2:
                    state.pop(next(reversed(state)))
                super()._load_from_state_dict(state, prefix, metadata, *rest)

        class OwnSave(t.nn.Module):
            def _save_to_state_dict(self, destination, prefix, keep_vars):
                log.append(("save", prefix))
                super()._save_to_state_dict(destination, prefix, keep_vars)

        class OwnTrain(t.nn.Module):
            def train(self, mode=True):
                log.append(("train", mode))
                return super().train(mode)

        class OwnChildren(t.nn.Module):
            def children(self):
                log.append(("children",))
                return iter(list(super().children())[::-1])

        class OwnModules(t.nn.Module):
            def named_modules(self, memo=None, prefix="", remove_duplicate=True):
                log.append(("modules", prefix, None if memo is None else len(memo)))
                yield from super().named_modules(memo, prefix, remove_duplicate)

        class Extra(t.nn.Module):
            def get_extra_state(self):
                return 7

            def set_extra_state(self, state):
                log.append(("extra", state))

        class Equal(t.nn.Module):
            def __eq__(self, other):
                return type(self) is type(other)

            def __hash__(self):
                return 5

        class Noted(t.nn.Module):
            def __setattr__(self, name, value):
                if name == "training":
                    log.append(("set", value))
                super().__setattr__(name, value)

        odd = [OwnLoad, OwnSave, OwnTrain, OwnChildren, OwnModules, Extra, Equal, Noted]
        return [Plain] * (20 if self.random.random() < 0.5 else 6) + odd

    def tree(self):
        self.kinds, self.known = self.classes(), []
        return self.grow(3)

    def grow(self, depth):
        t, r = self.t, self.random
        m = r.choice(self.kinds)()
        for i in range(r.randrange(3)):
            setattr(m, f"w{i}", t.nn.Parameter(t.full((2,), float(r.randrange(100)))))
        if r.random() < 0.3:
            m.register_parameter("nothing", None)
        for i in range(r.randrange(2)):
            m.register_buffer(f"b{i}", t.full((1,), float(i)), persistent=r.random() < 0.7)
        if r.random() < 0.1:
            m._register_load_state_dict_pre_hook(lambda state, prefix, *rest: self.log.append(list(state)))
        if r.random() < 0.1:
            m.register_load_state_dict_post_hook(lambda mod, keys: self.log.append(repr(keys)))
        if r.random() < 0.05:
            m.train = lambda mode: self.log.append(("own train", mode))
        if r.random() < 0.05:
            m.children = lambda: iter(())
        for i in range(r.randrange(4) if depth else 0):
            pick = r.random()
            child = (
                None
                if pick < 0.1
                else r.choice(self.known)
                if self.known and pick < 0.15
                else self.grow(depth - 1)
            )
            name = f"c{i}"
            if pick > 0.97:
                m._modules["c0.x"] = child
            else:
                m.add_module(name, child)
        self.known.append(m)
        return m

    def change(self, state):
        """What happens to a state dict before somebody loads it."""
        t, r, keys = self.t, self.random, list(state)
        for _ in range(r.choice([0, 0, 1, 3])):
            key = r.choice(keys) if keys else "c0.w0"
            what = r.randrange(7)
            if what == 0:
                state.pop(key, None)
            elif what == 1:
                state[key] = t.ones(3, 3)
            elif what == 2:
                state[key + r.choice([".x", "x", "._extra_state"])] = t.ones(1)
            elif what == 3 and key in state:
                state.move_to_end(key, last=r.random() < 0.5)
            elif what == 4:
                state[key] = t.ones(2, dtype=t.float64)
            elif what == 5:
                state["größe." + key] = t.ones(1)
            else:
                state._metadata[key.rpartition(".")[0]] = {"assign_to_params_buffers": True}
        return dict(state) if r.random() < 0.3 else state

    def story(self):
        m = self.tree()
        yield [n for n, _ in m.named_modules()], [n for n, _ in m.named_parameters()]
        yield [n for n, _ in m.named_buffers()], len(list(m.modules())), len(list(m.children()))
        m.eval()
        yield list(self.log), [each.training for each in self.known]
        state = m.state_dict()
        yield list(state), dict(state._metadata)
        with self.t.no_grad():
            for value in state.values():
                if isinstance(value, self.t.Tensor):
                    value.add_(1)
        state = self.change(copied(state))
        for strict in (True, False):
            try:
                yield m.load_state_dict(state, strict=strict, assign=self.random.random() < 0.2)
            except Exception as e:
                yield type(e).__name__, str(e)
        yield list(state), [v.tolist() for v in m.state_dict().values() if isinstance(v, self.t.Tensor)]
        yield [
            entry for entry in self.log if entry[:1] != ("modules",)
        ]  # ours looks for ties, when it assigns


def copied(state):
    copy = OrderedDict(state)
    copy._metadata = OrderedDict((k, dict(v)) for k, v in state._metadata.items())
    return copy


@pytest.mark.parametrize("first", range(0, 400, 50))
def test_same_as_torch(first):
    for seed in range(first, first + 50):
        stories = [[repr(part) for part in Grower(t, seed).story()] for t in (rushlight, torch)]
        assert stories[0] == stories[1], seed
