"""What batch and instance normalization share: running statistics."""

from __future__ import annotations

import rushlight
from rushlight.nn import functional as F
from rushlight.nn import init
from rushlight.nn.parameter import Parameter

from ._sizes import wrong_size
from .module import Module
from .utils import _own_init

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor, dtype
    from rushlight.types import Device


class _NormBase(Module):
    _version = 2
    __constants__ = ["track_running_stats", "momentum", "eps", "num_features", "affine"]
    num_features: int
    eps: float
    momentum: float | None
    affine: bool
    track_running_stats: bool

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Device = None,
        dtype: dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        options = {"device": device, "dtype": dtype}
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        try:
            for name, wanted in (("weight", affine), ("bias", affine and bias)):
                value = Parameter(rushlight.empty(num_features, **options)) if wanted else None
                self.register_parameter(name, value)
        except TypeError as error:
            raise wrong_size(error, num_features=num_features) from None
        if track_running_stats:
            self.register_buffer("running_mean", rushlight.zeros(num_features, **options))
            self.register_buffer("running_var", rushlight.ones(num_features, **options))
            count = rushlight.tensor(0, dtype=rushlight.int64, device=device)
            self.register_buffer("num_batches_tracked", count)
        else:
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                self.register_buffer(name, None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget the statistics: set the mean to 0 and the variance to 1."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Forget the statistics, set the weight to 1 and the bias to 0."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input) -> None:
        raise NotImplementedError

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ) -> None:
        version = local_metadata.get("version", None)
        key = prefix + "num_batches_tracked"
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            count = self.num_batches_tracked
            state_dict[key] = rushlight.tensor(0, dtype=rushlight.int64) if count is None else count
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


@_own_init
class _BatchNorm(_NormBase):
    def _average_factor(self) -> float:
        """Count the batch; return the weight of its statistics."""
        count = self.num_batches_tracked
        if self.training and self.track_running_stats and count is not None:
            count.add_(1)
            if self.momentum is None:  # all batches weigh the same
                return 1.0 / float(count)
        return 0.0 if self.momentum is None else self.momentum

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        factor = self._average_factor()
        mean, var = self.running_mean, self.running_var
        from_batch = self.training or (mean is None and var is None)
        if self.training and not self.track_running_stats:
            mean = var = None
        return F.batch_norm(input, mean, var, self.weight, self.bias, from_batch, factor, self.eps)
