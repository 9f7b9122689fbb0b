"""Samples: images of another size."""

from samples.pytorch import dense_aten
from samples.sample import S, x

_IMAGE = (2, 3, 7, 6)
SAMPLES = {
    "upsample_nearest2d": [S(x(*_IMAGE), (14, 12)), S(x(*_IMAGE), (5, 4)), S(x(*_IMAGE), (10, 9), 1.5, 1.5)],
    "upsample_bilinear2d": [
        S(x(*_IMAGE), (14, 12), False),
        S(x(*_IMAGE), (5, 9), True),
        S(x(*_IMAGE), (10, 9), False, 1.5, 1.5),
        S(x(*_IMAGE), (1, 1), True),
    ],
}
BACKWARD = {
    "upsample_nearest2d_backward": [
        S(x(2, 3, 14, 12), (14, 12), _IMAGE),
        S(x(2, 3, 5, 4), (5, 4), _IMAGE),
        S(x(2, 3, 10, 9), (10, 9), _IMAGE, 1.5, 1.5),
    ],
    "upsample_bilinear2d_backward": [
        S(x(2, 3, 14, 12), (14, 12), _IMAGE, False),
        S(x(2, 3, 5, 9), (5, 9), _IMAGE, True),
        S(x(2, 3, 10, 9), (10, 9), _IMAGE, False, 1.5, 1.5),
    ],
}
WIDER = {("upsample_nearest2d", dtype) for dtype in ("bool", "int8", "int16", "int32", "int64")}
NARROWER = {("upsample_bilinear2d", "uint8")}
PYTORCH = {op: dense_aten(op) for op in BACKWARD}
