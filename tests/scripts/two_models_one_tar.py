"""Two models, two optimisers, all four state dicts in one file; then both go on from it."""

import os
import tempfile

import torch
import torch.nn as nn
import torch.optim as optim


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, x):
        return torch.relu(self.layer(x))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 4)

    def forward(self, x):
        return self.layer(x)


def build():
    torch.manual_seed(0)
    encoder, decoder = Encoder(), Decoder()
    return (
        encoder,
        decoder,
        optim.SGD(encoder.parameters(), lr=0.1, momentum=0.9),
        optim.SGD(decoder.parameters(), lr=0.05, momentum=0.5, nesterov=True, weight_decay=0.01),
    )


def steps(encoder, decoder, first, second, n):
    x = torch.linspace(-1, 1, 20).reshape(5, 4)
    for _ in range(n):
        first.zero_grad()
        second.zero_grad()
        loss = nn.functional.mse_loss(decoder(encoder(x)), x)
        loss.backward()
        first.step()
        second.step()
        print(f"{loss.item():.5f}")
    return loss


models = build()
loss = steps(*models, 4)
path = os.path.join(tempfile.mkdtemp(), "both.tar")
torch.save(
    {
        "modelA_state_dict": models[0].state_dict(),
        "modelB_state_dict": models[1].state_dict(),
        "optimizerA_state_dict": models[2].state_dict(),
        "optimizerB_state_dict": models[3].state_dict(),
        "loss": loss,
    },
    path,
)
steps(*models, 3)

again = build()
checkpoint = torch.load(path)
print(list(checkpoint))
for part, key in zip(again, list(checkpoint)):
    part.load_state_dict(checkpoint[key])
print(f"{checkpoint['loss'].item():.6f}", checkpoint["loss"].requires_grad)
steps(*again, 3)
print(again[0].layer.weight.grad.shape, again[2])
