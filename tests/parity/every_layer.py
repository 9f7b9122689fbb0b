"""Every class of torch.nn: how it is made, and what it is given. Rows are texts, read by test_every_layer.py.

ROWS[class] = (options, inputs)   made with each of the options, it is given each of the inputs
x(2, 3)                           numbers of the dtype under test; p: in (0, 1); s: 1 and -1
i(n, 2, 3)                        whole numbers below n
"""

_SIGNALS = ["x(2,4,9)", "x(4,9)", "x(0,4,9)"]
_IMAGES = ["x(2,4,8,7)", "x(4,8,7)", "x(0,4,8,7)"]
_VOLUMES = ["x(1,4,5,6,4)", "x(4,5,6,4)", "x(0,4,5,6,4)"]
_PLANES = {1: _SIGNALS, 2: _IMAGES, 3: _VOLUMES}
_ANY = ["x(2,4,6)", "x(0,3)", "x()"]
_ROWS = ["x(3,6)", "x(6)", "x(0,6)"]
_REDUCE = ["", "reduction='sum'", "reduction='none'"]
_PAIR = ["x(3,4), x(3,4)*.5", "x(4), x(4)+1", "x(0,4), x(0,4)"]
_SEQUENCE = ["x(5,2,3)", "x(5,3)", "x(5,2,3), x(L,2,4)", "x(5,0,3)"]
_WARN = ["", "0.3", "0.5, True"]


def _each(options, dims=(1, 2, 3), **rows):
    """The rows of classes that there are for some numbers of dimensions."""
    return {f"{name}{n}d": (own or options, [_PLANES[n]][0]) for name, own in rows.items() for n in dims}


_CONV = [
    "4, 6, 3",
    "4, 6, 2, stride=2, padding=1, bias=False",
    "4, 8, 3, padding=2, dilation=2, groups=2",
    "4, 4, 3, padding='same', padding_mode='circular'",
    "4, 4, 3, padding=1, padding_mode='reflect'",
    "4, 4, 3, padding=1, padding_mode='replicate', groups=4",
    "4, 4, 1, padding='valid'",
]
_TURNED = [
    "4, 6, 3",
    "4, 6, 3, stride=2, padding=1, output_padding=1, bias=False",
    "4, 8, 2, groups=2, dilation=2",
]
_POOL = ["2", "3, stride=2, padding=1", "2, ceil_mode=True", "3, 1"]
_NORM = [
    "4",
    "4, eps=1e-3, momentum=None",
    "4, affine=False",
    "4, track_running_stats=False",
    "4, bias=False",
]
_INSTANCE = ["4", "4, affine=True", "4, track_running_stats=True, momentum=.3", "4, affine=True, eps=1e-2"]
ROWS = {
    # ---- planes ----
    **_each(_CONV, Conv=None),
    **_each(_TURNED, ConvTranspose=None),
    **_each([o.removeprefix("4, ") for o in _CONV[:3]], LazyConv=None),
    **_each([o.removeprefix("4, ") for o in _TURNED[:2]], LazyConvTranspose=None),
    **_each([*_POOL, "2, dilation=2", "2, return_indices=True"], MaxPool=None),
    **_each([*_POOL, "3, padding=1, count_include_pad=False"], AvgPool=None),
    **_each(["2, 2", "1.5, 3, stride=1", "2, 2, ceil_mode=True"], LPPool=None),
    **_each(["1", "3"], AdaptiveAvgPool=None),
    **_each(["1", "3", "2, return_indices=True"], AdaptiveMaxPool=None),
    **_each(_NORM, BatchNorm=None),
    **_each([o.removeprefix("4, ").removeprefix("4") for o in _NORM], LazyBatchNorm=None),
    **_each(_INSTANCE, InstanceNorm=None),
    **_each([o.removeprefix("4, ").removeprefix("4") for o in _INSTANCE], LazyInstanceNorm=None),
    **_each(["2", "1"], ReflectionPad=None, ReplicationPad=None, CircularPad=None, ZeroPad=None),
    **_each(["2, 1.5", "1, -3"], ConstantPad=None),
    **_each(["", ".3", ".5, inplace=True"], Dropout=None),
    **{
        f"MaxUnpool{n}d": (
            ["2", "2, stride=2"],
            [f"*nn.MaxPool{n}d(2, return_indices=True)(x({lead}4,{sides}))" for lead in ("2,", "")],
        )
        for n, sides in ((1, "8"), (2, "8,6"), (3, "4,6,4"))
    },
    "FractionalMaxPool2d": (["2, output_size=3", "2, output_ratio=.5, return_indices=True"], _IMAGES[:2]),
    "FractionalMaxPool3d": (["2, output_size=2", "2, output_ratio=.5, return_indices=True"], _VOLUMES[:2]),
    "CrossMapLRN2d": (["3", "2, .1, .5, 2."], _IMAGES[:1]),
    "Fold": (["(4, 5), 2", "(4, 5), (2, 3), padding=1, stride=2"], ["x(2,8,12)", "x(8,12)", "x(2,12,6)"]),
    "SyncBatchNorm": (_NORM, ["x(2,4,3)", "x(3,4)", "x(2,4,3,2)", "x(4)"]),
    "Softmax2d": ([""], _IMAGES),
    "LocalResponseNorm": (["2", "3, alpha=.1, beta=.5, k=2."], ["x(2,4,6)", "x(2,4,3,3)", "x(4,6)"]),
    "GroupNorm": (
        ["2, 4", "4, 4, eps=1e-2", "1, 4, affine=False", "2, 4, bias=False"],
        _SIGNALS[:1] + ["x(2,4)"],
    ),
    "ChannelShuffle": (["2"], _IMAGES),
    "PixelShuffle": (["2"], _IMAGES + ["x(1,8,2,3)"]),
    "PixelUnshuffle": (["2"], ["x(1,2,4,6)", "x(2,4,6)", "x(1,2,3,6)"]),
    "Unfold": (["2", "(2, 3), dilation=2, padding=1, stride=2"], _IMAGES),
    "Upsample": (
        [
            "scale_factor=2",
            "(5, 9)",
            "scale_factor=1.5, mode='bilinear'",
            "size=5, mode='bilinear', align_corners=True",
        ],
        _IMAGES[:1],
    ),
    "UpsamplingNearest2d": (["scale_factor=2", "(5, 9)"], _IMAGES[:1]),
    "UpsamplingBilinear2d": (["scale_factor=2", "(5, 9)"], _IMAGES[:1]),
    # ---- vectors ----
    "Linear": (["6, 4", "6, 4, bias=False", "6, 0"], _ROWS + ["x(2,3,6)"]),
    "LazyLinear": (["4", "4, bias=False"], _ROWS),
    "Bilinear": (
        ["3, 4, 5", "3, 4, 2, bias=False"],
        ["x(2,3), x(2,4)", "x(3), x(4)", "x(0,3), x(0,4)", "x(2,3), x(3,4)"],
    ),
    "Identity": (["", "3, a=4"], _ANY),
    "Flatten": (["", "0", "1, 2"], ["x(2,3,4)", "x(0,3,2)"]),
    "Unflatten": (["1, (2, 2)", "-1, (2, -1)"], ["x(3,4)", "x(3,4,6)", "x(0,4)"]),
    "LayerNorm": (
        ["6", "(3, 6)", "6, eps=1e-2, elementwise_affine=False", "6, bias=False"],
        ["x(2,3,6)", "x(3,6)", "x(0,3,6)"],
    ),
    "RMSNorm": (["6", "(3, 6), eps=1e-2", "6, elementwise_affine=False"], ["x(2,3,6)", "x(3,6)", "x(0,3,6)"]),
    "Embedding": (
        [
            "5, 3",
            "5, 3, padding_idx=1",
            "5, 3, padding_idx=-1, max_norm=.5",
            "5, 3, max_norm=1., norm_type=1., scale_grad_by_freq=True",
        ],
        ["i(5,2,3)", "i(5)", "i(5,0)", "i(7,2)", "x(2)"],
    ),
    "EmbeddingBag": (
        [
            "5, 3",
            "5, 3, mode='sum', padding_idx=1",
            "5, 3, mode='max'",
            "5, 3, max_norm=.5, mode='sum', scale_grad_by_freq=True",
        ],
        ["i(5,2,3)", "i(5,4), i(1,1)", "i(5,0,2)", "i(7,2,2)", "i(5,4)", "x(2,2)"],
    ),
    "Softmax": (["", "1", "-1"], _ROWS),
    "LogSoftmax": (["", "1", "-1"], _ROWS),
    "Softmin": (["", "1", "-1"], _ROWS),
    "CosineSimilarity": (["", "0, 1e-3"], _PAIR),
    "PairwiseDistance": (["", "1., 1e-3, True"], _PAIR),
    # ---- element by element ----
    **{name: ([""], _ANY) for name in "LogSigmoid Sigmoid Softsign Tanh Tanhshrink".split()},
    **{
        name: (["", "inplace=True"], _ANY)
        for name in "ReLU ReLU6 SELU SiLU Mish Hardsigmoid Hardswish".split()
    },
    "GELU": (["", "approximate='tanh'"], _ANY),
    "CELU": (["", "2., True"], _ANY),
    "ELU": (["", ".5, True"], _ANY),
    "LeakyReLU": (["", ".3, True"], _ANY),
    "Hardshrink": (["", "1."], _ANY),
    "Softshrink": (["", "1."], _ANY),
    "Softplus": (["", "2., 1."], _ANY),
    "Hardtanh": (["", "-2., .5, inplace=True"], _ANY),
    "Threshold": ([".1, 2.", ".1, 2., True"], _ANY),
    "PReLU": (["", "4, .1"], ["x(2,4,6)", "x(4)", "x(0,4)", "x(2,3)"]),
    "RReLU": (["", ".1, .4, True"], _ANY),
    "GLU": (["", "0"], ["x(4,6)", "x(2,3)", "x(0,6)"]),
    **{name: (_WARN, ["x(2,4,6)", "x(0,3)"]) for name in "Dropout AlphaDropout FeatureAlphaDropout".split()},
    # ---- losses ----
    **{name: (_REDUCE, _PAIR) for name in "L1Loss MSELoss SmoothL1Loss HuberLoss".split()},
    "BCELoss": (_REDUCE, ["p(3,4), p(3,4)", "p(4), p(4)", "p(2), p(3)"]),
    "BCEWithLogitsLoss": ([*_REDUCE, "pos_weight=p(4)"], ["x(3,4), p(3,4)", "x(4), p(4)", "x(2), p(3)"]),
    "KLDivLoss": ([*_REDUCE, "log_target=True", "reduction='batchmean'"], ["x(3,4), p(3,4)", "x(4), p(4)"]),
    "PoissonNLLLoss": ([*_REDUCE, "log_input=False, full=True"], ["p(3,4), p(3,4)*4", "p(4), p(4)"]),
    "GaussianNLLLoss": (
        [*_REDUCE[:0], "", "full=True, reduction='none'"],
        ["x(3,4), x(3,4)*.5, p(3,4)", "x(3,4), x(3,4), p(3)"],
    ),
    "SoftMarginLoss": (_REDUCE, ["x(3,4), s(3,4)", "x(4), s(4)"]),
    "HingeEmbeddingLoss": ([*_REDUCE, "margin=.5"], ["x(3,4), s(3,4)", "x(4), s(4)"]),
    "MarginRankingLoss": ([*_REDUCE, "margin=.5"], ["x(4), x(4)*.5, s(4)", "x(3,4), x(3,4), s(4)"]),
    "CosineEmbeddingLoss": ([*_REDUCE, "margin=.5"], ["x(3,4), x(3,4)+1, s(3)", "x(4), x(4), s()"]),
    "TripletMarginLoss": (
        [*_REDUCE, "margin=.5, p=1., swap=True"],
        ["x(3,4), x(3,4)+1, x(3,4)*.5", "x(4), x(4)+1, x(4)*2"],
    ),
    "TripletMarginWithDistanceLoss": (["", "margin=.5, swap=True"], ["x(3,4), x(3,4)+1, x(3,4)*.5"]),
    "CrossEntropyLoss": (
        [*_REDUCE, "weight=p(4), ignore_index=1", "label_smoothing=.1"],
        ["x(3,4), i(4,3)", "x(4), i(4)", "x(2,4,3), i(4,2,3)", "x(3,4), p(3,4)", "x(3,4), i(4,2)"],
    ),
    "NLLLoss": (
        [*_REDUCE, "weight=p(4), ignore_index=1"],
        ["x(3,4), i(4,3)", "x(4), i(4)", "x(2,4,3,2), i(4,2,3,2)"],
    ),
    "NLLLoss2d": ([""], ["x(2,4,3,2), i(4,2,3,2)"]),
    "MultiMarginLoss": ([*_REDUCE, "p=2, margin=.5, weight=p(4)"], ["x(3,4), i(4,3)", "x(4), i(4)"]),
    "MultiLabelMarginLoss": (_REDUCE, ["x(3,4), i(4,3,4)", "x(4), i(4,4)"]),
    "MultiLabelSoftMarginLoss": ([*_REDUCE, "weight=p(4)"], ["x(3,4), p(3,4)", "x(4), p(4)"]),
    "CTCLoss": (
        ["blank=3", "blank=3, reduction='sum'", "blank=2, reduction='none', zero_infinity=True"],
        ["x(6,2,4).log_softmax(-1), i(2,2,2), torch.tensor([6,5]), torch.tensor([2,1])"],
    ),
    "AdaptiveLogSoftmaxWithLoss": (
        ["6, 9, [3, 6]", "6, 9, [4], div_value=2., head_bias=True"],
        ["x(3,6), i(9,3)", "x(6), i(9)"],
    ),
    # ---- sequences ----
    **{
        name: (
            ["3, 4", "3, 4, 2, bidirectional=True", "3, 4, bias=False, batch_first=True"],
            ["x(5,2,3)", "x(5,3)", "x(2,5,4)"],
        )
        for name in "RNN GRU LSTM".split()
    },
    **{
        name: (["3, 4", "3, 4, bias=False"], ["x(2,3)", "x(3)", "x(0,3)", "x(2,4)"])
        for name in "RNNCell GRUCell LSTMCell".split()
    },
    "MultiheadAttention": (
        ["4, 2", "4, 1, bias=False, batch_first=True", "4, 2, add_bias_kv=True, add_zero_attn=True"],
        ["x(3,3,4), x(3,3,4)*.5, x(3,3,4)+1", "x(5,4), x(3,4), x(3,4)", "x(5,2,3), x(5,2,4), x(5,2,4)"],
    ),
    "TransformerEncoderLayer": (
        ["4, 2, 8, 0.", "4, 2, 8, 0., batch_first=True, norm_first=True, activation='gelu'"],
        ["x(5,2,4)", "x(5,4)"],
    ),
    "TransformerDecoderLayer": (
        ["4, 2, 8, 0.", "4, 2, 8, 0., batch_first=True, norm_first=True"],
        ["x(3,3,4), x(3,3,4)*.5", "x(5,4), x(3,4)"],
    ),
    "TransformerEncoder": (["nn.TransformerEncoderLayer(4, 2, 8, 0., batch_first=True), 2"], ["x(5,2,4)"]),
    "TransformerDecoder": (
        ["nn.TransformerDecoderLayer(4, 2, 8, 0.), 2, nn.LayerNorm(4)"],
        ["x(5,2,4), x(3,2,4)"],
    ),
    "Transformer": (["4, 2, 1, 1, 8, 0."], ["x(5,2,4), x(3,2,4)"]),
    # ---- of layers ----
    "Sequential": (["", "nn.Linear(6, 3), nn.ReLU()"], _ROWS),
    "DataParallel": (["nn.Linear(6, 3)"], _ROWS),
}
# They have no forward, or are made as others: test_containers.py, test_module.py, test_class_losses.py
ELSEWHERE = {"Container", "Module", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList"}
ELSEWHERE |= {"RNNBase", "RNNCellBase", "LinearCrossEntropyLoss"}
