"""What a checkpoint keeps of its first run, and fills by running again."""

from __future__ import annotations

import itertools
import weakref

from rushlight import _C
from rushlight.autograd import Function, enable_grad, no_grad
from rushlight.autograd.graph import saved_tensors_hooks

from ._checkpoint_reentrant import (
    _tensor_places,
    _with_tensors,
    _without_tensors,
)


class CheckpointError(RuntimeError):
    """Signal that the second run of a checkpoint did not save the same tensors as the first."""


_run_without_backward = itertools.count(-2, -1)  # ids for tensors that are unpacked outside of backward


class _Stop(Exception):
    """All slots are filled."""


class _Slot:
    """The place of one saved tensor: run of backward -> the tensor; None once it was taken."""

    def __init__(self):
        self.values = {}


class _Inputs(Function):
    """Saves a checkpoint's inputs: an outer checkpoint packs them as it packs all else."""

    @staticmethod
    def forward(ctx, marker, *tensors):
        ctx.save_for_backward(*tensors)
        return marker.clone()

    @staticmethod
    def backward(ctx, grad):
        raise AssertionError("nobody differentiates by the marker")


def _describe(tensor):
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


_CHECKS = {"default": _describe, "none": lambda tensor: None}


class _Frame:
    """One call of checkpoint()."""

    def __init__(self, again, args, early_stop, describe):
        self.again, self.early_stop, self.describe = again, early_stop, describe
        self.slots, self.descriptions = [], []
        self.counts = {}  # run of backward -> tensors saved in it
        self.finished = False  # the first time
        self.ignore_count = False
        self.places, self.args = _tensor_places(args), _without_tensors(args)
        marker = _C.zeros(0, requires_grad=True)
        self.inputs = _Inputs.apply(marker, *(args[i] for i in self.places)).grad_fn

    def pack(self, tensor):
        slot = _Slot()
        self.slots.append(weakref.ref(slot))
        with no_grad():
            self.descriptions.append(self.describe(tensor))
        return slot

    def unpack(self, slot):
        run = _C._current_graph_task_id()
        if run == -1:
            run = next(_run_without_backward)
        if run not in self.counts:
            self.compute(run)
        if slot.values[run] is None:
            raise CheckpointError(
                "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked "
                "once. If you are calling ctx.saved_tensors in backward, make sure to do so only once. "
                "Otherwise please open an issue with details on your use case."
            )
        tensor, slot.values[run] = slot.values[run], None
        return tensor

    def compute(self, run):
        args = _with_tensors(self.args, self.places, self.inputs.saved_tensors)
        self.counts[run] = 0
        try:
            with saved_tensors_hooks(lambda t: self.fill(run, t), lambda t: t), enable_grad():
                self.again(*args)
        except _Stop:
            pass
        self.check(run)

    def fill(self, run, tensor):
        """The next tensor that is saved the second time."""
        nth = self.counts[run]
        self.counts[run] += 1
        tensor = tensor.detach()
        if nth >= len(self.slots):
            if self.finished:
                raise CheckpointError(
                    "torch.utils.checkpoint: trying to save more tensors during recomputation than during "
                    "the original forward pass.\n" + _TIP
                )
            self.ignore_count = True  # backward inside of the part itself: the rest is still to come
            return tensor
        slot = self.slots[nth]()
        if slot is not None:  # its node may be gone
            slot.values[run] = tensor
        if self.early_stop and self.counts[run] == len(self.slots):
            raise _Stop
        return tensor

    def check(self, run):
        if self.ignore_count:
            return
        if self.counts[run] != len(self.slots):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward "
                f"and recomputation.\nNumber of tensors saved during forward: {len(self.slots)}\n"
                f"Number of tensors saved during recomputation: {self.counts[run]}.\n{_TIP}"
            )
        wrong = ""
        for nth, (reference, before) in enumerate(zip(self.slots, self.descriptions, strict=True)):
            slot = reference()
            after = before if slot is None else self.describe(slot.values[run])
            if before != after:
                wrong += (
                    f"tensor at position {nth}:\nsaved metadata: {before}\nrecomputed metadata: {after}\n"
                )
        if wrong:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata "
                f"than during the forward pass.\n{wrong}.\n{_TIP}"
            )


_TIP = """
Tip: The function must do the same each time that it is called with the same tensors: look for branches on
random numbers, on global state, or on whether gradients are recorded.
"""
