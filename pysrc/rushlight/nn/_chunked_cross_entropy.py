"""Cross entropy of a linear layer, a chunk of rows at a time: the logits of all rows never exist at once.

A chunk gives its part of the loss and, where they are wanted, of all gradients: with p the softmax of its
logits less 1 at the target, and s what its rows count,

    input  s * (p @ weight)        weight  p.T @ (s * input)        bias  p.T @ s
"""

import rushlight
from rushlight.autograd import Function
from rushlight.nn import functional as F

_HALVES = (rushlight.float16, rushlight.bfloat16)


def _without_autocast(input):
    """Chunks are computed in the dtype that the options say."""
    device = input.device.type
    return rushlight.autocast("cpu" if device == "meta" else device, enabled=False)


class _Chunks:
    """The arguments of one call, as the chunks need them; ``counts`` is what each row counts, or 0."""

    def __init__(self, tensors, ignore_index, options):
        self.input, linear_weight, self.target, linear_bias, weight = tensors
        self.size, wide = options.batch_chunk_size, options.acc_dtype
        if wide != self.input.dtype and not (self.input.dtype in _HALVES and wide == rushlight.float32):
            raise RuntimeError(
                "linear_cross_entropy supports float32 acc_dtype with float16/bfloat16 inputs, "
                f"but got {wide} acc_dtype and {self.input.dtype} inputs."
            )
        self.wide = wide
        self.weight = linear_weight if wide == self.input.dtype else linear_weight.to(wide)
        self.bias = None if linear_bias is None else linear_bias.to(wide)
        ignored = self.target == ignore_index
        if not 0 <= ignore_index < linear_weight.size(0):
            self.target = self.target.masked_fill(ignored, 0)
        if weight is None:
            self.counts = (~ignored).to(wide)
        else:
            self.counts = weight.index_select(0, self.target).to(wide).masked_fill(ignored, 0)

    def rows(self):
        """For each chunk its rows, its input, its log-probabilities and its targets, as a column."""
        n = self.input.size(0)
        for begin in range(0, n, self.size):
            size = min(self.size, n - begin)
            target = self.target.narrow(0, begin, size).unsqueeze(1)
            input = self.input.narrow(0, begin, size).to(self.wide)
            logs = F.log_softmax(F.linear(input, self.weight, self.bias), dim=1)
            yield slice(begin, begin + size), input, logs, target

    def losses(self):
        """The loss of each row."""
        out = self.input.new_empty(self.input.size(0), dtype=self.wide)
        for rows, _, logs, target in self.rows():
            out[rows] = logs.gather(1, target).squeeze(1) * -self.counts[rows]
        return out.to(self.input.dtype)

    def summed(self, scale, wanted):
        """The sum of scale times the loss of each row; its gradients by input, weight and bias, or None."""
        total = scale.new_zeros(())
        by_input = rushlight.empty_like(self.input) if wanted[0] else None
        by_weight = rushlight.zeros_like(self.weight) if wanted[1] else None
        by_bias = self.weight.new_zeros(self.weight.size(0)) if wanted[2] else None
        for rows, input, logs, target in self.rows():
            part = scale[rows]
            total -= logs.gather(1, target).squeeze(1).dot(part)
            if not any(wanted):
                continue
            slopes = logs.exp_().scatter_add_(1, target, logs.new_full((), -1.0).expand_as(target))
            column = part.unsqueeze(1)
            if wanted[0]:
                by_input[rows] = slopes.mm(self.weight).mul_(column)
            if wanted[1]:
                by_weight.addmm_(slopes.t(), input * column)
            if wanted[2]:
                by_bias.addmv_(slopes.t(), part)
        kind = self.input.dtype
        return total.to(kind), by_input, *(g if g is None else g.to(kind) for g in (by_weight, by_bias))


class _Reduced(Function):
    """The mean or sum. Gradients are computed beside the loss; backward multiplies them."""

    @staticmethod
    def forward(
        ctx, input, linear_weight, linear_bias, target, weight, reduction, ignore_index, options, wanted
    ):
        tensors = (input, linear_weight, target, linear_bias, weight)
        chunks = _Chunks(tensors, ignore_index, options)
        scale = chunks.counts
        if reduction == "mean":
            total = scale.sum()
            scale = scale / total.masked_fill(total == 0, float("nan"))
        loss, *ctx.grads = chunks.summed(scale, wanted)
        ctx.kept = options.allow_retain_graph
        return loss.fill_(float("nan")) if reduction == "mean" and input.size(0) == 0 else loss

    @staticmethod
    def backward(ctx, grad):
        if ctx.grads is None:
            raise RuntimeError(
                "linear_cross_entropy chunked backward called twice; "
                "retain_graph=True / double backward are not supported."
            )
        grads = ctx.grads
        if ctx.kept:
            grads = [g if g is None else g * grad for g in grads]
        else:
            ctx.grads = None
            grads = [g if g is None else g.mul_(grad) for g in grads]
        return *grads, None, None, None, None, None, None


class _Each(Function):
    """The loss of each row. Backward computes the chunks again."""

    @staticmethod
    def forward(ctx, input, linear_weight, linear_bias, target, weight, ignore_index, options):
        tensors = (input, linear_weight, target, linear_bias, weight)
        ctx.save_for_backward(*(t if t is None else t.detach() for t in tensors))
        ctx.call = ignore_index, options
        return _Chunks(tensors, ignore_index, options).losses()

    @staticmethod
    def backward(ctx, grad):
        with rushlight.no_grad(), _without_autocast(grad):
            chunks = _Chunks(ctx.saved_tensors, *ctx.call)
            _, *grads = chunks.summed(chunks.counts * grad.to(chunks.wide), ctx.needs_input_grad)
        return *grads, None, None, None, None


def chunked(input, linear_weight, linear_bias, target, weight, reduction, ignore_index, options):
    """linear_cross_entropy() of input (N, in_features) or (in_features), in the chunks of its options."""
    batch = input.dim() == 2
    if not batch:
        input, target = input.unsqueeze(0), target.unsqueeze(0)
    options = options._adjust(
        num_batches=input.size(0),
        in_features=input.size(1),
        num_classes=linear_weight.size(0),
        dtype=input.dtype,
        device=input.device,
    )
    tensors = (input, linear_weight, linear_bias, target, weight)
    with _without_autocast(input):
        if reduction == "none":
            loss = _Each.apply(*tensors, ignore_index, options)
        else:
            wanted = [rushlight.is_grad_enabled() and t is not None and t.requires_grad for t in tensors[:3]]
            loss = _Reduced.apply(*tensors, reduction, ignore_index, options, wanted)
    return loss if batch else loss.squeeze(0)
