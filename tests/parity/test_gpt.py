"""A GPT as people write it, beside PyTorch: tokens from a cache, a training step, files both ways."""

import io

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")

import bench_gpt  # noqa: E402

LIBRARIES = (rushlight, torch)


def prompt(t, length=5, batch=1):
    return t.arange(batch * length).view(batch, length) * 7 % bench_gpt.VOCABULARY


def whole(t, model, tokens):
    """The logits behind each place, as the model answers for each beginning of the sequence."""
    with t.no_grad():
        ends = range(1, tokens.size(1) + 1)
        return t.cat([model(tokens[:, :end], model.empty_caches(), 0)[0] for end in ends], 1)


@pytest.mark.parametrize("joined", [True, False], ids=["cat", "written"])
def test_tokens_one_by_one(joined):
    made = []
    for t in LIBRARIES:
        model = bench_gpt.gpt(t, 2, 32, 4, joined)
        tokens, logits = model.generate(prompt(t), 20)
        assert tokens.shape == (1, 20)
        again = whole(t, model, t.cat([prompt(t), tokens[:, :-1]], 1))
        np.testing.assert_allclose(again[:, -1:].tolist(), logits.tolist(), rtol=1e-4, atol=1e-5)
        made.append((tokens.tolist(), logits.tolist()))
    assert made[0][0] == made[1][0]
    np.testing.assert_allclose(made[0][1], made[1][1], rtol=1e-4, atol=1e-5)


def test_steps_of_training():
    losses = []
    for t in LIBRARIES:
        model = bench_gpt.gpt(t, 2, 32, 4, True).train()
        optimizer = t.optim.AdamW(model.parameters(), lr=1e-2)
        tokens, taken = prompt(t, 8, 4), []
        for _ in range(4):
            logits, _ = model(tokens[:, :-1], model.empty_caches(), 0)
            loss = t.nn.functional.cross_entropy(logits[:, -1], tokens[:, -1])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            taken.append(loss.item())
        losses.append(taken)
    assert losses[0][-1] < losses[0][0]
    np.testing.assert_allclose(*losses, rtol=1e-3)


def test_weights_travel():
    models = [bench_gpt.gpt(t, 1, 16, 2, True) for t in LIBRARIES]
    keys = [list(model.state_dict()) for model in models]
    assert keys[0] == keys[1] and {"wte.weight", "h.0.attn.c_attn.bias", "lm_head.weight"} <= set(keys[0])
    for (t, source), (other, target) in zip(
        zip(LIBRARIES, models), zip(LIBRARIES[::-1], models[::-1]), strict=True
    ):
        with t.no_grad():
            for p in source.parameters():
                p.mul_(1.5)
        file = io.BytesIO()
        t.save(source.state_dict(), file)
        file.seek(0)
        target.load_state_dict(other.load(file))
        assert target.wte.weight is target.lm_head.weight
        a, b = source.generate(prompt(t), 3)[1], target.generate(prompt(other), 3)[1]
        np.testing.assert_allclose(a.tolist(), b.tolist(), rtol=1e-4, atol=1e-4)
