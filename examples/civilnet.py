"""CivilNet, the LeNet-sized classifier of the digits example, as its author wrote it for PyTorch."""

import rushlight.nn as nn
import rushlight.nn.functional as F
from rushlight import Tensor


class CivilNet(nn.Module):
    """Ten digit scores from images of shape (N, 3, 32, 32), float32."""

    def __init__(self) -> None:
        super(CivilNet, self).__init__()  # noqa: UP008 - as many scripts still say it
        self.conv1 = nn.Conv2d(3, 6, 5)
        self.pool = nn.MaxPool2d(2, 2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = x.view(-1, 16 * 5 * 5)
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)
