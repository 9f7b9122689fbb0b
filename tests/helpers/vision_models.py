"""Well-known nets for images, written as people write them; `t` is the library.

Their parameters have the names of torchvision's and, of the U-Net, of milesial's. `width` is what they have
of the channels: 1 as they were published.
"""


def _scaled(channels, width):
    return max(4, int(channels * width + 0.5) // 4 * 4)


def vgg16(t, width=1.0, classes=1000):
    nn = t.nn
    layers, before = [], 3
    for step in (64, 64, "M", 128, 128, "M", 256, 256, 256, "M", 512, 512, 512, "M", 512, 512, 512, "M"):
        if step == "M":
            layers.append(nn.MaxPool2d(2, 2))
            continue
        channels = _scaled(step, width)
        layers += [nn.Conv2d(before, channels, 3, padding=1), nn.ReLU(inplace=True)]
        before = channels
    hidden = _scaled(4096, width)

    class VGG(nn.Module):
        def __init__(self):
            super().__init__()
            self.features = nn.Sequential(*layers)
            self.avgpool = nn.AdaptiveAvgPool2d((7, 7))
            self.classifier = nn.Sequential(
                nn.Linear(before * 7 * 7, hidden),
                nn.ReLU(True),
                nn.Dropout(),
                nn.Linear(hidden, hidden),
                nn.ReLU(True),
                nn.Dropout(),
                nn.Linear(hidden, classes),
            )

        def forward(self, x):
            return self.classifier(t.flatten(self.avgpool(self.features(x)), 1))

    return VGG()


def resnet(t, depth, width=1.0, classes=1000):
    nn = t.nn
    counts = {18: (2, 2, 2, 2), 50: (3, 4, 6, 3)}[depth]
    wide = 4 if depth >= 50 else 1

    class Block(nn.Module):
        def __init__(self, before, channels, stride):
            super().__init__()
            after = channels * wide
            self.deep = wide > 1
            if self.deep:
                sizes = [(before, channels, 1, 1), (channels, channels, 3, stride), (channels, after, 1, 1)]
            else:
                sizes = [(before, channels, 3, stride), (channels, after, 3, 1)]
            for i, (a, b, kernel, step) in enumerate(sizes, 1):
                setattr(self, f"conv{i}", nn.Conv2d(a, b, kernel, step, kernel // 2, bias=False))
                setattr(self, f"bn{i}", nn.BatchNorm2d(b))
            self.relu = nn.ReLU(inplace=True)
            self.downsample = None
            if stride != 1 or before != after:
                self.downsample = nn.Sequential(
                    nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)
                )

        def forward(self, x):
            identity = x if self.downsample is None else self.downsample(x)
            out = self.relu(self.bn1(self.conv1(x)))
            out = self.bn2(self.conv2(out))
            if self.deep:
                out = self.bn3(self.conv3(self.relu(out)))
            out += identity
            return self.relu(out)

    class ResNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.before = _scaled(64, width)
            self.conv1 = nn.Conv2d(3, self.before, 7, 2, 3, bias=False)
            self.bn1 = nn.BatchNorm2d(self.before)
            self.relu = nn.ReLU(inplace=True)
            self.maxpool = nn.MaxPool2d(3, 2, 1)
            for i, count in enumerate(counts):
                setattr(self, f"layer{i + 1}", self._layer(_scaled(64 << i, width), count, 2 if i else 1))
            self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
            self.fc = nn.Linear(self.before, classes)

        def _layer(self, channels, count, stride):
            blocks = []
            for i in range(count):
                blocks.append(Block(self.before, channels, 1 if i else stride))
                self.before = channels * wide
            return nn.Sequential(*blocks)

        def forward(self, x):
            x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
            for layer in (self.layer1, self.layer2, self.layer3, self.layer4):
                x = layer(x)
            return self.fc(t.flatten(self.avgpool(x), 1))

    return ResNet()


def _conv_norm(nn, before, after, kernel=3, stride=1, groups=1, act=None, eps=1e-5, momentum=0.1):
    parts = [
        nn.Conv2d(before, after, kernel, stride, (kernel - 1) // 2, groups=groups, bias=False),
        nn.BatchNorm2d(after, eps=eps, momentum=momentum),
    ]
    return nn.Sequential(*parts, *([act(inplace=True)] if act else []))


def mobilenet_v2(t, width=1.0, classes=1000):
    nn = t.nn

    class InvertedResidual(nn.Module):
        def __init__(self, before, after, stride, expand):
            super().__init__()
            self.same = stride == 1 and before == after
            hidden = before * expand
            first = [_conv_norm(nn, before, hidden, 1, act=nn.ReLU6)] if expand != 1 else []
            self.conv = nn.Sequential(
                *first,
                _conv_norm(nn, hidden, hidden, 3, stride, hidden, nn.ReLU6),
                nn.Conv2d(hidden, after, 1, bias=False),
                nn.BatchNorm2d(after),
            )

        def forward(self, x):
            return x + self.conv(x) if self.same else self.conv(x)

    class MobileNetV2(nn.Module):
        def __init__(self):
            super().__init__()
            before = _scaled(32, width)
            features = [_conv_norm(nn, 3, before, 3, 2, act=nn.ReLU6)]
            for expand, channels, count, stride in (
                *((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2)),
                *((6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)),
            ):
                for i in range(count):
                    after = _scaled(channels, width)
                    features.append(InvertedResidual(before, after, 1 if i else stride, expand))
                    before = after
            last = _scaled(1280, width)
            features.append(_conv_norm(nn, before, last, 1, act=nn.ReLU6))
            self.features = nn.Sequential(*features)
            self.classifier = nn.Sequential(nn.Dropout(p=0.2), nn.Linear(last, classes))

        def forward(self, x):
            x = self.features(x)
            x = t.nn.functional.adaptive_avg_pool2d(x, (1, 1))
            return self.classifier(t.flatten(x, 1))

    return MobileNetV2()


_V3_SMALL = (  # kernel, hidden, out, squeeze and excitation, hard swish, stride
    *((3, 16, 16, True, False, 2), (3, 72, 24, False, False, 2), (3, 88, 24, False, False, 1)),
    *((5, 96, 40, True, True, 2), (5, 240, 40, True, True, 1), (5, 240, 40, True, True, 1)),
    *((5, 120, 48, True, True, 1), (5, 144, 48, True, True, 1), (5, 288, 96, True, True, 2)),
    *((5, 576, 96, True, True, 1), (5, 576, 96, True, True, 1)),
)


def mobilenet_v3_small(t, width=1.0, classes=1000):
    nn = t.nn
    norm = {"eps": 0.001, "momentum": 0.01}

    def eighths(channels):
        whole = max(8, int(channels + 4) // 8 * 8)
        return whole + 8 if whole < 0.9 * channels else whole

    class SqueezeExcitation(nn.Module):
        def __init__(self, channels, squeezed):
            super().__init__()
            self.avgpool = nn.AdaptiveAvgPool2d(1)
            self.fc1 = nn.Conv2d(channels, squeezed, 1)
            self.fc2 = nn.Conv2d(squeezed, channels, 1)
            self.activation = nn.ReLU()
            self.scale_activation = nn.Hardsigmoid()

        def forward(self, x):
            scale = self.fc2(self.activation(self.fc1(self.avgpool(x))))
            return self.scale_activation(scale) * x

    class InvertedResidual(nn.Module):
        def __init__(self, before, kernel, hidden, after, excite, swish, stride):
            super().__init__()
            act = nn.Hardswish if swish else nn.ReLU
            self.same = stride == 1 and before == after
            layers = [] if hidden == before else [_conv_norm(nn, before, hidden, 1, act=act, **norm)]
            layers.append(_conv_norm(nn, hidden, hidden, kernel, stride, hidden, act, **norm))
            if excite:
                layers.append(SqueezeExcitation(hidden, eighths(hidden // 4)))
            layers.append(_conv_norm(nn, hidden, after, 1, **norm))
            self.block = nn.Sequential(*layers)

        def forward(self, x):
            return self.block(x) + x if self.same else self.block(x)

    class MobileNetV3(nn.Module):
        def __init__(self):
            super().__init__()
            before = eighths(16 * width)
            features = [_conv_norm(nn, 3, before, 3, 2, act=nn.Hardswish, **norm)]
            for kernel, hidden, after, excite, swish, stride in _V3_SMALL:
                hidden, after = eighths(hidden * width), eighths(after * width)
                features.append(InvertedResidual(before, kernel, hidden, after, excite, swish, stride))
                before = after
            features.append(_conv_norm(nn, before, 6 * before, 1, act=nn.Hardswish, **norm))
            last = eighths(1024 * width)
            self.features = nn.Sequential(*features)
            self.avgpool = nn.AdaptiveAvgPool2d(1)
            self.classifier = nn.Sequential(
                nn.Linear(6 * before, last),
                nn.Hardswish(inplace=True),
                nn.Dropout(0.2),
                nn.Linear(last, classes),
            )

        def forward(self, x):
            return self.classifier(t.flatten(self.avgpool(self.features(x)), 1))

    return MobileNetV3()


def unet(t, width=1.0, classes=2):
    nn = t.nn

    class DoubleConv(nn.Module):
        def __init__(self, before, after):
            super().__init__()
            self.double_conv = nn.Sequential(
                nn.Conv2d(before, after, 3, padding=1, bias=False),
                nn.BatchNorm2d(after),
                nn.ReLU(inplace=True),
                nn.Conv2d(after, after, 3, padding=1, bias=False),
                nn.BatchNorm2d(after),
                nn.ReLU(inplace=True),
            )

        def forward(self, x):
            return self.double_conv(x)

    class Down(nn.Module):
        def __init__(self, before, after):
            super().__init__()
            self.maxpool_conv = nn.Sequential(nn.MaxPool2d(2), DoubleConv(before, after))

        def forward(self, x):
            return self.maxpool_conv(x)

    class Up(nn.Module):
        def __init__(self, before, after):
            super().__init__()
            self.up = nn.ConvTranspose2d(before, before // 2, kernel_size=2, stride=2)
            self.conv = DoubleConv(before, after)

        def forward(self, x, skipped):
            x = self.up(x)
            high, wide = skipped.size(2) - x.size(2), skipped.size(3) - x.size(3)
            edges = [wide // 2, wide - wide // 2, high // 2, high - high // 2]
            return self.conv(t.cat([skipped, t.nn.functional.pad(x, edges)], dim=1))

    class OutConv(nn.Module):
        def __init__(self, before, after):
            super().__init__()
            self.conv = nn.Conv2d(before, after, kernel_size=1)

        def forward(self, x):
            return self.conv(x)

    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            sizes = [_scaled(64 << i, width) for i in range(5)]
            self.inc = DoubleConv(3, sizes[0])
            for i in range(4):
                setattr(self, f"down{i + 1}", Down(sizes[i], sizes[i + 1]))
                setattr(self, f"up{i + 1}", Up(sizes[4 - i], sizes[3 - i]))
            self.outc = OutConv(sizes[0], classes)

        def forward(self, x):
            levels = [self.inc(x)]
            for down in (self.down1, self.down2, self.down3, self.down4):
                levels.append(down(levels[-1]))
            x = levels.pop()
            for up in (self.up1, self.up2, self.up3, self.up4):
                x = up(x, levels.pop())
            return self.outc(x)

    return UNet()
