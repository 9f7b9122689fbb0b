"""Convolutions and their gradients: threads and the order of memory do not show in results."""

import pytest

import rushlight as torch

_nn = torch._C._nn
# images, groups, input and output channels, height and width, kernel, stride, padding
CASES = {
    "wide, small planes": (9, 1, 96, 70, (4, 5), (3, 3), 1, 1),
    "wide, tiny planes": (33, 1, 64, 64, (2, 2), (3, 3), 1, 1),
    "strided": (5, 1, 40, 48, (9, 8), (3, 2), 2, 1),
    "points": (6, 1, 300, 260, (5, 3), (1, 1), 1, 0),
    "points, strided": (6, 1, 64, 72, (7, 7), (1, 1), 2, 0),
    "stem": (4, 1, 3, 32, (40, 40), (7, 7), 2, 3),
    "few channels": (8, 1, 5, 6, (30, 31), (3, 3), 1, 1),
    "groups": (6, 2, 64, 96, (6, 6), (3, 3), 1, 1),
    "depthwise": (10, 40, 40, 40, (17, 16), (3, 3), 1, 1),
    "depthwise, strided": (9, 33, 33, 33, (12, 33), (5, 3), 2, 2),
}


def tensors(case, dtype):
    n, groups, ins, outs, size, kernel, stride, padding = CASES[case]
    torch.manual_seed(1)
    out = [(s + 2 * padding - k) // stride + 1 for s, k in zip(size, kernel)]
    shapes = (n, ins, *size), (outs, ins // groups, *kernel), (n, outs, *out)
    return [torch.randn(shape).to(dtype) for shape in shapes]


def results(case, x, w, grad):
    _, groups, *_, stride, padding = CASES[case]
    place = stride, padding, 1, groups
    return (
        torch.nn.functional.conv2d(x, w, None, *place),
        _nn.conv2d_input(grad, w, x.shape, *place),
        _nn.conv2d_weight(grad, x, w.shape, *place),
        _nn.conv_bias(grad, 2),
    )


@pytest.fixture
def threads():
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.mark.parametrize("case", CASES)
def test_the_number_of_threads_does_not_show(case, threads):
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        given = tensors(case, dtype)
        threads(1)
        alone = results(case, *given)
        for n in (2, 3, 5):
            threads(n)
            for name, a, b in zip(("result", "input", "weight", "bias"), alone, results(case, *given)):
                assert torch.equal(a, b), (name, dtype, n)


ORDERS = {
    "channels last": lambda t: t.contiguous(memory_format=torch.channels_last),
    "part of the channels": lambda t: torch.cat([t, t], 1)[:, : t.shape[1]],
    "rows apart": lambda t: torch.cat([t, t], 3)[..., : t.shape[3]],
    "turned planes": lambda t: t.transpose(2, 3).contiguous().transpose(2, 3),
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("case", CASES)
def test_the_order_of_memory_does_not_show(case, order):
    for dtype, most in ((torch.float32, 2e-5), (torch.float64, 1e-13)):
        given = tensors(case, dtype)
        plain = results(case, *given)
        for name, a, b in zip(
            ("result", "input", "weight", "bias"), plain, results(case, *map(ORDERS[order], given))
        ):
            assert (a - b).abs().max() <= most * a.abs().max(), (name, dtype)


def test_a_gradient_of_one_number_repeated():
    """What sum().backward() hands on: a tensor whose strides are all 0."""
    x, w, grad = tensors("wide, small planes", torch.float32)
    one = torch.ones(()).expand(grad.shape)
    for a, b in zip(
        results("wide, small planes", x, w, one), results("wide, small planes", x, w, one.clone())
    ):
        assert torch.equal(a, b)


@pytest.mark.parametrize("groups", (1, 2))
def test_a_huge_step_is_none_where_there_is_one_place(groups):
    x, w = torch.randn(1, 2, 4, 4), torch.randn(2, 2 // groups, 2, 2)
    near, far = (
        (
            torch.nn.functional.conv2d(x, w, stride=stride, groups=groups),
            _nn.conv2d_input(torch.ones(1, 2, 1, 1), w, x.shape, stride, 0, 1, groups),
            _nn.conv2d_weight(torch.ones(1, 2, 1, 1), x, w.shape, stride, 0, 1, groups),
        )
        for stride in (3, 2**30)
    )
    assert all(torch.equal(a, b) for a, b in zip(near, far))


@pytest.mark.parametrize("groups", (1, 2))
def test_padding_out_of_all_proportion_takes_no_memory(groups):
    x, w, far = torch.randn(1, 2, 4, 4), torch.randn(2, 2 // groups, 1, 1), 20_000
    place, grad = (None, far, far, 1, groups), torch.ones(1, 2, 3, 3)
    corner = torch.zeros_like(x)
    corner[:, :, 0, 0] = 1
    middle = torch.nn.functional.conv2d(x[:, :, :1, :1], w, groups=groups)
    assert torch.nn.functional.conv2d(x, w, *place)[:, :, 1:2, 1:2].allclose(middle)
    by_input = _nn.conv2d_input(grad, w, x.shape, *place[1:])
    assert by_input.allclose(corner * w.reshape(groups, -1, 2 // groups).sum(1).reshape(1, 2, 1, 1))
    by_weight = _nn.conv2d_weight(grad, x, w.shape, *place[1:])
    assert by_weight[0].flatten().allclose(x[0, : 2 // groups, 0, 0])
