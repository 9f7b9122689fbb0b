"""Examples in docstrings: all of them run, and what users meet first has one."""

import functools
import inspect
import pathlib
import re

import pytest
from tests.helpers.docstrings import MODULES, documented, examples, public, report

from rushlight import nn

# whose public classes and functions have an example each; operators are described by the operator table
SHOWN = (
    *("rushlight.nn", "rushlight.nn.functional", "rushlight.nn.init", "rushlight.nn.attention"),
    *("rushlight.nn.utils", "rushlight.nn.utils.rnn", "rushlight.nn.utils.parametrize"),
    *("rushlight.nn.utils.parametrizations", "rushlight.nn.utils.prune", "rushlight.nn.utils.stateless"),
    *("rushlight.optim", "rushlight.optim.lr_scheduler", "rushlight.optim.swa_utils"),
    *("rushlight.utils.data", "rushlight.utils.checkpoint", "rushlight.utils.dlpack"),
    *("rushlight", "rushlight.serialization", "rushlight.inspect", "rushlight.random"),
    *("rushlight.autograd", "rushlight.autograd.functional", "rushlight.autograd.graph"),
    *("rushlight.autograd.grad_mode", "rushlight.amp", "rushlight.func", "rushlight.functional"),
    "rushlight.linalg",
)

# Of those, the names without an example. This list only gets shorter;
# `PYTHONPATH=pysrc python -m tests.package.test_doctests` writes it anew.
WITHOUT_EXAMPLE = {
    "rushlight.nn.functional": """
        upsample upsample_bilinear upsample_nearest
    """,
    "rushlight.nn.utils": """
        clip_grad_norm remove_weight_norm weight_norm
    """,
    "rushlight.nn.utils.stateless": """
        functional_call
    """,
    "rushlight.utils.data": """
        DFIterDataPipe DataChunk IterDataPipe MapDataPipe _DatasetKind argument_validation
        functional_datapipe guaranteed_datapipes_determinism non_deterministic runtime_validation
        runtime_validation_disabled
    """,
    "rushlight": """
        BFloat16Tensor Bits16Tensor Bits1x8Tensor Bits2x4Tensor Bits4x2Tensor Bits8Tensor BoolTensor
        ByteTensor CharTensor ComplexDoubleTensor ComplexFloatTensor ComplexHalfTensor
        DisableTorchFunction DisableTorchFunctionSubclass DoubleTensor Float4_e2m1fn_x2Tensor
        Float8_e4m3fnTensor Float8_e4m3fnuzTensor Float8_e5m2Tensor Float8_e5m2fnuzTensor
        Float8_e8m0fnuTensor FloatTensor Generator HalfTensor IntTensor LongTensor QInt32Tensor
        QInt8Tensor QUInt2x4Tensor QUInt4x2Tensor QUInt8Tensor ShortTensor Size Tensor UInt16Tensor
        UInt32Tensor UInt64Tensor UntypedStorage chain_matmul detach detach_ device dtype finfo
        get_device iinfo imag is_conj is_distributed is_inference is_neg is_signed layout lu
        memory_format qscheme range resolve_conj resolve_neg set_default_tensor_type zero_
    """,
    "rushlight.serialization": """
        validate_cuda_device
    """,
    "rushlight.inspect": """
        Report
    """,
    "rushlight.autograd": """
        detect_anomaly
    """,
    "rushlight.autograd.graph": """
        Node
    """,
}


@pytest.mark.parametrize("module", MODULES)
def test_examples(module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    failed = [said for name, text in examples()[module] if (said := report(name, text))]
    assert not failed, "\n".join(failed)


@functools.cache
def without_example():
    """Return {module: names} of the classes and functions that lack an example, each at its first module."""
    seen, lacking = set(), {}
    for module in SHOWN:
        for key, value in public(module):
            operator = inspect.isbuiltin(value) or (isinstance(value, type) and issubclass(value, Exception))
            if operator or id(value) in seen:
                continue
            seen.add(id(value))
            if ">>>" not in (value.__doc__ or ""):
                lacking.setdefault(module, set()).add(key)
    return lacking


@pytest.mark.parametrize("module", SHOWN)
def test_what_users_meet_has_an_example(module):
    listed = set(WITHOUT_EXAMPLE.get(module, "").split())
    lacking = without_example().get(module, set())
    assert not lacking - listed, "write an example"
    assert not listed - lacking, "has an example or is no more: take it from the list"


# sections of a docstring, in their order
SECTIONS = (
    "Parameters",
    "Attributes",
    "Returns",
    "Yields",
    "Shape",
    "Raises",
    "Notes",
    "References",
    "Examples",
)


def told(text):
    """Return the names in the section Parameters of a docstring."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=\n\n|\Z)", text, flags=re.M | re.S)
    lines = section[1].splitlines() if section else []
    return [
        name.lstrip("*") for each in lines if each[0] != " " for name in each.partition(" : ")[0].split(", ")
    ]


def taken(value):
    """Return the names of the arguments of a class or function, None where it hands them on."""
    values = inspect.signature(value).parameters.values()
    handed_on = any(each.kind is each.VAR_POSITIONAL for each in values)
    return None if handed_on else [each.name for each in values if not each.name.startswith("_")]


def wrong_parameters(value):
    """Yield what the section Parameters says that is not so."""
    names = told(inspect.cleandoc(value.__doc__ or ""))
    if names and taken(value) not in (None, names):
        yield f"parameters {names}, not {taken(value)}"


def wrong_description(cls):
    """Yield what the docstring of a layer lacks, or says that is not so."""
    text = inspect.cleandoc(cls.__doc__ or "")
    first, _, rest = text.partition("\n")
    if not re.fullmatch(r"[A-Z].{,74}[.]", first) or not rest.startswith("\n"):
        yield f"first line: {first}"
    sections = re.findall(r"^(\w+)\n---+$", text, flags=re.M)
    if sections != sorted(sections, key=SECTIONS.index):
        yield f"order of sections: {sections}"
    if f".{cls.__name__}.html" not in text and cls is not nn.Container:  # which PyTorch has no page for
        yield "no link to PyTorch's page"
    lazy = cls.__name__.startswith("Lazy")  # the parameters are those of the layer that it becomes
    if taken(cls) and not told(text) and not lazy:
        yield "no parameters"
    yield from wrong_parameters(cls)


@pytest.mark.parametrize("module", SHOWN)
def test_parameters_are_those_of_the_signature(module):
    values = [(key, value) for key, value in public(module) if not inspect.isbuiltin(value)]
    wrong = [f"{key}: {line}" for key, value in values for line in wrong_parameters(value)]
    assert not wrong


@pytest.mark.parametrize("name", [key for key, _ in public("rushlight.nn")])
def test_layers_are_described(name):
    assert not list(wrong_description(getattr(nn, name)))


def test_a_wrong_description_is_found():
    class Layer(nn.Linear):
        """an example\n\n    Examples\n    --------\n    Parameters\n    ----------\n    x : int"""

    wrong = list(wrong_description(Layer))
    kinds = [
        "first line",
        "order of sections",
        "no link to PyTorch's page",
        "parameters ['x'], not ['in_features', ",
    ]
    assert len(wrong) == 4 and all(map(str.startswith, wrong, kinds))
    Layer.__doc__ = None
    assert "no parameters" in list(wrong_description(Layer))


def test_a_wrong_example_is_found():
    assert "Expected:\n    3\nGot:\n    2" in report("sum", ">>> 1 + 1\n3\n")
    assert "AttributeError" in report("lost", ">>> torch.no_such_name\n")
    assert "UserWarning" in report("warns", ">>> F.mse_loss(torch.ones(2), torch.ones(1))\ntensor(0.)\n")
    assert report("right", ">>> nn.ReLU()(torch.zeros(2) + np.float32(1))\ntensor([1., 1.])\n") == ""


def test_classes_functions_and_methods_are_collected():
    names = {name for module in MODULES for name, _ in documented(module)}
    assert names >= {"rushlight.nn", "rushlight.nn.Conv2d", "rushlight.nn.functional.softmax"}
    assert names >= {"rushlight.nn.Module.to", "rushlight.optim.Adam.step", "rushlight.Tensor.add"}


def listed_anew():
    """Return the source of this file with the list of today."""
    import textwrap

    text = pathlib.Path(__file__).read_text()
    lines = []
    for module, names in without_example().items():
        wrapped = textwrap.wrap(" ".join(sorted(names)), 96)
        lines += [f'    "{module}": """', *(f"        {line}" for line in wrapped), '    """,']
    body = "\n".join(["WITHOUT_EXAMPLE = {", *lines, "}\n"]) if lines else "WITHOUT_EXAMPLE = {}\n"
    return re.sub(r"^WITHOUT_EXAMPLE = \{(\n.*?^)?\}\n", lambda _: body, text, flags=re.M | re.S)


if __name__ == "__main__":
    pathlib.Path(__file__).write_text(listed_anew())
