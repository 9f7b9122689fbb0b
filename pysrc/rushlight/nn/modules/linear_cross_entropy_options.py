"""How functional.linear_cross_entropy() cuts its batch into chunks."""

import dataclasses

import rushlight

__all__ = ["LinearCrossEntropyOptions"]

_POLICIES = ("auto", "accurate", "balanced", "compact")
_DTYPES = (rushlight.float16, rushlight.bfloat16, rushlight.float32, rushlight.float64)
_HALVES = (rushlight.float16, rushlight.bfloat16)


def _factor(method):
    """N of "aspect_ratio:N", 1 of "aspect_ratio"; 0 of anything else."""
    name, colon, factor = method.partition(":")
    factor = factor if colon else "1"
    return int(factor) if name == "aspect_ratio" and factor.isdigit() else 0


@dataclasses.dataclass(slots=True, frozen=True)
class LinearCrossEntropyOptions:
    """Options of a linear cross entropy that never holds more than a chunk of the logits.

    Parameters
    ----------
    allow_retain_graph : bool, default False
        Keep the gradients, which the forward pass computes, for a second backward pass.
    batch_chunk_size : int, optional
        Rows of a chunk.
    chunking_method : str or None, default 'auto'
        Which rows make a chunk where no number is given: 'aspect_ratio', chunks of logits about as large as
        the input, 'aspect_ratio:N', N times smaller, or 'auto', one of these.
    acc_policy : {'auto', 'accurate', 'balanced', 'compact'}, default 'auto'
        'auto' computes float16 and bfloat16 in float32 (on the CPU), the others in the dtype itself.
    acc_dtype : dtype, optional
        What to compute in, whatever the policy.

    Raises
    ------
    ValueError
        For a word, number or dtype that is not among these.

    Notes
    -----
    Same as torch.nn.LinearCrossEntropyOptions:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.LinearCrossEntropyOptions.html

    Examples
    --------
    >>> options = nn.LinearCrossEntropyOptions(batch_chunk_size=4, chunking_method=None)
    >>> loss = nn.LinearCrossEntropyLoss(16, 1000, options=options)
    >>> loss(torch.randn(8, 16), torch.arange(8)).shape
    torch.Size([])
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: rushlight.dtype | None = None

    def __post_init__(self):
        size, method = self.batch_chunk_size, self.chunking_method
        if self.acc_policy not in _POLICIES:
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        if method not in (None, "auto") and not _factor(method):
            raise ValueError(f"invalid chunking_method: {method!r}")
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size!r}")
        if self.acc_dtype is not None and self.acc_dtype not in _DTYPES:
            names = ", ".join(map(str, (None, *_DTYPES)))
            raise ValueError(
                f"acc_dtype must be one of {{{names}}}, got {self.acc_dtype!r}. "
                "Pass acc_dtype=None to let the op pick automatically."
            )

    def _adjust(self, num_batches, in_features, num_classes, dtype, device=None):
        """The same for one call, with nothing left open."""
        on_cpu = device is not None and device.type == "cpu" and dtype in _HALVES
        given = self.batch_chunk_size
        method = self.chunking_method
        if method == "auto":
            method = None if given else "aspect_ratio" if on_cpu else "aspect_ratio:2"
        size = min(given or num_batches, num_batches)
        if method is not None:
            ratio = -(-num_classes // in_features)
            rows = -(-num_batches // ratio)
            size = min((1 << (rows - 1).bit_length()) // _factor(method), num_batches)
            if given not in (None, size):
                raise ValueError(
                    f"batch_chunk_size (={given}) and chunking_method ({method!r}) give different "
                    f"chunk sizes ({given} vs {size}); pass only one."
                )
        policy, wide = self.acc_policy, self.acc_dtype or dtype
        if policy == "auto":
            policy = "accurate" if on_cpu else "compact"
            wide = self.acc_dtype or (rushlight.float32 if on_cpu else dtype)
        return dataclasses.replace(
            self,
            acc_policy=policy,
            chunking_method=method,
            batch_chunk_size=max(1, size),
            acc_dtype=wide,
        )
