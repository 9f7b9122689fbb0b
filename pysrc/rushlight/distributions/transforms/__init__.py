"""Maps between spaces of values that know how they stretch them: ``log_abs_det_jacobian``."""

from rushlight import _missing
from rushlight._homes import adopt

from ._base import ComposeTransform, IndependentTransform, Transform, _InverseTransform, identity_transform
from ._elementwise import (
    AbsTransform,
    AffineTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    SoftplusTransform,
    TanhTransform,
    _clipped_sigmoid,
)
from ._matrices import CorrCholeskyTransform, LowerCholeskyTransform, PositiveDefiniteTransform
from ._shapes import (
    CatTransform,
    ReshapeTransform,
    SoftmaxTransform,
    StackTransform,
    StickBreakingTransform,
)

_TRANSFORMS = (Transform, ComposeTransform, IndependentTransform, AbsTransform, AffineTransform)
_TRANSFORMS += (CumulativeDistributionTransform, ExpTransform, PowerTransform, SigmoidTransform)
_TRANSFORMS += (SoftplusTransform, TanhTransform, CorrCholeskyTransform, LowerCholeskyTransform)
_TRANSFORMS += (PositiveDefiniteTransform, CatTransform, ReshapeTransform, SoftmaxTransform)
_TRANSFORMS += (StackTransform, StickBreakingTransform)
__all__ = sorted(each.__name__ for each in _TRANSFORMS) + ["identity_transform"]
adopt(__name__, _InverseTransform, _clipped_sigmoid, *_TRANSFORMS)
__getattr__ = _missing.lacks(__name__)
