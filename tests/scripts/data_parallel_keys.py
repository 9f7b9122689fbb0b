"""DataParallel puts `module.` before the keys; two ways around it when a state dict is loaded."""

from collections import OrderedDict

import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()  # noqa: UP008
        self.conv1 = nn.Conv2d(1, 2, 3)
        self.fc = nn.Linear(2 * 4 * 4, 3)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        return self.fc(x.view(x.size(0), -1))


torch.manual_seed(1)
model = nn.DataParallel(Net())
print(model)
print(list(model.state_dict()))
print(list(model.module.state_dict()))
plain = Net()
try:
    plain.load_state_dict(model.state_dict())
except RuntimeError as e:
    print(e)
print(plain.load_state_dict(model.module.state_dict()))
stripped = OrderedDict((k[len("module.") :], v) for k, v in model.state_dict().items())
print(plain.load_state_dict(stripped))
x = torch.ones(1, 1, 6, 6)
print(torch.equal(plain(x), model(x)), model(x).shape)
