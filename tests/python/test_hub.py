"""torch.hub: downloads from files and from a server of this machine, archives of a hostile server, trust."""

import functools
import hashlib
import http.server
import io
import os
import pathlib
import stat
import threading
import zipfile

import pytest

import rushlight as torch
from rushlight import hub
from rushlight.utils import model_zoo

HUBCONF = b"""
dependencies = ["os"]
_hidden = print
value = 3
def tiny(n, bias=True):
    "Make a small layer."
    import rushlight
    return rushlight.nn.Linear(n, 1, bias=bias)
def _private(): pass
"""


def archive(members):
    """The bytes of a zip file of [(name or ZipInfo, bytes)]."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, data in members:
            file.writestr(name, data)
    return buffer.getvalue()


def special(name, kind):
    member = zipfile.ZipInfo(name)
    member.create_system, member.external_attr = 3, (kind | 0o644) << 16
    return member


REPOSITORY = archive([("repo-1/", b""), ("repo-1/hubconf.py", HUBCONF), ("repo-1/part/a.txt", b"a")])


class Handler(http.server.BaseHTTPRequestHandler):
    def __init__(self, replies, *args):
        self.replies = replies
        super().__init__(*args)

    def do_GET(self):
        code, body, size = self.replies[self.path]
        self.replies["seen"].append((self.path, self.headers["User-Agent"]))
        self.send_response(code)
        if size is not None:
            self.send_header("Content-Length", str(size))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        """Tests print nothing."""


@pytest.fixture
def server():
    """{path: (code, body, Content-Length)}; "url" is the address."""
    replies = {"seen": []}
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, replies)) as running:
        replies["url"] = f"http://127.0.0.1:{running.server_port}"
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield replies
        running.shutdown()
        thread.join()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(hub, "_hub_dir", str(tmp_path / "hub"))
    return tmp_path / "hub"


@pytest.fixture
def github(server, cache, monkeypatch):
    """The server stands for GitHub's archives."""
    monkeypatch.setattr(hub, "_git_archive_link", lambda *parts: "/".join([server["url"], *parts]))
    server["/someone/repo/v1"] = 200, REPOSITORY, len(REPOSITORY)
    return server


def listed(folder):
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*"))


# ---- folders ----
def test_the_cache_is_where_the_environment_says(monkeypatch):
    monkeypatch.setattr(hub, "_hub_dir", None)
    for name in ("TORCH_HOME", "XDG_CACHE_HOME", "TORCH_HUB"):
        monkeypatch.delenv(name, raising=False)
    home = os.path.expanduser("~")
    assert hub.get_dir() == f"{home}/.cache/torch/hub" and hub._get_torch_home() == f"{home}/.cache/torch"
    monkeypatch.setenv("XDG_CACHE_HOME", "~/x")
    assert hub.get_dir() == f"{home}/x/torch/hub"
    monkeypatch.setenv("TORCH_HOME", "/somewhere")
    assert hub.get_dir() == "/somewhere/hub"
    hub.set_dir(pathlib.Path("~/mine"))
    assert hub.get_dir() == f"{home}/mine"
    monkeypatch.setenv("TORCH_HUB", "x")
    with pytest.warns(UserWarning, match="^TORCH_HUB is deprecated, please use env TORCH_HOME instead$"):
        hub.get_dir()


def test_the_hash_in_a_name():
    assert hub.HASH_REGEX.search("resnet18-bfd8deac.pth").group(1) == "bfd8deac"
    assert hub.HASH_REGEX.search("plain.pth") is None
    assert hub.urlparse("https://a.org/b/c.pth?x=1").path == "/b/c.pth"


# ---- downloads ----
def test_download_from_a_server(server, tmp_path, capfd):
    server["/a"] = 200, b"x" * 300_000, 300_000
    target = tmp_path / "a.bin"
    hub.download_url_to_file(server["url"] + "/a", target, hashlib.sha256(b"x" * 300_000).hexdigest()[:8])
    assert target.read_bytes() == b"x" * 300_000 and listed(tmp_path) == ["a.bin"]
    assert server["seen"] == [("/a", "torch.hub")]
    assert "100" in capfd.readouterr().err
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(target.stat().st_mode) == 0o666 & ~mask


def test_a_file_of_unknown_size(server, tmp_path, capfd):
    server["/a"] = 200, b"xyz", None
    hub.download_url_to_file(server["url"] + "/a", tmp_path / "a", progress=False)
    assert (tmp_path / "a").read_bytes() == b"xyz" and capfd.readouterr().err == ""


def test_a_wrong_hash_leaves_the_old_file(server, tmp_path):
    server["/a"] = 200, b"bad", 3
    (tmp_path / "a").write_bytes(b"good")
    digest = hashlib.sha256(b"bad").hexdigest()
    with pytest.raises(RuntimeError) as error:
        hub.download_url_to_file(server["url"] + "/a", tmp_path / "a", "0000", progress=False)
    assert str(error.value) == f'invalid hash value (expected "0000", got "{digest}")'
    assert (tmp_path / "a").read_bytes() == b"good" and listed(tmp_path) == ["a"]


def test_a_connection_that_ends_early(server, tmp_path):
    server["/a"] = 200, b"half", 8
    with pytest.raises(hub.URLError, match="got only 4 out of 8 bytes"):
        hub.download_url_to_file(server["url"] + "/a", tmp_path / "a", progress=False)
    assert listed(tmp_path) == []


def test_what_is_not_there(server, tmp_path):
    server["/a"] = 404, b"", 0
    with pytest.raises(hub.HTTPError, match="404") as raised:
        hub.download_url_to_file(server["url"] + "/a", tmp_path / "a", progress=False)
    raised.value.close()
    with pytest.raises(hub.URLError):
        hub.download_url_to_file(f"file://{tmp_path}/nothing", tmp_path / "a", progress=False)
    assert listed(tmp_path) == []


def test_progress_without_tqdm(capfd):
    with hub._Faketqdm(total=4, unit="B") as bar:
        bar.update(1)
        bar.update(3)
    with hub._Faketqdm() as bar:
        bar.update(10)
    with hub._Faketqdm(total=2, disable=True) as bar:
        bar.update(1)
    assert capfd.readouterr().err == "\r25.0%\r100.0%\n\r10.0 bytes\n"


# ---- weights ----
def test_weights_are_downloaded_once(server, cache, capfd):
    buffer = io.BytesIO()
    torch.save({"w": torch.arange(3)}, buffer)
    data = buffer.getvalue()
    name = f"net-{hashlib.sha256(data).hexdigest()[:8]}.pth"
    server[f"/{name}"] = 200, data, len(data)
    url = f"{server['url']}/{name}"
    for load in (hub.load_state_dict_from_url, model_zoo.load_url):
        found = load(url, progress=False, check_hash=True, weights_only=True)
        assert found["w"].tolist() == [0, 1, 2]
    assert len(server["seen"]) == 1 and listed(cache) == ["checkpoints", f"checkpoints/{name}"]
    assert capfd.readouterr().out == f'Downloading: "{url}" to {cache}/checkpoints/{name}\n'


def test_weights_of_a_wrong_hash_are_not_kept(server, cache):
    server["/net-00000000.pth"] = 200, b"whatever", 8
    for _ in range(2):
        with pytest.raises(RuntimeError, match='^invalid hash value .expected "00000000", got "'):
            hub.load_state_dict_from_url(server["url"] + "/net-00000000.pth", check_hash=True, progress=False)
    assert listed(cache) == ["checkpoints"]


def test_weights_from_a_file_under_another_name(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_MODEL_ZOO", "x")
    torch.save(torch.ones(2), tmp_path / "a.pth")
    with pytest.warns(UserWarning, match="TORCH_MODEL_ZOO is deprecated"):
        found = hub.load_state_dict_from_url(
            f"file://{tmp_path}/a.pth", str(tmp_path / "m"), "cpu", file_name="b.pth", progress=False
        )
    assert found.tolist() == [1, 1] and listed(tmp_path) == ["a.pth", "m", "m/b.pth"]


def test_an_archive_of_one_file(tmp_path):
    buffer = io.BytesIO()
    torch.save({"w": torch.ones(2)}, buffer, _use_new_zipfile_serialization=False)
    (tmp_path / "old.zip").write_bytes(archive([("old.pth", buffer.getvalue())]))
    url = f"file://{tmp_path}/old.zip"
    with pytest.warns(FutureWarning, match="^Falling back to the old format < 1.6. This support will be"):
        found = hub.load_state_dict_from_url(url, str(tmp_path / "m"), progress=False)
    assert found["w"].tolist() == [1, 1]
    (tmp_path / "bad.zip").write_bytes(archive([("../old.pth", buffer.getvalue())]))
    with pytest.warns(FutureWarning), pytest.raises(ValueError, match="directory traversal"):
        hub.load_state_dict_from_url(f"file://{tmp_path}/bad.zip", str(tmp_path / "m"), progress=False)
    assert not (tmp_path / "old.pth").exists()


# ---- repositories ----
def test_entry_points_of_a_repository(github, cache, capfd):
    where = dict(skip_validation=True, trust_repo=True)
    assert hub.list("someone/repo:v1", **where) == ["tiny"]
    assert hub.help("someone/repo:v1", "tiny", **where) == "Make a small layer."
    layer = hub.load("someone/repo:v1", "tiny", 3, bias=False, **where)
    assert isinstance(layer, torch.nn.Linear) and layer.bias is None
    assert len(github["seen"]) == 1
    hub.load("someone/repo:v1", "tiny", 3, verbose=False, force_reload=True, **where)
    assert len(github["seen"]) == 2
    names = [name for name in listed(cache) if "__pycache__" not in name]
    folder = "someone_repo_v1"
    inside = [f"{folder}/hubconf.py", f"{folder}/part", f"{folder}/part/a.txt"]
    assert names == [folder, *inside, "trusted_list"]
    out, err = capfd.readouterr()
    assert out.count("Downloading: ") == 2
    assert err == f"Using cache found in {cache}/someone_repo_v1\n" * 2


def test_entry_points_that_are_not_there(tmp_path):
    (tmp_path / "hubconf.py").write_bytes(HUBCONF)
    load = functools.partial(hub.load, str(tmp_path), source="local")
    for name in ("nothing", "value"):
        with pytest.raises(RuntimeError, match=f"^Cannot find callable {name} in hubconf$"):
            load(name)
    with pytest.raises(ValueError, match="^Invalid input: model should be a string of function name$"):
        load(tmp_path)
    with pytest.raises(ValueError, match='^Unknown source: "web". Allowed values: "github" | "local".$'):
        hub.load(str(tmp_path), "tiny", 1, source="web")
    (tmp_path / "hubconf.py").write_text("dependencies = ['no_such_a', 'os', 'no_such_b']\ndef f(): pass")
    with pytest.raises(RuntimeError, match="^Missing dependencies: no_such_a, no_such_b$"):
        load("f")
    assert str(tmp_path) not in torch.hub.sys.path


def test_a_repository_imports_its_own_modules(tmp_path):
    (tmp_path / "hubconf.py").write_text("from hub_part_of_a_test import answer")
    (tmp_path / "hub_part_of_a_test.py").write_text("def answer(): return 42")
    try:
        assert hub.load(str(tmp_path), "answer", source="LOCAL") == 42
    finally:
        hub.sys.modules.pop("hub_part_of_a_test", None)


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [("y", None), ("YES", None), ("n", "Untrusted repository."), ("", "Untrusted repository."),
     ("what", "Unrecognized response what.")],
)  # fmt: skip
def test_the_user_is_asked(github, cache, monkeypatch, answer, outcome):
    asked = []
    monkeypatch.setattr("builtins.input", lambda text: asked.append(text) or answer)
    again = functools.partial(hub.load, "someone/repo:v1", "tiny", 2, skip_validation=True)
    if outcome is None:
        again()
        assert (cache / "trusted_list").read_text() == "someone_repo\n"
        again(force_reload=True)
        assert len(asked) == 1
        again(trust_repo=False)
    else:
        with pytest.raises(Exception) as error:
            again()
        assert str(error.value) == outcome and not github["seen"]
        assert (cache / "trusted_list").read_text() == ""
    assert asked[0] == (
        "The repository someone_repo does not belong to the list of trusted repositories and as such cannot "
        "be downloaded. Do you trust this repository and wish to add it to the trusted list of repositories "
        "(y/N)?"
    )


HOSTILE = {
    "absolute": ([("/tmp/evil", b"")], "Archive entry has absolute path: /tmp/evil"),
    "drive": ([("C:\\evil", b"")], "Archive entry has absolute path: C:"),
    "up": ([("r/hubconf.py", b""), ("r/../../evil", b"")], "contains directory traversal: r/../../evil"),
    "back": ([("r\\..\\..\\evil", b"")], "Archive entry contains directory traversal: "),
    "device": ([(special("r/null", stat.S_IFCHR), b"")], "Archive entry is no file: r/null"),
    "pipe": ([(special("r/pipe", stat.S_IFIFO), b"")], "Archive entry is no file: r/pipe"),
    "empty": ([], "Archive is empty"),
    "flat": ([("hubconf.py", HUBCONF)], "Archive has no folder"),
    "here": ([("./hubconf.py", HUBCONF)], "Archive has no folder"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_archives(github, cache, tmp_path, kind):
    members, text = HOSTILE[kind]
    github["/someone/repo/v2"] = 200, archive(members), None
    (cache / "other_repo_main").mkdir(parents=True)
    before = listed(tmp_path)
    with pytest.raises(ValueError) as error:
        hub.load("someone/repo:v2", "tiny", 1, skip_validation=True, trust_repo=True)
    assert text in str(error.value)
    assert listed(tmp_path) == sorted([*before, "hub/trusted_list"]), "nothing is left"


def test_links_of_an_archive_are_plain_files(github, cache, tmp_path):
    (tmp_path / "outside").mkdir()
    link = special("r/link", stat.S_IFLNK)
    body = archive([("r/hubconf.py", HUBCONF), (link, str(tmp_path / "outside").encode())])
    github["/someone/repo/v3"] = 200, body, None
    hub.load("someone/repo:v3", "tiny", 1, skip_validation=True, trust_repo=True)
    found = cache / "someone_repo_v3" / "link"
    assert not found.is_symlink() and found.read_text() == str(tmp_path / "outside")
    behind = archive([("r/hubconf.py", HUBCONF), (link, b"/tmp"), ("r/link/evil", b"")])
    github["/someone/repo/v4"] = 200, behind, None
    with pytest.raises(OSError):
        hub.load("someone/repo:v4", "tiny", 1, skip_validation=True, trust_repo=True)
    assert not (cache / "someone_repo_v4").exists() and not os.path.exists("/tmp/evil")


def test_a_broken_download_keeps_the_repository(github, cache):
    where = dict(skip_validation=True, trust_repo=True)
    hub.load("someone/repo:v1", "tiny", 1, **where)
    github["/someone/repo/v1"] = 200, REPOSITORY[:100], len(REPOSITORY)
    with pytest.raises(hub.URLError):
        hub.load("someone/repo:v1", "tiny", 1, force_reload=True, **where)
    github["/someone/repo/v1"] = 200, b"no archive", None
    with pytest.raises(zipfile.BadZipFile):
        hub.load("someone/repo:v1", "tiny", 1, force_reload=True, **where)
    assert hub.load("someone/repo:v1", "tiny", 1, **where).in_features == 1


def test_a_ref_that_is_a_branch_and_a_tag(github):
    github["/someone/repo/x"] = 300, b"", 0
    github["/someone/repo/refs/heads/x"] = github["/someone/repo/v1"]
    with pytest.warns(UserWarning, match="^The ref x is ambiguous. Perhaps it is both a tag and a branch"):
        hub.load("someone/repo:x", "tiny", 1, skip_validation=True, trust_repo=True)


def test_refs_are_asked_for(github, cache, monkeypatch):
    pages = {"branches&1": '[{"name": "main", "commit": {"sha": "abc123"}}]', "branches&2": "[]"}
    pages |= {"tags&1": '[{"name": "v1", "commit": {"sha": "def456"}}]', "tags&2": "[]"}

    def read(request):
        kind, page = request.full_url.partition("/repos/someone/repo/")[2].split("?per_page=100&page=")
        return pages[f"{kind}&{page}"]

    monkeypatch.setattr(hub, "_read_url", read)
    for ref in ("main", "v1", "abc", "def456"):
        hub._validate_not_a_forked_repo("someone", "repo", ref)
    with pytest.raises(ValueError, match="^Cannot find other in https://github.com/someone/repo. If it's a"):
        hub._validate_not_a_forked_repo("someone", "repo", "other")


def test_a_token_that_may_do_less_than_nobody(monkeypatch):
    seen = []

    def read(request):
        seen.append(request.get_header("Authorization"))
        if seen[-1]:
            raise hub.HTTPError(request.full_url, 403, "forbidden", {}, io.BytesIO())
        return '[{"name": "v1", "commit": {"sha": "d"}}]'

    monkeypatch.setattr(hub, "_read_url", read)
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    hub._validate_not_a_forked_repo("someone", "repo", "v1")
    assert seen == ["token secret", None]


def test_the_default_branch(cache, monkeypatch):
    def fails(error):
        def opened(*args):
            raise error

        return opened

    body = io.BytesIO()
    monkeypatch.setattr(hub, "urlopen", fails(hub.HTTPError("u", 404, "no", {}, body)))
    assert hub._parse_repo_info("a/b") == ("a", "b", "master")
    monkeypatch.setattr(hub, "urlopen", fails(hub.URLError("no connection")))
    with pytest.raises(RuntimeError, match="^It looks like there is no internet connection and"):
        hub._parse_repo_info("a/b")
    (cache / "a_b_master").mkdir(parents=True)
    assert hub._parse_repo_info("a/b") == ("a", "b", "master")
    for wrong in ("a", "a/b/c", "a/b:c:d", "/b", "a/../c"):
        with pytest.raises(ValueError):
            hub._parse_repo_info(wrong)
