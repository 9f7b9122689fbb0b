"""Instance normalisation: of each channel of each example."""

from __future__ import annotations

import warnings

from rushlight.nn import functional as F

from .batchnorm import _NormBase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor, dtype
    from rushlight.types import Device

__all__ = ["InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"]


class _InstanceNorm(_NormBase):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Device = None,
        dtype: dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _get_no_batch_dim(self):
        raise NotImplementedError

    def _check_input_dim(self, input) -> None:
        least = self._get_no_batch_dim()
        if input.dim() not in (least, least + 1):
            raise ValueError(f"expected {least}D or {least + 1}D input (got {input.dim()}D input)")

    def _handle_no_batch_input(self, input):
        return self._apply_instance_norm(input.unsqueeze(0)).squeeze(0)

    def _apply_instance_norm(self, input):
        return F.instance_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ) -> None:
        if local_metadata.get("version", None) is None and not self.track_running_stats:
            stale = [k for k in (prefix + "running_mean", prefix + "running_var") if k in state_dict]
            if stale:
                keys = " and ".join(f'"{k}"' for k in stale)
                name = self.__class__.__name__
                error_msgs.append(
                    f"Unexpected running stats buffer(s) {keys} for {name} "
                    "with track_running_stats=False. If state_dict is a checkpoint saved before 0.4.0, this "
                    f"may be expected because {name} does not track running stats by default since 0.4.0. "
                    "Please remove these keys from state_dict. If the running stats are actually needed, "
                    f"instead set track_running_stats=True in {name} to enable them. See the documentation "
                    f"of {name} for details."
                )
                for key in stale:
                    state_dict.pop(key)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        least = self._get_no_batch_dim()
        dim = input.dim() - least
        if input.size(dim) != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={dim} to match num_features ({self.num_features}), "
                    f"but got: {input.size(dim)}."
                )
            warnings.warn(
                f"input's size at dim={dim} does not match num_features. You can silence this warning by not "
                "passing in num_features, which is not used because affine=False",
                stacklevel=2,
            )
        if input.dim() == least:
            return self._handle_no_batch_input(input)
        return self._apply_instance_norm(input)


class InstanceNorm1d(_InstanceNorm):
    """Apply 1-D instance normalization over signals with several channels.

    Each channel of each signal gets mean 0 and variance 1:
    ``y = (x - mean) / sqrt(var + eps) * weight + bias``, with mean and variance over one signal;
    `InstanceNorm2d` says more of each parameter.

    Parameters
    ----------
    num_features : int
        Number of channels, C.
    eps : float, default 1e-5
        Added to the variance.
    momentum : float or None, default 0.1
        Weight of a new batch in the running averages.
    affine : bool, default False
        Learn a weight and a bias for each channel.
    track_running_stats : bool, default False
        Keep running averages and use them in evaluation.
    device : device, optional
        Where the parameters are made; the default device if not given.
    dtype : dtype, optional
        dtype of the parameters; the default dtype if not given.
    bias : bool, default True
        Learn a bias where `affine` is given; only by keyword.

    Attributes
    ----------
    weight, bias : Parameter or None
        (C), 1 and 0 at the start.
    running_mean, running_var : Tensor or None
        (C), buffers, 0 and 1 at the start.

    Shape
    -----
    Input : (N, C, L) or (C, L)
    Output : shape of the input

    Raises
    ------
    ValueError
        When called, if the input has other dimensions, or with `affine` another number of channels.

    Notes
    -----
    Same as torch.nn.InstanceNorm1d:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.InstanceNorm1d.html

    References
    ----------
    D. Ulyanov, A. Vedaldi, V. Lempitsky, "Instance Normalization: The Missing Ingredient for Fast
    Stylization", 2016, https://arxiv.org/abs/1607.08022

    Examples
    --------
    >>> nn.InstanceNorm1d(1)(torch.tensor([[[0.0, 2.0, 4.0, 6.0]]]))
    tensor([[[-1.3416, -0.4472,  0.4472,  1.3416]]])
    """

    def _get_no_batch_dim(self) -> int:
        return 2


class InstanceNorm2d(_InstanceNorm):
    """Apply 2-D instance normalization over images with several channels.

    Each channel of each image gets mean 0 and variance 1:
    ``y = (x - mean) / sqrt(var + eps) * weight + bias``, with mean and (biased) variance over one image.
    Unlike `BatchNorm2d` it learns and tracks nothing unless told to, and training and evaluation are the
    same.

    Parameters
    ----------
    num_features : int
        Number of channels, C.
    eps : float, default 1e-5
        Added to the variance, so that nothing is divided by 0.
    momentum : float or None, default 0.1
        Weight of a new batch in the running averages.
    affine : bool, default False
        Learn a weight and a bias for each channel.
    track_running_stats : bool, default False
        Keep running averages of mean and variance and use them in evaluation.
    device : device, optional
        Where the parameters are made; the default device if not given.
    dtype : dtype, optional
        dtype of the parameters; the default dtype if not given.
    bias : bool, default True
        Learn a bias where `affine` is given; only by keyword.

    Attributes
    ----------
    weight, bias : Parameter or None
        (C), 1 and 0 at the start.
    running_mean, running_var : Tensor or None
        (C), buffers, 0 and 1 at the start.

    Shape
    -----
    Input : (N, C, H, W) or (C, H, W)
    Output : shape of the input

    Raises
    ------
    ValueError
        When called, if the input has other dimensions, one element for each channel, or with
        `affine` another number of channels; without `affine` that is a UserWarning.

    Notes
    -----
    Same as torch.nn.InstanceNorm2d:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.InstanceNorm2d.html

    References
    ----------
    D. Ulyanov, A. Vedaldi, V. Lempitsky, "Instance Normalization: The Missing Ingredient for Fast
    Stylization", 2016, https://arxiv.org/abs/1607.08022

    Examples
    --------
    >>> y = nn.InstanceNorm2d(3)(5 + torch.randn(2, 3, 8, 8))
    >>> torch.allclose(y.mean((2, 3)), torch.zeros(2, 3), atol=1e-5)
    True
    """

    def _get_no_batch_dim(self) -> int:
        return 3


class InstanceNorm3d(_InstanceNorm):
    """Apply 3-D instance normalization over volumes with several channels.

    Each channel of each volume gets mean 0 and variance 1:
    ``y = (x - mean) / sqrt(var + eps) * weight + bias``, with mean and variance over one volume;
    `InstanceNorm2d` says more of each parameter.

    Parameters
    ----------
    num_features : int
        Number of channels, C.
    eps : float, default 1e-5
        Added to the variance.
    momentum : float or None, default 0.1
        Weight of a new batch in the running averages.
    affine : bool, default False
        Learn a weight and a bias for each channel.
    track_running_stats : bool, default False
        Keep running averages and use them in evaluation.
    device : device, optional
        Where the parameters are made; the default device if not given.
    dtype : dtype, optional
        dtype of the parameters; the default dtype if not given.
    bias : bool, default True
        Learn a bias where `affine` is given; only by keyword.

    Attributes
    ----------
    weight, bias : Parameter or None
        (C), 1 and 0 at the start.
    running_mean, running_var : Tensor or None
        (C), buffers, 0 and 1 at the start.

    Shape
    -----
    Input : (N, C, D, H, W) or (C, D, H, W)
    Output : shape of the input

    Raises
    ------
    ValueError
        When called, if the input has other dimensions, or with `affine` another number of channels.

    Notes
    -----
    Same as torch.nn.InstanceNorm3d:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.InstanceNorm3d.html

    References
    ----------
    D. Ulyanov, A. Vedaldi, V. Lempitsky, "Instance Normalization: The Missing Ingredient for Fast
    Stylization", 2016, https://arxiv.org/abs/1607.08022

    Examples
    --------
    >>> y = nn.InstanceNorm3d(3, affine=True)(torch.randn(2, 3, 4, 5, 6))
    >>> torch.allclose(y.mean((2, 3, 4)), torch.zeros(2, 3), atol=1e-5)
    True
    """

    def _get_no_batch_dim(self) -> int:
        return 4
