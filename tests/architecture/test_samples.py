"""The samples of an operator stand in the file of its family, as the file that declares it says."""

import pathlib
import re

import op_samples as samples

DECLARATIONS = pathlib.Path(__file__).parents[2] / "csrc" / "ops" / "declarations"
UNSAMPLED = {"optim", "amp"}  # steps of optimizers and of gradient scalers, which are tested with them


def declared():
    """{id of the operator: family}."""
    return {
        name: path.stem
        for path in DECLARATIONS.glob("*.def")
        for name in re.findall(r"^(?:OP|VIEW|COMPOSITE)\((\w+)", path.read_text(), flags=re.M)
    }


def test_samples_stand_with_their_family():
    families = declared()
    assert set(families.values()) == set(samples.FAMILIES) | UNSAMPLED
    wrong = {
        name: (family, families.get(name))
        for family, module in samples.FAMILIES.items()
        for name in {**module.SAMPLES, **getattr(module, "BACKWARD", {})}
        if families.get(name) != family
    }
    assert not wrong, f"operator: (family of its samples, family of its declaration): {wrong}"


def test_every_operator_is_declared_somewhere():
    assert set(samples.OPERATORS) <= set(declared())
