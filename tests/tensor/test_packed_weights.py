"""Packed weights: made once, used while the weight stays as it is."""

import numpy as np
import pytest

import rushlight as torch
from rushlight import _C

F32 = np.float32


def values(t):
    return t.detach().numpy()


class TestPackedWeights:
    """A weight is packed once per value of its write counter, and never while somebody else may write it."""

    def linear(self, w, rows=1):
        x = torch.ones(rows, w.shape[1])
        return torch._C._nn.linear(x, w)

    @pytest.mark.parametrize("rows", [1, 3, 64])
    def test_every_way_of_writing_is_seen(self, rows):
        w = torch.zeros(64, 48)
        writers = [
            lambda: w.fill_(2.0),
            lambda: w.data.fill_(3.0),
            lambda: w.view(-1)[5:].add_(1),
            lambda: w[3].zero_(),
            lambda: w.copy_(torch.ones(64, 48)),
            lambda: w.numpy().fill(4.0),
            lambda: w.detach().uniform_(),
            lambda: memoryview(w.untyped_storage()) and None,
        ]
        for write in writers:
            self.linear(w, rows)
            write()
            want = values(w).astype(np.float64).sum(1)
            got = values(self.linear(w, rows))
            assert np.allclose(got, want[None], rtol=1e-5)

    def test_an_exported_weight_is_always_read_anew(self):
        w = torch.zeros(64, 48)
        a = w.numpy()
        for i in range(3):
            a[:] = i
            assert self.linear(w)[0, 0].item() == 48 * i
        borrowed = np.zeros((64, 48), F32)
        v = torch.from_numpy(borrowed)
        for i in range(3):
            borrowed[:] = i
            assert self.linear(v)[0, 0].item() == 48 * i

    def test_conv_too(self):
        w = torch.ones(16, 8, 3, 3)
        x = torch.ones(1, 8, 12, 12)
        for i in range(4):
            w.fill_(float(i))
            assert torch.conv2d(x, w)[0, 0, 0, 0].item() == 72 * i

    def test_views_of_one_storage_do_not_mix(self):
        big = torch.zeros(2, 64, 48)
        big[1] = 1.0
        for _ in range(2):
            assert self.linear(big[0])[0, 0].item() == 0
            assert self.linear(big[1])[0, 0].item() == 48

    def test_packed_weights_die_with_their_storage(self):
        before = _C._live()["storages"]
        for _ in range(50):
            self.linear(torch.ones(64, 48))
        assert _C._live()["storages"] == before
