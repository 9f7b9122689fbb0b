"""Models as people write them: losses on a device are the CPU's."""

import pytest

import rushlight as torch
import rushlight.nn.functional as F
from helpers import text_models, vision_models
from rushlight import nn
from rushlight.distributions import Categorical
from rushlight.utils.checkpoint import checkpoint

DEVICE = f"cuda:{torch.cuda.device_count() - 1}"


def train(device, model, batches, loss, optimizer=torch.optim.SGD, **options):
    """Train over batches, tuples of tensors; return the losses."""
    options = options or {"lr": 0.01}
    model = model.to(device)
    steps, seen = optimizer(model.parameters(), **options), []
    for batch in batches:
        steps.zero_grad()
        value = loss(model, *(x.to(device) for x in batch))
        value.backward()
        steps.step()
        seen.append(value.item())
    return seen


def classify(model, x, y):
    return F.cross_entropy(model(x), y)


def pictures(count, size, classes=5, batch=2):
    return [(torch.randn(batch, 3, size, size), torch.randint(classes, (batch,))) for _ in range(count)]


def vgg(device):
    model = nn.Sequential(
        *(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(True), nn.MaxPool2d(2)),
        *(nn.Conv2d(4, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(True), nn.AdaptiveAvgPool2d(2)),
        *(nn.Flatten(), nn.Linear(32, 8), nn.ReLU(True), nn.Dropout(0.0), nn.Linear(8, 5)),
    )
    return train(device, model, pictures(4, 8), classify)


def mobilenet(device):
    model = vision_models.mobilenet_v2(torch, 1 / 16, 5)
    model.classifier[0].p = 0.0
    return train(device, model, pictures(1, 16), classify, lr=1e-4)


def unet(device):
    batches = [(torch.randn(2, 3, 16, 16), torch.randint(2, (2, 16, 16)))]
    return train(device, vision_models.unet(torch, 1 / 16), batches * 2, classify, lr=1e-3)


def gan(device):
    generator = nn.Sequential(
        *(nn.ConvTranspose2d(4, 4, 4, 1, 0, bias=False), nn.BatchNorm2d(4), nn.ReLU(True)),
        *(nn.ConvTranspose2d(4, 1, 4, 2, 1), nn.Tanh()),
    )
    judge = nn.Sequential(
        *(nn.Conv2d(1, 4, 4, 2, 1), nn.LeakyReLU(0.2, True), nn.Conv2d(4, 1, 4, 1, 0), nn.Sigmoid())
    )
    for layer in [*generator, *judge]:
        if isinstance(layer, nn.Conv2d | nn.ConvTranspose2d):
            nn.init.normal_(layer.weight, 0, 0.02)
    noise, real = torch.randn(3, 2, 4, 1, 1), torch.randn(3, 2, 1, 8, 8)
    generator.to(device), judge.to(device)
    steps = [torch.optim.Adam(net.parameters(), lr=2e-4, betas=(0.5, 0.999)) for net in (generator, judge)]
    seen = []
    for x, z in zip(real.to(device), noise.to(device), strict=True):
        label, no = torch.ones(2, device=device), torch.zeros(2, device=device)
        judge.zero_grad()
        made = generator(z)
        loss = F.binary_cross_entropy(judge(x).view(-1), label)
        loss = loss + F.binary_cross_entropy(judge(made.detach()).view(-1), no)
        loss.backward()
        steps[1].step()
        generator.zero_grad()
        fooled = F.binary_cross_entropy(judge(made).view(-1), no.fill_(1.0))
        fooled.backward()
        steps[0].step()
        seen += [loss.item(), fooled.item()]
    return seen


class Reader(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.embedding = nn.Embedding(20, 6, padding_idx=0)
        self.rnn = getattr(nn, kind)(6, 4, batch_first=True, bidirectional=True)
        self.out = nn.Linear(8, 3)

    def forward(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(
            self.embedding(x), lengths.cpu(), batch_first=True, enforce_sorted=False
        )
        states, last = self.rnn(packed)
        last = last[0] if isinstance(last, tuple) else last
        states, _ = nn.utils.rnn.pad_packed_sequence(states, batch_first=True)
        return self.out(torch.cat([last[-2], last[-1]], 1) + states.mean(1))


def reader(kind):
    def run(device):
        batches = [
            (torch.randint(1, 20, (3, 5)), torch.tensor([3, 5, 1]), torch.randint(3, (3,))) for _ in range(4)
        ]
        return train(
            *(device, Reader(kind), batches, lambda m, x, n, y: F.cross_entropy(m(x, n), y)),
            *(torch.optim.Adam,),
            lr=0.01,
        )

    return run


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(11, 8)
        self.both = nn.Transformer(8, 2, 1, 1, 8, dropout=0.0, batch_first=True)
        self.out = nn.Linear(8, 11)

    def forward(self, x, y):
        mask = nn.Transformer.generate_square_subsequent_mask(y.size(1), device=y.device)
        hidden = x == 0
        padding = dict(src_key_padding_mask=hidden, memory_key_padding_mask=hidden)
        return self.out(self.both(self.words(x), self.words(y), tgt_mask=mask, **padding))


def translator(device):
    x, y = torch.randint(1, 11, (2, 5)), torch.randint(1, 11, (2, 5))
    x[1, 3:] = 0

    def loss(model, x, y):
        scores = model(x, y[:, :-1]).flatten(0, 1)
        return F.cross_entropy(scores, y[:, 1:].reshape(-1), label_smoothing=0.1)

    return train(device, Translator(), [(x, y)] * 3, loss, torch.optim.Adam, lr=0.01)


def gpt(device):
    model = text_models.gpt(torch, 1, 2, 8, 17, 8)

    def loss(model, x):
        return F.cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())

    batches = [(torch.randint(17, (2, 7)),) for _ in range(3)]
    seen = train(device, model, batches, loss, torch.optim.AdamW, lr=1e-2)
    ids = torch.zeros(1, 1, dtype=torch.long, device=device)
    with torch.no_grad():
        for _ in range(4):
            scores = model.eval()(ids[:, -8:])[:, -1] / 0.8
            best, _ = torch.topk(scores, 5)
            scores[scores < best[:, [-1]]] = -float("inf")
            assert torch.multinomial(F.softmax(scores, -1), 1).device == ids.device
            ids = torch.cat((ids, scores.argmax(-1, keepdim=True)), 1)
    return seen + ids[0].tolist()


def bert(device):
    ids = torch.randint(1, 19, (2, 6))
    ids[1, 4:] = 0
    with torch.device(device):  # its positions are made where it runs
        model = text_models.bert(torch, 1, 2, 8, 19, 8)

    def loss(model, ids):
        with torch.device(device):
            return model(ids).pow(2).mean()

    torch.manual_seed(4)
    for parameter in model.parameters():
        parameter.data.copy_(torch.randn(parameter.shape) / 2)
    return train(device, model, [(ids,)] * 2, loss, torch.optim.AdamW, lr=1e-3)


class ViT(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, 8, 4, 4)
        self.first = nn.Parameter(torch.zeros(1, 1, 8))
        self.places = nn.Parameter(torch.randn(1, 5, 8) * 0.02)
        layer = nn.TransformerEncoderLayer(8, 2, 8, 0.0, "gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(x.size(0), -1, -1), x], 1) + self.places
        return self.head(self.encoder(x)[:, 0])


def vit(device):
    return train(device, ViT(), pictures(2, 8), classify, torch.optim.AdamW, lr=1e-3)


def triplets(device):
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))

    def loss(model, a, b, c):
        a, b, c = model(a), model(b), model(c)
        near = F.cosine_embedding_loss(a, b, torch.tensor([1, -1, 1], device=device), 0.2)
        return F.triplet_margin_loss(a, b, c) + near + F.pairwise_distance(a, c).mean()

    batches = [tuple(torch.randn(3, 3, 6)) for _ in range(4)]
    return train(device, model, batches, loss, torch.optim.RMSprop, lr=1e-3)


class Spread(nn.Module):
    """A layer over a graph: nodes get the means of what their neighbours send."""

    def __init__(self, before, after):
        super().__init__()
        self.linear = nn.Linear(before, after)

    def forward(self, x, edges):
        source, target = edges
        ones = torch.ones(target.numel(), device=x.device)
        degree = torch.zeros(x.size(0), device=x.device).scatter_add_(0, target, ones)
        scale = degree.clamp(min=1).pow(-0.5)
        sent = self.linear(x)[source] * (scale[source] * scale[target]).unsqueeze(1)
        return sent.new_zeros(x.size(0), sent.size(1)).index_add_(0, target, sent)


def graph(device):
    model, edges = nn.ModuleList([Spread(5, 8), Spread(8, 3)]), torch.randint(7, (2, 15))
    known = torch.arange(7) < 5

    def loss(model, x, y, edges, known):
        scores = model[1](F.elu(model[0](x, edges)), edges)
        return F.nll_loss(F.log_softmax(scores, 1)[known], y[known])

    batches = [(torch.randn(7, 5), torch.randint(3, (7,)), edges, known)] * 4
    return train(device, model, batches, loss, torch.optim.Adam, lr=0.01, weight_decay=5e-4)


def policy(device):
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))

    def loss(model, state, action, reward):
        choice = Categorical(logits=model(state))
        assert choice.sample().device == state.device
        reward = (reward - reward.mean()) / (reward.std() + 1e-8)
        return -(choice.log_prob(action) * reward).mean() - 0.01 * choice.entropy().mean()

    batches = [(torch.randn(5, 4), torch.randint(2, (5,)), torch.randn(5)) for _ in range(4)]
    return train(device, model, batches, loss, torch.optim.Adam, lr=0.01)


def accumulated(device):
    """Gradients of two batches, clipped; layers computed again in backward; averaged weights."""
    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3)).to(device)
    steps = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    average = torch.optim.swa_utils.AveragedModel(model)
    schedule, seen = torch.optim.lr_scheduler.OneCycleLR(steps, 0.1, total_steps=4), []
    for i in range(6):
        x, y = torch.randn(4, 6).to(device), torch.randint(3, (4,)).to(device)
        loss = F.cross_entropy(model[3:](checkpoint(model[:3], x, use_reentrant=False)), y)
        (loss / 2).backward()
        if i % 2:
            seen.append(nn.utils.clip_grad_norm_(model.parameters(), 0.5).item())
            steps.step(), schedule.step(), steps.zero_grad()
            average.update_parameters(model)
        seen.append(loss.item())
    return [*seen, average(x).sum().item()]


def renormed(device):
    seen = []
    for wrap in (nn.utils.parametrizations.weight_norm, nn.utils.parametrizations.spectral_norm):
        model = nn.Sequential(wrap(nn.Linear(5, 4)), nn.ReLU(), nn.Linear(4, 3))
        batches = [(torch.randn(4, 5), torch.randint(3, (4,))) for _ in range(3)]
        seen += train(device, model, batches, classify, lr=0.1)
    return seen


MODELS = {
    **{f.__name__: f for f in (vgg, mobilenet, unet, gan, translator, gpt, bert, vit, triplets, graph)},
    **{f.__name__: f for f in (policy, accumulated, renormed)},
    **{kind: reader(kind) for kind in ("LSTM", "GRU", "RNN")},
}


@pytest.mark.parametrize("name", MODELS)
def test_losses_are_those_of_the_cpu(name):
    seen = []
    for device in ("cpu", DEVICE):
        torch.manual_seed(0)
        seen.append(MODELS[name](device))
    assert seen[1] == pytest.approx(seen[0], abs=1e-4)
