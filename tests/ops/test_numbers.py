"""The numbers of a call: lengths of lists, counts, sizes and strides at the edges of int64, random_()."""

import re

import pytest

import op_samples as samples
import rushlight as torch
import rushlight.nn.functional as F
from rushlight import _C

LARGEST = 2**63 - 1
MOST = torch.zeros(1).expand(LARGEST)  # of one element


# ---- lists ----
def fixed_lists():
    """(operator, argument's position, its name, n) of every int[n] in the table."""
    for name, entry in samples.OPERATORS.items():
        inside = entry["schema"][entry["schema"].index("(") + 1 : entry["schema"].rindex(") ->")]
        plain = [a.strip() for a in inside.split(",") if a.strip() != "*"]
        for at, argument in enumerate(plain):
            found = re.match(r"(?:int|Padding|MaybeInt)\[(\d)\]\??\s+(\w+)", argument)
            if found:
                yield name, at, found[2], int(found[1])


def test_the_table_has_fixed_lists():
    assert len(list(fixed_lists())) > 80


@pytest.mark.parametrize("name, at, argument, n", list(fixed_lists()))
def test_lists_of_another_length_are_refused(name, at, argument, n):
    function = samples.function(_C, samples.OPERATORS[name])
    args, kwargs = samples.of(name)[0].build(_C, "float32")
    for length in {0, 2, 3, 4, 5, 6, 7} - {n}:
        given = list(args)
        if at < len(args):
            given[at] = [1] * length
        other = dict(kwargs) if at < len(args) else dict(kwargs, **{argument: [1] * length})
        if argument == "stride" and length == 0 and "pool" in name:
            continue  # as large as the kernel
        with pytest.raises(
            (RuntimeError, TypeError), match=r"(?s)tuple|list|size|broadcast|one int|numbers|must be|exactly"
        ):
            function(*given, **other)


@pytest.mark.parametrize(
    "call, says",
    [
        (lambda: F.max_pool2d(torch.zeros(1, 1, 4, 4), []), "kernel_size must either be a single int"),
        (lambda: F.max_pool2d(torch.zeros(1, 1, 4, 4), (1, 2, 3)), "kernel_size must either be a single int"),
        (lambda: F.avg_pool2d(torch.zeros(1, 1, 4, 4), 2, (1, 2, 3)), "stride must either be omitted"),
        (lambda: F.adaptive_avg_pool2d(torch.zeros(1, 1, 4, 4), []), "output_size must be 2"),
        (lambda: F.adaptive_avg_pool2d(torch.zeros(1, 1, 4, 4), [2]), "output_size must be 2"),
        (lambda: F.unfold(torch.zeros(1, 1, 4, 4), (2, 2, 2)), "expected kernel_size equals to 2"),
        (lambda: F.pad(torch.zeros(2, 2), 1), "must be tuple of ints"),
    ],
)
def test_what_is_said_of_a_list(call, says):
    with pytest.raises((RuntimeError, TypeError), match=says):
        call()


def test_any_and_all_of_no_dimension():
    x = torch.arange(4).view(2, 2)
    assert torch.any(x, []).tolist() == torch.all(x, []).tolist() == [[False, True], [True, True]]


# ---- counting ----
@pytest.mark.parametrize(
    "bounds",
    [
        (2**53, 2**53 + 5),
        (2**53 + 5, 2**53, -2),
        (2**62, 2**62 + 3),
        (-(2**63), 3 - 2**63),
        (LARGEST, LARGEST - 4, -1),
        (LARGEST, -(2**63), -(2**62)),
        (0, LARGEST, LARGEST),
        (-(2**63), LARGEST, 2**62 + 1),
    ],
)
def test_arange_counts_in_integers(bounds):
    assert torch.arange(*bounds).tolist() == list(range(*bounds))


def test_arange_refuses_what_int64_does_not_hold():
    with pytest.raises(RuntimeError, match="value cannot be converted to type int64_t without overflow"):
        torch.arange(0, 1e30, dtype=torch.int64)
    with pytest.raises(RuntimeError, match="value cannot be converted to type int64_t without overflow"):
        torch.arange(1e30, 1.1e30, 1e29, dtype=torch.int32)
    with pytest.raises(RuntimeError, match="invalid size, possible overflow"):
        torch.arange(-(2**63), LARGEST)
    with pytest.raises(RuntimeError, match="step must be nonzero"):
        torch.arange(0, 5, float("nan"))


@pytest.mark.parametrize("count", [LARGEST, 2**62, 2**59])
def test_a_chunk_for_each_of_too_many(count):
    with pytest.raises(RuntimeError, match="no memory"):
        torch.zeros(4, 0).chunk(count, dim=1)
    assert len(torch.zeros(4, 3).chunk(count, dim=1)) == 3


def test_more_slices_than_memory():
    x = torch.zeros(2**62, 0)
    with pytest.raises(RuntimeError, match="no memory"):
        x.unbind()
    with pytest.raises(RuntimeError, match="no memory"):
        x.split(1)
    assert x.repeat_interleave(0, 0).shape == (0, 0)
    with pytest.raises(RuntimeError, match="numel: integer multiplication overflow"):
        x.repeat_interleave(2, 0)


def test_split_sizes():
    with pytest.raises(RuntimeError, match="only non-negative entries"):
        torch.zeros(4).split([2, -1, 3])
    with pytest.raises(RuntimeError, match="split_size can only be 0 if dimension size is 0"):
        torch.zeros(4).split(0)
    with pytest.raises(RuntimeError, match="Invalid output_size, expected 9 but got -1"):
        torch.zeros(3).repeat_interleave(3, output_size=-1)


# ---- sizes ----
def test_views_of_as_many_elements_as_int64_counts():
    assert MOST.numel() == LARGEST and MOST[-1].item() == 0 and MOST[LARGEST - 1].item() == 0
    assert MOST[1:].numel() == LARGEST - 1 and MOST[::2].numel() == 2**62
    assert MOST.narrow(0, 2**62, 5).shape == (5,) and MOST[None].stride()[1] == 0
    assert MOST.nbytes == 4 * LARGEST
    assert torch.zeros(1).expand(2**62).view(2**31, 2**31).flatten().shape == (2**62,)
    assert torch.zeros(3).as_strided((LARGEST,), (0,)).shape == (LARGEST,)


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.zeros(1).expand(2**62, 2),
        lambda: MOST.expand(2, LARGEST),
        lambda: torch.as_strided(torch.zeros(1), (2**32, 2**31), (0, 0)),
        lambda: torch.broadcast_to(torch.zeros(1), (2**62, 2)),
        lambda: torch.zeros(0).view(2**32, 2**32, 0),
        lambda: torch.zeros(2).repeat_interleave(2**62),
    ],
)
def test_one_element_more(call):
    with pytest.raises(RuntimeError, match="numel: integer multiplication overflow"):
        call()


@pytest.mark.parametrize("shape", [(0, 2**32, 2**32), (0, LARGEST, 2)])
def test_strides_without_elements(shape):
    for make in (
        torch.empty,
        torch.zeros,
        torch.zeros(0).view,
        torch.zeros(0).reshape,
        torch.zeros(0).new_zeros,
    ):
        with pytest.raises(RuntimeError, match="Stride calculation overflowed"):
            make(*shape)


def test_offsets_in_nothing():
    x = torch.zeros(3).as_strided((0, 2**62), (1, 2**20))
    with pytest.raises(RuntimeError, match="offset calculation overflowed"):
        x.select(1, 2**62 - 1)
    with pytest.raises(RuntimeError, match="offset calculation overflowed"):
        x[:, 2**62 - 1 :]
    assert x.unsqueeze(1).shape == (0, 1, 2**62) and x[:, :4].clone().shape == (0, 4)


def test_a_hopeless_reshape_copies_nothing():
    with pytest.raises(RuntimeError, match="is invalid for input of size"):
        torch.zeros(1).expand(2**62).reshape(7)


def test_slices_keep_their_step():
    assert torch.zeros(4, 5)[::100].stride() == (500, 1)
    assert torch.zeros(4, 5)[:: 2**62].shape == (1, 5)


@pytest.mark.parametrize(
    "call",
    [
        lambda: F.conv2d(torch.zeros(1, 1, 4, 4), torch.zeros(1, 1, 2, 2), padding=2**62),
        lambda: F.conv2d(torch.zeros(1, 1, 4, 4), torch.zeros(1, 1, 3, 3), padding="same", dilation=2**62),
        lambda: F.conv1d(torch.zeros(1, 1, 4), torch.zeros(1, 1, 3), padding="same", dilation=LARGEST),
        lambda: F.conv_transpose2d(torch.zeros(1, 1, 4, 4), torch.zeros(1, 1, 2, 2), padding=LARGEST),
        lambda: F.max_pool1d(MOST.view(1, -1), 3, 1, 1),
        lambda: F.pad(torch.zeros(2), (LARGEST, LARGEST)),
        lambda: torch.zeros(2, 2).diagonal(0, 0, 1).expand(2**62, 2),
        lambda: torch.zeros(4, 2).roll(-(2**63), 0),
    ],
)
def test_windows_beyond_int64(call):
    with pytest.raises(RuntimeError):
        call()


def test_reductions_of_a_number_know_its_dimension():
    x = torch.tensor(3.0, requires_grad=True)
    for reduced in (x.sum(-1), x.mean(-1), x.amax(-1), x.sum([-1])):
        (grad,) = torch.autograd.grad(reduced, x)
        assert grad.item() == 1


# ---- random numbers ----
DRAWN = {
    ("uint8", ()): [153, 191, 80, 91],
    ("int8", ()): [25, 63, 80, 91],
    ("int16", ()): [10137, 3775, 21584, 7259],
    ("int32", ()): [774252441, 293375679, 83645520, 707468379],
    ("int64", ()): [3325388913236545215, 359254775711865947, 8544873655684927415, 4149298557807026508],
    ("float16", ()): [909.0, 1908.0, 1242.0, 416.0],
    ("bfloat16", ()): [106.0, 156.0, 244.0, 193.0],
    ("float32", ()): [2500459.0, 8162990.0, 16536652.0, 2825137.0],
    ("float64", ()): [1732388237118798.0, 7974004776967220.0, 6048762190466051.0, 5986900626168704.0],
    ("bool", ()): [True, True, False, True],
    ("uint8", (10,)): [1, 9, 0, 7],
    ("int64", (2**40,)): [657423371967, 346452335707, 348726071223, 59812929868],
    ("float32", (10,)): [1.0, 9.0, 0.0, 7.0],
    ("int8", (-5, None)): [118, 18, 86, 90],
    ("int64", (5, None)): [3325388913236545220, 359254775711865952, 8544873655684927420, 4149298557807026518],
    ("int64", (-(2**63), None)): [
        3325388913236545215,
        359254775711865947,
        8544873655684927415,
        -5074073479047749300,
    ],
    ("float64", (3, None)): [1732388237119908.0, 7974004776967340.0, 6048762190468898.0, 5986900626173159.0],
    ("float32", (2**24 + 1, 2**24 + 9)): [16777218.0, 16777224.0, 16777216.0, 16777220.0],
    ("bfloat16", (-(2**63), 3 - 2**63)): [-(2.0**63)] * 4,
    ("int64", (-(2**63), LARGEST)): [
        -5897983123618230593,
        -8864117261142909861,
        -678498381169848393,
        4149298557807026508,
    ],
}


@pytest.mark.parametrize("dtype, args", DRAWN)
def test_random_draws_what_pytorch_draws(dtype, args):
    torch.manual_seed(11)
    assert torch.zeros(4, dtype=getattr(torch, dtype)).random_(*args).tolist() == DRAWN[dtype, args]


@pytest.mark.parametrize(
    "dtype, args, says",
    [
        ("int64", (0,), "'from' to be less than 'to', but got from=0 >= to=0"),
        ("uint8", (257,), "to - 1 is out of bounds for unsigned char"),
        ("uint8", (-1, None), "from is out of bounds for unsigned char"),
        ("float16", (3000, None), "less than or equal to 'to_inc' casted to dtype"),
        ("int32", (-(2**63), None), "handles only int64, double, float and bfloat16"),
    ],
)
def test_random_refuses(dtype, args, says):
    with pytest.raises(RuntimeError, match=re.escape(says)):
        torch.zeros(4, dtype=getattr(torch, dtype)).random_(*args)


@pytest.mark.parametrize("step", [2**58, 2**60, 2**61, 2**62, LARGEST])
def test_one_element_of_a_wide_step(step):
    x = torch.ones(4, 5, requires_grad=True)
    (x[::step] * 2 + torch.ones(5)).sum().backward()
    assert x.grad.sum(1).tolist() == [10, 0, 0, 0]
    assert x[::step].contiguous().stride() == (5, 1)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_windows_beyond_the_input(dims):
    """A window may be far larger than what it sees, with ceil_mode: it ends with the input."""
    x = torch.randn((2, *[5] * dims), requires_grad=True)
    pool = getattr(torch, f"max_pool{dims}d")
    far = pool(x, 2**31 - 1, None, 0, 1, True)
    assert far.shape == (2, *[1] * dims) and torch.equal(far.flatten(), x.flatten(1).max(1).values)
    far.sum().backward()
    assert x.grad.sum() == 2


@pytest.mark.parametrize(
    "shape, pad", [((2, 3, 0), (1, 1)), ((2, 3, 0, 6), (1, 4, 3, 1)), ((1, 2, 3, 0, 2), (1,) * 6)]
)
def test_nothing_cannot_be_repeated(shape, pad):
    with pytest.raises(RuntimeError, match="possibly 0 batch size and other non-zero dimensions for input"):
        torch.nn.functional.pad(torch.zeros(shape), pad, "replicate")
