"""rushlight inspect: the table, the JSON, and files that were made to do harm."""

import collections
import json
import zipfile
from pathlib import Path
from random import Random

import pytest

import rushlight as torch
from helpers import files as kit
from helpers.hostile import LONG, MALFORMED, STREAMS, TENSORS, ZIPS
from rushlight import nn
from rushlight._command import main
from rushlight._files.layouts import SparseTensor
from rushlight.inspect import Report, inspect

DATA = Path(__file__).parents[1] / "data"


def shown(capsys, *arguments, status=0):
    assert main(["inspect", *map(str, arguments)]) == status
    out, err = capsys.readouterr()
    assert err == ""
    return out


def saved(tmp_path, obj, name="x.pt"):
    torch.save(obj, tmp_path / name)
    return tmp_path / name


CHECKPOINT = {
    "epoch": 7,
    "name": "größe\n\x1b[2J",
    "model": collections.OrderedDict(weight=torch.ones(2, 3).t(), scale=torch.tensor(2.5)),
    "optimizer": {"state": {}, "param_groups": [{"lr": 0.1, "betas": (0.9, 0.999), "params": [0, 1]}]},
    "pairs": [(1, 2), ("a", None)],
    "odd": [float("nan"), 2**70, 1 + 2j, b"ab", torch.float16, torch.Size([1]), torch.device("cpu")],
    "huge": 10**5000,
    "text": "x" * 200,
    ("a", 1): True,
}
TABLE = """\
epoch           7
name            'größe\\n\\x1b[2J'
model           OrderedDict of 2 items
  weight        float32  [3, 2]  24 bytes  strides [1, 3]
  scale         float32  []      4 bytes   2.5
optimizer       dict of 2 items
  state         {}
  param_groups  list of 1 item
    0           dict of 3 items
      lr        0.1
      betas     (0.9, 0.999)
      params    [0, 1]
pairs           list of 2 items
  0             (1, 2)
  1             ('a', None)
odd             [nan, 1180591620717411303424, (1+2j), b'ab', torch.float16, torch.Size([1]), ...] (7 items)
huge            integer of 16610 bits
text            'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...' (200 characters)
(a, 1)          True
"""


def test_the_table_shows_values_beside_tensors(tmp_path, capsys):
    path = saved(tmp_path, CHECKPOINT)
    heading, table, ending = shown(capsys, path).split("\n\n")
    assert heading.startswith(f"{path}: zip archive, as torch.save writes since PyTorch 1.6, ")
    assert heading.endswith("\nholds data only: loads with weights_only=True")
    assert table + "\n" == TABLE
    assert ending == "2 tensors, 7 elements, 2 storages of 28 bytes\n"
    report = inspect(path)
    assert repr(report) == str(report) == "\n\n".join((heading, table, ending[:-1]))
    assert report.values["epoch"] == 7 and report.values["optimizer.param_groups.0.betas"] == (0.9, 0.999)


def test_groups_with_many_values_are_cut_short(tmp_path, capsys):
    path = saved(tmp_path, {"words": {f"w{i}": i for i in range(30)}, "list": list(range(500))})
    out = shown(capsys, path)
    assert "\n  w19  19\n  ...  10 more values\nlist   [0, 1, 2, " in out and "w20" not in out
    assert "...] (500 items)" in out
    assert "\n  w29  29\nlist" in shown(capsys, path, "--all")
    about = json.loads(shown(capsys, path, "--json"))
    assert about["omitted"] == 10 and len(about["values"]) == 21
    assert about["values"][-1] | {"value": len(about["values"][-1]["value"])} == {
        "name": "list",
        "path": ["list"],
        "type": "list",
        "value": 100,
        "length": 500,
    }
    about = json.loads(shown(capsys, path, "--json", "--all"))
    assert about["omitted"] == 0 and len(about["values"]) == 31
    assert about["values"][-1]["value"] == list(range(500)) and "length" not in about["values"][-1]


def test_json(tmp_path, capsys):
    path = saved(tmp_path, CHECKPOINT)
    text = shown(capsys, path, "--json")
    assert text.isascii() and "\x1b" not in text
    about = json.loads(text)
    values = {value["name"]: value for value in about.pop("values")}
    tensors = about.pop("tensors")
    assert about == {
        "schema": 1,
        "file": str(path),
        "bytes": path.stat().st_size,
        "format": "zip",
        "error": None,
        "asks": [],
        "storages": [{"bytes": 24, "tensors": ["model.weight"]}, {"bytes": 4, "tensors": ["model.scale"]}],
        "omitted": 0,
        "objects": [],
        "versions": {},
        "metadata": {},
        "locations": [],
    }
    assert tensors[0] == {
        "name": "model.weight",
        "path": ["model", "weight"],
        "dtype": "float32",
        "shape": [3, 2],
        "stride": [1, 3],
        "offset": 0,
        "bytes": 24,
        "storage": 0,
        "layout": "strided",
        "parameter": False,
        "value": None,
        "requires_grad": False,
    }
    assert tensors[1]["value"] == 2.5 and tensors[1]["storage"] == 1
    assert values["epoch"] == {"name": "epoch", "path": ["epoch"], "type": "int", "value": 7}
    assert values["name"]["value"] == CHECKPOINT["name"]
    assert values["pairs.1"] == {
        "name": "pairs.1",
        "path": ["pairs", "1"],
        "type": "tuple",
        "value": ["a", None],
    }
    assert values["odd"]["value"] == ["nan", 2**70, "(1+2j)", "b'ab'", "torch.float16", [1], "cpu"]
    assert values["huge"]["value"] == "integer of 16610 bits"


def test_json_and_text_of_the_digits(capsys):
    about = json.loads(shown(capsys, DATA / "civilnet_digits_checkpoint.tar", "--json"))
    assert [value["value"] for value in about["values"] if value["name"] == "epoch"] == [12]
    assert about["versions"]["model_state_dict"]["conv1"] == 1
    out = shown(capsys, DATA / "civilnet_digits_legacy.pth")
    assert "stream of pickles, as torch.save wrote before PyTorch 1.6" in out
    assert "\nmodule versions (_metadata): 1 for 7 modules\n" in out


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Linear(3, 3)
        self.two = nn.Linear(3, 3, bias=False)
        self.two.weight = self.one.weight
        self.norm = nn.BatchNorm1d(3)
        self.register_buffer("passing", torch.ones(5), persistent=False)


def test_a_whole_module_lists_its_state_dict(tmp_path, capsys):
    module = Tied()
    path = saved(tmp_path, module)
    report = inspect(path)
    assert list(report.tensors) == list(module.state_dict())
    assert f"{__name__}.Tied" in report.asks and report.values["one.in_features"] == 3
    out = shown(capsys, path)
    assert f"\nholds an object of {__name__}.Tied\n" in out
    assert "\none                    object of torch.nn.modules.linear.Linear\n  weight " in out
    assert "\nshared memory: one.weight, two.weight\n" in out and "_forward_hooks" not in out
    objects = json.loads(shown(capsys, path, "--json"))["objects"]
    assert objects[1] == {"name": "one", "path": ["one"], "class": "torch.nn.modules.linear.Linear"}


def test_versions_of_modules(tmp_path, capsys):
    path = saved(tmp_path, {"state": Tied().state_dict()})
    assert "\nmodule versions of state (_metadata): 1 for (the root), one, two; 2 for norm\n" in shown(
        capsys, path
    )


def test_kept_layouts_locations_and_meta(tmp_path, capsys):
    sparse = SparseTensor(torch.sparse_coo, (torch.tensor([[0, 1]]), torch.ones(2)), (3,))
    path = saved(tmp_path, {"s": sparse})
    assert "\ns  float32  [3]  -  sparse_coo\n\n1 tensor, 3 elements, 0 storages of 0 bytes\n" in shown(
        capsys, path
    )
    about = json.loads(shown(capsys, path, "--json"))["tensors"][0]
    assert about["layout"] == "sparse_coo" and about["stride"] is about["storage"] is about["bytes"] is None
    meta = torch.empty(2, device="meta")
    out = shown(capsys, saved(tmp_path, {"m": meta, "p": nn.Parameter(torch.ones(1))}))
    assert (
        "\nm  float32  [2]  8 bytes  on meta, without data\np  float32  [1]  4 bytes  1, requires grad\n"
        in out
    )
    body = kit.mapping(kit.text("w"), kit.tensor(kit.storage(location="cuda:1\x1b[1m")))
    (tmp_path / "cuda.pt").write_bytes(kit.archive(body))
    assert "\nsaved from: cuda:1\\x1b[1m\n" in shown(capsys, tmp_path / "cuda.pt")
    assert Report(tmp_path / "cuda.pt").locations == ["cuda:1\x1b[1m"]


def test_names_that_meet(tmp_path):
    report = inspect(saved(tmp_path, {"a.b": torch.ones(1), "a": {"b": torch.ones(2)}}))
    assert {name: tensor.numel() for name, tensor in report.tensors.items()} == {"a.b": 1, "a.b (2)": 2}


def test_loops_and_things_that_are_named_twice(tmp_path, capsys):
    loop = {"n": 1}
    loop["self"], loop["again"] = loop, [loop, {"t": torch.ones(1)}]
    shared = {"lr": 0.5}
    out = shown(capsys, saved(tmp_path, {"loop": loop, "a": shared, "b": shared}))
    assert "\n  self   the same as loop\n" in out and "\nb        the same as a\n" in out
    assert out.count("0.5") == 1


def test_what_is_nested_too_deep_is_said(tmp_path, capsys):
    path = tmp_path / "deep.pt"
    path.write_bytes(kit.archive(b"]" * 50_000 + b"a" * 49_999))
    out = shown(capsys, path)
    assert "list of 1 item, too deep to be listed" in out and len(out) < 20_000


def test_one_list_named_many_times_takes_no_time(tmp_path, capsys):
    """A list of 20,000 numbers that 20,000 items name: looked through once, not 400,000,000 numbers."""
    numbers = kit.listing(*[b"K\1"] * 20_000) + b"q\1"
    body = kit.mapping(kit.text("a"), kit.listing(numbers, *[b"h\1"] * 20_000))
    (tmp_path / "x.pt").write_bytes(kit.archive(body))
    assert "19,981 more values" in shown(capsys, tmp_path / "x.pt")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "it is empty"),
        (b"version https://git-lfs.github.com/spec/v1\n", "it is a pointer of Git LFS, not the file"),
        (b"<!doctype html>", "it is a web page"),
        (b"\x1f\x8b\x08", "it is compressed by gzip"),
        (b"GGUF\3", "it is a GGUF file"),
        (b"import torch\n", "it is neither a zip archive nor a stream of pickles nor safetensors"),
    ],
)
def test_files_that_are_none(data, text, tmp_path, capsys):
    path = tmp_path / "x.pth"
    path.write_bytes(data)
    out = shown(capsys, path, status=1)
    assert out.startswith(f"{path}: no checkpoint, ") and f"\nits contents cannot be listed: {text}" in out
    about = json.loads(shown(capsys, path, "--json", status=1))
    assert about["format"] is None and about["error"].startswith(text) and about["tensors"] == []


def test_an_archive_of_numpys(capsys):
    assert "\nits contents cannot be listed: it is an archive of NumPy's" in shown(
        capsys, DATA / "digits.npz", status=1
    )


def test_files_that_cannot_be_opened(tmp_path, capsys):
    for path, text in ((tmp_path, "Is a directory"), (tmp_path / "a\x1b", "No such file or directory")):
        assert main(["inspect", str(path)]) == 1
        out, err = capsys.readouterr()
        assert out == "" and err.endswith(f": {text}\n") and "\x1b" not in err


HOSTILE = {
    f"{kind} {name}": data
    for kind, group in (
        (
            "pickle",
            {n: kit.archive(body) for n, body in {**MALFORMED, **TENSORS}.items() if type(body) is bytes},
        ),
        ("stream", STREAMS),
        ("zip", ZIPS),
        ("long", LONG),
    )
    for name, data in group.items()
    if type(data) is bytes
}


def test_hostile_files_are_listed_or_refused_in_plain_text(tmp_path, capsys):
    path, refused = tmp_path / "x.pt", 0
    assert len(HOSTILE) > 100
    for name, data in HOSTILE.items():
        path.write_bytes(data)
        status = main(["inspect", str(path)])
        out, err = capsys.readouterr()
        assert status in (0, 1) and err == "" and out.replace("\n", "").isprintable(), name
        refused += status
        assert main(["inspect", "--json", str(path)]) == status
        assert (json.loads(capsys.readouterr().out)["error"] is not None) == bool(status), name
    assert refused > 100


def test_parts_of_a_module_that_are_not_what_they_should_be(tmp_path, capsys):
    odd = kit.name("some", "Thing") + b")" + kit.NEWOBJ
    parts = [kit.text(f"_{name}") + kit.EMPTY_DICT for name in ("parameters", "modules")]
    parts += [kit.text("_buffers"), kit.mapping(kit.text("b"), kit.tensor())]
    parts += [kit.text("_non_persistent_buffers_set"), odd]
    (tmp_path / "x.pt").write_bytes(kit.archive(kit.mapping(*parts)))
    assert "\nb  float32  [4]" in shown(capsys, tmp_path / "x.pt")


def test_changed_bytes_of_a_pickle_are_survived(tmp_path):
    random = Random(3)
    path, listed = tmp_path / "x.pt", 0
    torch.save(nn.Sequential(Tied(), nn.ReLU()), path)
    with zipfile.ZipFile(path) as file:
        records = {name: file.read(name) for name in file.namelist()}
    for _ in range(200):
        data = bytearray(records["x/data.pkl"])
        data[random.randrange(len(data))] = random.choice(b"0(.}])hqrKNRbu\x85\x86\x87\x93\x81ste")
        with zipfile.ZipFile(path, "w") as file:
            for name, kept in records.items():
                file.writestr(name, data if name == "x/data.pkl" else kept)
        report = inspect(path)
        listed += report.error is None
        texts = (report.text(True), json.dumps(report.to_dict(True)), report._repr_html_())
        assert all(text.replace("\n", "").isprintable() for text in texts)
    assert 10 < listed < 190


def test_names_that_a_terminal_would_obey(tmp_path, capsys):
    path = tmp_path / "x.pt"
    thing = kit.name("somewhere", "Thing") + b")" + kit.NEWOBJ
    thing += kit.mapping(kit.text("k\x1b]0;x\x07"), kit.tensor()) + kit.BUILD
    path.write_bytes(kit.archive(thing))
    assert "\nk\\x1b]0;x\\x07  float32" in shown(capsys, path)
    path.write_bytes(kit.archive(kit.name("some\x1b[31mwhere", "Thi\x07ng")))
    out = shown(capsys, path, status=1)
    assert out.endswith("its contents cannot be listed: malformed GLOBAL some?[31mwhere Thi?ng\n")


def test_html_is_escaped(tmp_path):
    name, text = "<script>alert(1)</script>", "<img src=x onerror=alert(1)>"
    path = saved(tmp_path, {name: torch.ones(2), "v": text, "d": {name: {text: 1}}}, "a<b>.pt")
    html = inspect(path)._repr_html_()
    assert "<script" not in html and "<img" not in html and "a<b>" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;</td>" in html
    assert html.startswith("<div><div>") and html.count("<tr>") == html.count("</tr>") == 6
    assert ">float32</td>" in html and "2 elements" in html


def test_several_files(tmp_path, capsys):
    first, second = saved(tmp_path, {"a": 1}, "a.pt"), saved(tmp_path, {"b": torch.ones(2)}, "b.pt")
    one, two = shown(capsys, first), shown(capsys, second)
    assert shown(capsys, first, second) == f"{one}\n{two}"
    told = json.loads(shown(capsys, first, second, "--json"))
    assert told == [json.loads(shown(capsys, path, "--json")) for path in (first, second)]
    assert main(["inspect", str(first), str(tmp_path / "nothing"), str(second)]) == 1
    out, err = capsys.readouterr()
    assert out == f"{one}\n{two}" and err.startswith("rushlight inspect: cannot open ")
