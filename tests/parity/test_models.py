"""Well-known nets, built from layers as people build them, in both libraries.

Compared are names and numbers of parameters, answers, a step of training, and states that one writes and
the other reads.
"""

import io

import numpy as np
import pytest
from tests.helpers import text_models, vision_models

import rushlight

torch = pytest.importorskip("torch")
BOTH = (torch, rushlight)

# how it is made, as it was published or small; of the published one: entries, parameters, some names
MODELS = {
    "vgg16": (
        lambda t, small: vision_models.vgg16(t, *([1 / 16, 10] if small else [])),
        (32, 138_357_544, "features.0.weight features.28.bias classifier.0.weight classifier.6.bias"),
    ),
    "resnet18": (
        lambda t, small: vision_models.resnet(t, 18, *([1 / 8, 10] if small else [])),
        (122, 11_689_512, "conv1.weight bn1.num_batches_tracked layer2.0.downsample.1.running_var fc.bias"),
    ),
    "resnet50": (
        lambda t, small: vision_models.resnet(t, 50, *([1 / 16, 10] if small else [])),
        (320, 25_557_032, "layer1.0.conv3.weight layer3.5.bn3.bias layer4.0.downsample.0.weight fc.weight"),
    ),
    "mobilenet_v2": (
        lambda t, small: vision_models.mobilenet_v2(t, *([1 / 4, 10] if small else [])),
        (
            314,
            3_504_872,
            "features.0.0.weight features.1.conv.1.weight features.18.1.bias classifier.1.weight",
        ),
    ),
    "mobilenet_v3_small": (
        lambda t, small: vision_models.mobilenet_v3_small(t, *([1 / 4, 10] if small else [])),
        (244, 2_542_856, "features.1.block.1.fc1.weight features.4.block.3.1.running_mean classifier.3.bias"),
    ),
    "unet": (
        lambda t, small: vision_models.unet(t, *([1 / 8] if small else [])),
        (
            118,
            31_037_698,
            "inc.double_conv.0.weight down4.maxpool_conv.1.double_conv.4.bias up1.up.bias",
        ),
    ),
    "gpt": (
        lambda t, small: text_models.gpt(t, *([2, 2, 32, 40, 16] if small else [])),
        (
            149,
            124_439_808,
            "transformer.wte.weight transformer.h.11.attn.c_attn.bias lm_head.weight",
        ),
    ),
    "bert": (
        lambda t, small: text_models.bert(t, *([2, 2, 32, 40, 16] if small else [])),
        (
            199,
            109_482_240,
            "embeddings.LayerNorm.weight encoder.layer.0.attention.self.query.weight "
            "encoder.layer.11.attention.output.LayerNorm.bias encoder.layer.5.intermediate.dense.weight "
            "pooler.dense.bias",
        ),
    ),
    "translator": (
        lambda t, small: text_models.translator(t),
        (24, 10_601, "encoder.lstm.weight_ih_l0_reverse decoder.attention.Va.bias decoder.cell.bias_hh"),
    ),
}
TEXTS = ("gpt", "bert", "translator")


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    before = [t.get_num_threads() for t in BOTH]
    for t in BOTH:
        t.set_num_threads(1)
    yield
    for t, n in zip(BOTH, before):
        t.set_num_threads(n)


def array(x):
    return np.array(x.detach().tolist() if x.numel() < 100 else x.detach().numpy(), dtype=float)


def close(ours, theirs, what, limit=1e-6):
    np.testing.assert_allclose(array(ours), array(theirs), rtol=limit, atol=limit, err_msg=what)


def given(t, name, side=32):
    """Images, or sentences that end in padding, and what the net should answer."""
    if name in TEXTS:
        ids = (np.arange(36) * 7 % 37 + 1).reshape(3, 12)
        ids[1, 8:] = ids[2, 10:] = 0
        return t.tensor(ids)
    return t.tensor(np.sin(np.arange(2 * 3 * side * side) * 0.37).reshape(2, 3, side, side), dtype=t.float32)


def made(t, name, small=True):
    t.manual_seed(1)
    return MODELS[name][0](t, small)


@pytest.mark.parametrize("name", MODELS)
def test_names_and_numbers_of_parameters(name):
    entries, numbers, some = MODELS[name][1]
    with rushlight.device("meta"):
        ours = MODELS[name][0](rushlight, False)
    with torch.device("meta"):
        theirs = MODELS[name][0](torch, False)
    shapes = [{k: tuple(v.shape) for k, v in m.state_dict().items()} for m in (ours, theirs)]
    assert shapes[0] == shapes[1] and list(shapes[0]) == list(shapes[1])
    assert len(shapes[0]) == entries and set(some.split()) <= set(shapes[0])
    assert sum(p.numel() for p in ours.parameters()) == numbers


@pytest.mark.parametrize("name", MODELS)
def test_answers_and_a_step(name):
    answers = []
    for t in BOTH:
        model, x = made(t, name).double(), given(t, name)
        x = x if name in TEXTS else x.double()  # norms of few elements make much of what is rounded
        before = model.eval()(x).detach()
        optimizer = t.optim.AdamW(model.parameters(), lr=1e-3, eps=1e-3)
        model.train()
        t.manual_seed(2)
        out = model(x)
        loss = (out * out.detach().cos()).mean() + out.square().mean()
        optimizer.zero_grad()
        loss.backward()
        grads = {k: p.grad for k, p in model.named_parameters()}
        optimizer.step()
        answers.append((before, out, loss, grads, model.state_dict()))
    theirs, ours = answers
    for a, b, what in zip(ours[:3], theirs[:3], ("eval", "train", "loss")):
        close(a, b, what)
    for part in (3, 4):
        assert list(ours[part]) == list(theirs[part])
    for key, grad in theirs[3].items():
        scale = float(grad.abs().max()) + 1e-6
        close(ours[3][key] / scale, grad / scale, key)
    for key, value in theirs[4].items():
        if (
            key not in theirs[3]
        ):  # of parameters with hardly a gradient the first step of Adam is a sign of chance
            close(ours[4][key], value, key)


@pytest.mark.parametrize("name", MODELS)
def test_states_go_both_ways(name):
    x = [given(t, name) for t in BOTH]
    theirs, ours = (made(t, name).eval() for t in BOTH)
    with torch.no_grad():
        for p in theirs.parameters():
            p.mul_(1.25)
    for source, writer, target, reader in (
        (theirs, torch, ours, rushlight),
        (ours, rushlight, theirs, torch),
    ):
        file = io.BytesIO()
        writer.save(source.state_dict(), file)
        file.seek(0)
        assert str(target.load_state_dict(reader.load(file))) == "<All keys matched successfully>"
        close(ours(x[1]), theirs(x[0]), name, 2e-4)


@pytest.mark.parametrize("name", ["resnet18", "resnet50", "vgg16"])
def test_as_published(name):
    answers = []
    for t in BOTH:
        model = made(t, name, small=False).eval()
        with t.no_grad():
            answers.append(model(given(t, name, 64)))
    close(answers[1], answers[0], name, 2e-4)
