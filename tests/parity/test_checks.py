"""torch._check, torch._assert, dispatch keys and torch.onnx's names beside real PyTorch's."""

import warnings

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch.onnx")

import rushlight  # noqa: E402

CASES = [
    lambda t: t._check(True),
    lambda t: t._check(t.tensor(True)),
    lambda t: t._check(1),
    lambda t: t._check(""),
    lambda t: t._check(False),
    lambda t: t._check(False, "x"),
    lambda t: t._check(False, lambda: 3),
    lambda t: t._check_value(False),
    lambda t: t._check_index(False, lambda: "index"),
    lambda t: t._check_type(False),
    lambda t: t._check_not_implemented(False),
    lambda t: t._check_tensor_all(t.tensor([True, True])),
    lambda t: t._check_tensor_all(t.tensor([True, False])),
    lambda t: t._check_tensor_all(t.tensor([False]), lambda: "some"),
    lambda t: t._check_tensor_all(3),
    lambda t: t._check_tensor_all(t.ones(2)),
    lambda t: t._check_tensor_all_with(ValueError, t.tensor([False])),
    lambda t: t._check_is_size(-1),
    lambda t: t._check_is_size(2),
    lambda t: t._check_is_size(3, max=2),
    lambda t: t._check_with(KeyError, False, lambda: "m"),
    lambda t: t._assert(t.tensor(False), "m"),
    lambda t: t._assert(t.tensor(True), "m"),
    lambda t: t._assert(0, 3),
    lambda t: t._assert([1], "m"),
    lambda t: t._C._log_api_usage_once("x"),
    lambda t: sorted((name, int(key)) for name, key in t.DispatchKey.__members__.items()),
    lambda t: (str(t.DispatchKey.CPU), repr(t._C.DispatchKey.CPU), t._C.DispatchKey(49).name),
    lambda t: t.DispatchKey.CPU == 49,
    lambda t: str(t.onnx.TrainingMode.EVAL),
    lambda t: t.onnx.is_in_onnx_export(),
    lambda t: t.onnx.symbolic_helper.parse_args("v", "i")(lambda g, x, i: x)._arg_descriptors,
]
CASES += [
    lambda t, name=name: t.onnx.register_custom_op_symbolic(name, lambda g: None, 11)
    for name in ("nms", "a::b", "a::", "::x", "a::b.c", "a::1", "a.b::c", "")
]
SETS = [
    lambda s, k: s(k.CPU) | s(k.AutogradCPU),
    lambda s, k: s(k.CPU).add(k.Python).add(k.AutocastCPU),
    lambda s, k: s(k.CPU).remove(k.CPU),
    lambda s, k: (s(k.CPU) | s(k.Python)) & s(k.Python),
    lambda s, k: (s(k.CPU) | s(k.Python)) - s(k.Python),
    lambda s, k: s(k.Undefined),
    lambda s, k: (s(k.CPU) | s(k.AutogradCPU)).highestPriorityTypeId(),
    lambda s, k: (s(k.CPU).has(k.CPU), s(k.CPU).has(k.CUDA), s(k.CPU) == s(k.CPU)),
]
CASES += [lambda t, case=case: repr(case(t.DispatchKeySet, t.DispatchKey)) for case in SETS]


def outcome(library, case):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = case(library)
        except Exception as error:
            result = type(error).__name__, str(error)
    return result, [(w.category, str(w.message)) for w in caught if "symbolic" not in str(w.message)]


@pytest.mark.parametrize("at", range(len(CASES)))
def test_same_outcome(at):
    case = CASES[at]
    assert outcome(rushlight, case) == outcome(torch, case)
