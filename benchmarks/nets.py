"""Well-known networks as people write them; `torch` is either library, so that both run one class."""


def resnet18(torch, classes=10):
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, ins, outs, stride):
            super().__init__()
            self.conv1 = nn.Conv2d(ins, outs, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(outs)
            self.relu = nn.ReLU(inplace=True)
            self.conv2 = nn.Conv2d(outs, outs, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(outs)
            self.downsample = None
            if stride > 1 or ins != outs:
                self.downsample = nn.Sequential(
                    nn.Conv2d(ins, outs, 1, stride, bias=False), nn.BatchNorm2d(outs)
                )

        def forward(self, x):
            identity = x if self.downsample is None else self.downsample(x)
            out = self.relu(self.bn1(self.conv1(x)))
            out = self.bn2(self.conv2(out))
            out += identity
            return self.relu(out)

    class ResNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
            self.bn1 = nn.BatchNorm2d(64)
            self.relu = nn.ReLU(inplace=True)
            self.maxpool = nn.MaxPool2d(3, 2, 1)
            sizes = [64, 64, 128, 256, 512]
            for i in range(1, 5):
                blocks = [Block(sizes[i - 1], sizes[i], 1 if i == 1 else 2), Block(sizes[i], sizes[i], 1)]
                setattr(self, f"layer{i}", nn.Sequential(*blocks))
            self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
            self.fc = nn.Linear(512, classes)

        def forward(self, x):
            x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
            x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
            return self.fc(torch.flatten(self.avgpool(x), 1))

    return ResNet()


def mobilenet_v2(torch, classes=10):
    nn = torch.nn

    def conv(ins, outs, kernel=3, stride=1, groups=1):
        return nn.Sequential(
            nn.Conv2d(ins, outs, kernel, stride, (kernel - 1) // 2, groups=groups, bias=False),
            nn.BatchNorm2d(outs),
            nn.ReLU6(inplace=True),
        )

    class InvertedResidual(nn.Module):
        def __init__(self, ins, outs, stride, expand):
            super().__init__()
            hidden = ins * expand
            self.use_res_connect = stride == 1 and ins == outs
            layers = [] if expand == 1 else [conv(ins, hidden, 1)]
            layers += [
                conv(hidden, hidden, stride=stride, groups=hidden),
                nn.Conv2d(hidden, outs, 1, bias=False),
                nn.BatchNorm2d(outs),
            ]
            self.conv = nn.Sequential(*layers)

        def forward(self, x):
            return x + self.conv(x) if self.use_res_connect else self.conv(x)

    class MobileNetV2(nn.Module):
        def __init__(self):
            super().__init__()
            features, ins = [conv(3, 32, stride=2)], 32
            table = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2)]
            table += [(6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]
            for expand, outs, count, stride in table:
                for i in range(count):
                    features.append(InvertedResidual(ins, outs, stride if i == 0 else 1, expand))
                    ins = outs
            features.append(conv(ins, 1280, 1))
            self.features = nn.Sequential(*features)
            self.classifier = nn.Sequential(nn.Dropout(0.0), nn.Linear(1280, classes))

        def forward(self, x):
            x = nn.functional.adaptive_avg_pool2d(self.features(x), (1, 1))
            return self.classifier(torch.flatten(x, 1))

    return MobileNetV2()


def unet(torch, classes=2):
    """Two levels down and up; answers a map of classes as large as the picture."""
    nn = torch.nn

    def double(ins, outs):
        layers = []
        for i in (ins, outs):
            layers += [nn.Conv2d(i, outs, 3, padding=1, bias=False), nn.BatchNorm2d(outs)]
            layers += [nn.ReLU(inplace=True)]
        return nn.Sequential(*layers)

    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.inc, self.pool = double(3, 32), nn.MaxPool2d(2)
            self.down1, self.down2 = double(32, 64), double(64, 128)
            self.up1, self.conv1 = nn.ConvTranspose2d(128, 64, 2, 2), double(128, 64)
            self.up2, self.conv2 = nn.ConvTranspose2d(64, 32, 2, 2), double(64, 32)
            self.outc = nn.Conv2d(32, classes, 1)

        def forward(self, x):
            x1 = self.inc(x)
            x2 = self.down1(self.pool(x1))
            x3 = self.down2(self.pool(x2))
            x = self.conv1(torch.cat([x2, self.up1(x3)], 1))
            x = self.conv2(torch.cat([x1, self.up2(x)], 1))
            return self.outc(x)

    return UNet()
