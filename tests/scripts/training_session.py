"""A training session: two workers that load shuffled batches, dropout, batch norm, AdamW with groups, one
cycle of the rate, and gradients that are clipped.

The masks of dropout come from torch.rand. With the word `plain` it is nn.Dropout's, which PyTorch draws by
other means on an Intel CPU.
"""

import sys

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset, TensorDataset, random_split

EPOCHS, BATCH = 5, 32


class Dropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return x * (torch.rand(x.shape) >= self.p) / (1 - self.p) if self.training else x


class Noisy(Dataset):
    """Samples with noise of the worker's own generator."""

    def __init__(self, data):
        self.data = data

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        x, y = self.data[i]
        return x + 0.05 * torch.randn(x.shape), y


class Net(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.hidden = nn.Linear(8 * 4 * 4, 32, bias=False)  # a bias would be noise: the norm takes it away
        self.hidden_norm = nn.BatchNorm1d(32)
        self.drop = dropout(0.3)
        self.out = nn.Linear(32, 4)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.conv(x))), 2)
        x = F.relu(self.hidden_norm(self.hidden(x.flatten(1))))
        return self.out(self.drop(x))


def pictures():
    """Bright squares in one of four corners."""
    y = torch.randint(4, (320,))
    x = 0.3 * torch.randn(320, 1, 8, 8)
    for i, corner in enumerate(y.tolist()):
        top, left = 4 * (corner // 2), 4 * (corner % 2)
        x[i, 0, top : top + 4, left : left + 4] += 0.5
    return TensorDataset(x, y)


def main(dropout):
    torch.manual_seed(1)
    train, test = random_split(pictures(), [256, 64])
    net = Net(dropout)
    decayed = [p for p in net.parameters() if p.dim() > 1]
    others = [p for p in net.parameters() if p.dim() == 1]
    optimizer = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": 0.05}, {"params": others, "lr": 2e-3}], lr=1e-3, weight_decay=0.0
    )
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=[0.01, 0.02], total_steps=40)
    loader = DataLoader(Noisy(train), batch_size=BATCH, shuffle=True, num_workers=2, drop_last=True)
    for epoch in range(EPOCHS):
        net.train()
        for x, y in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x), y, label_smoothing=0.05)
            loss.backward()
            norm = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            rates = " ".join(f"{rate:.6f}" for rate in scheduler.get_last_lr())
            scheduler.step()
            print(f"{loss.item():.4f} {norm.item():.3f} {rates}")
        net.eval()
        with torch.no_grad():
            right = sum((net(x).argmax(1) == y).sum().item() for x, y in DataLoader(test, batch_size=16))
        print(f"epoch {epoch}: {right} of {len(test)}")


if __name__ == "__main__":
    main(nn.Dropout if "plain" in sys.argv else Dropout)
