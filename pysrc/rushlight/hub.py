"""Models from other people's repositories and files from the web: ``torch.hub``.

A repository has a file ``hubconf.py``; each public function in it is an entry point that makes a model. What
is downloaded stays in the cache, a folder that :func:`get_dir` names:

    get_dir() ─┬─ owner_name_ref/     a repository as it was unpacked, with its hubconf.py
               ├─ checkpoints/        files of load_state_dict_from_url()
               └─ trusted_list        repositories that the user agreed to run: owner_name, one a line

Nothing is half there: a download has another name until it is whole and its hash is right, and an archive is
unpacked into a folder of its own, which gets the repository's name at the end.

See https://docs.pytorch.org/docs/2.13/hub.html
"""

from __future__ import annotations

import builtins
import contextlib
import hashlib
import json
import os
import re
import shutil
import stat
import sys
import tempfile
import uuid
import warnings
import zipfile
from urllib.error import ContentTooShortError, HTTPError, URLError
from urllib.parse import urlparse
from urllib.request import Request, urlopen

from . import _missing
from .serialization import load as _load_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "download_url_to_file",
    "get_dir",
    "help",
    "list",
    "load",
    "load_state_dict_from_url",
    "set_dir",
]
__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")  # of resnet18-bfd8deac.pth: bfd8deac
ENV_GITHUB_TOKEN = "GITHUB_TOKEN"
ENV_TORCH_HOME = "TORCH_HOME"
ENV_XDG_CACHE_HOME = "XDG_CACHE_HOME"
DEFAULT_CACHE_DIR = "~/.cache"
VAR_DEPENDENCY = "dependencies"
MODULE_HUBCONF = "hubconf.py"
READ_DATA_CHUNK = 128 * 1024
_TRUSTED_REPO_OWNERS = ("facebookresearch", "facebookincubator", "pytorch", "fairinternal")
_hub_dir: str | None = None


# ---- progress ----
class _Faketqdm:
    """What shows progress where tqdm is not installed: percents, or bytes of a file of unknown size."""

    def __init__(self, total=None, disable=False, unit=None, *args, **kwargs):
        self.total = total
        self.disable = disable
        self.n = 0

    def update(self, n):
        if self.disable:
            return
        self.n += n
        told = f"{self.n:.1f} bytes" if not self.total else f"{100 * self.n / float(self.total):.1f}%"
        sys.stderr.write(f"\r{told}")
        sys.stderr.flush()

    def set_description(self, *args, **kwargs):
        """Accepted and not shown."""

    def write(self, s):
        sys.stderr.write(f"{s}\n")

    def close(self):
        self.disable = True

    def __enter__(self):
        return self

    def __exit__(self, exc_type, exc_val, exc_tb):
        if not self.disable:
            sys.stderr.write("\n")


try:
    from tqdm import tqdm
except ImportError:
    tqdm = _Faketqdm


# ---- the cache ----
def _get_torch_home():
    """Return the folder that $TORCH_HOME names, by default ~/.cache/torch."""
    usual = os.path.join(os.getenv(ENV_XDG_CACHE_HOME, DEFAULT_CACHE_DIR), "torch")
    return os.path.expanduser(os.getenv(ENV_TORCH_HOME, usual))


def get_dir() -> str:
    """Return the folder in which downloads are kept.

    It is what set_dir() was given, else ``$TORCH_HOME/hub``; ``$TORCH_HOME`` is by default
    ``$XDG_CACHE_HOME/torch``, and that ``~/.cache/torch``.

    Returns
    -------
    str
        Its path; it need not exist.

    Notes
    -----
    Same as torch.hub.get_dir: https://docs.pytorch.org/docs/2.13/hub.html#torch.hub.get_dir
    """
    if os.getenv("TORCH_HUB"):
        warnings.warn("TORCH_HUB is deprecated, please use env TORCH_HOME instead", stacklevel=2)
    return os.path.join(_get_torch_home(), "hub") if _hub_dir is None else _hub_dir


def set_dir(d: str | os.PathLike[str]) -> None:
    """Choose the folder in which downloads are kept.

    Parameters
    ----------
    d : str or path
        The folder; ``~`` stands for the user's home.

    Notes
    -----
    Same as torch.hub.set_dir: https://docs.pytorch.org/docs/2.13/hub.html#torch.hub.set_dir
    """
    global _hub_dir
    _hub_dir = os.path.expanduser(d)


def _remove_if_exists(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.remove(path)


# ---- downloads ----
def _declared_size(reply):
    """The bytes that a server says it sends, or None."""
    told = reply.info().get("Content-Length")
    return int(told) if told is not None and told.strip().isdigit() else None


def _receive(reply, file, size, progress):
    """Write what a server sends to a file; returns its SHA256."""
    digest, received = hashlib.sha256(), 0
    with tqdm(total=size, disable=not progress, unit="B", unit_scale=True, unit_divisor=1024) as bar:
        while chunk := reply.read(READ_DATA_CHUNK):
            file.write(chunk)
            digest.update(chunk)
            received += len(chunk)
            bar.update(len(chunk))
    if size is not None and received < size:
        text = f"retrieval incomplete: got only {received} out of {size} bytes"
        raise ContentTooShortError(text, None)
    return digest.hexdigest()


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Download a file. It has its name only once it is whole and its hash is right.

    Parameters
    ----------
    url : str
        Address: ``https://``, ``http://``, ``ftp://`` or ``file://``.
    dst : str
        Path of the file; a file that is there is replaced.
    hash_prefix : str, optional
        What the SHA256 of the file begins with, in lower case hexadecimal digits.
    progress : bool, default True
        Show progress on stderr: with tqdm, where that is installed.

    Raises
    ------
    RuntimeError
        If the hash is another one.
    urllib.error.URLError
        If the address cannot be opened, or the connection ends before the file does.

    Notes
    -----
    Same as torch.hub.download_url_to_file:
    https://docs.pytorch.org/docs/2.13/hub.html#torch.hub.download_url_to_file

    Examples
    --------
    >>> import os
    >>> with open("weights.bin", "wb") as file:
    ...     _ = file.write(b"12345678")
    >>> torch.hub.download_url_to_file("file://" + os.path.abspath("weights.bin"), "copy.bin", progress=False)
    >>> os.path.getsize("copy.bin")
    8
    """
    dst = os.path.expanduser(dst)
    partial = f"{dst}.{uuid.uuid4().hex}.partial"
    # not tempfile, whose files nobody else may read
    with open(partial, "xb") as file:
        try:
            with urlopen(Request(url, headers={"User-Agent": "torch.hub"})) as reply:
                digest = _receive(reply, file, _declared_size(reply), progress)
            file.close()
            if hash_prefix is not None and not digest.startswith(hash_prefix):
                raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{digest}")')
            os.replace(partial, dst)
        except BaseException:
            os.remove(partial)
            raise


# ---- archives ----
def _check_member(member):
    """Refuse a member of an archive that would lie outside of the folder, or be no plain file."""
    name = member.filename.replace("\\", "/")
    if name.startswith("/") or re.match("[A-Za-z]:", name):
        raise ValueError(f"Archive entry has absolute path: {member.filename}")
    if ".." in name.split("/"):
        raise ValueError(f"Archive entry contains directory traversal: {member.filename}")
    mode = member.external_attr >> 16
    if member.create_system == 3 and stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK):
        raise ValueError(f"Archive entry is no file: {member.filename}")


def _safe_extract_zip(zip_file, extract_to):
    """Unpack an archive member by member, all of which were looked at before.

    Raises ValueError for absolute paths, for ``..`` and for devices. A symbolic link becomes what PyTorch
    makes of it: a plain file that has the target as its text. So no member can lead a later one elsewhere.
    """
    members = zip_file.infolist()
    for member in members:
        _check_member(member)
    for member in members:
        zip_file.extract(member, extract_to)


def _unpack_repository(archive, hub_dir, repo_dir):
    """Unpack an archive that has one folder, and give the folder its name in the cache."""
    fresh = tempfile.mkdtemp(prefix=".unpacking-", dir=hub_dir)
    try:
        with zipfile.ZipFile(archive) as file:
            if not file.namelist():
                raise ValueError(f"Archive is empty: {archive}")
            _safe_extract_zip(file, fresh)
            top = file.namelist()[0].replace("\\", "/").partition("/")[0]
        if top in ("", ".") or not os.path.isdir(os.path.join(fresh, top)):
            raise ValueError(f"Archive has no folder: {archive}")
        _remove_if_exists(repo_dir)
        os.rename(os.path.join(fresh, top), repo_dir)
    finally:
        shutil.rmtree(fresh)


# ---- repositories ----
def _git_archive_link(repo_owner, repo_name, ref):
    return f"https://github.com/{repo_owner}/{repo_name}/zipball/{ref}"


def _default_branch(repo_owner, repo_name):
    """main where there is one, else master; without a connection whichever the cache has."""
    try:
        with urlopen(f"https://github.com/{repo_owner}/{repo_name}/tree/main/"):
            return "main"
    except HTTPError as error:
        if error.code != 404:
            raise
        error.close()
        return "master"
    except URLError as error:
        for ref in ("main", "master"):
            if os.path.exists(f"{get_dir()}/{repo_owner}_{repo_name}_{ref}"):
                return ref
        raise RuntimeError(
            "It looks like there is no internet connection and the repo could not be found in the cache "
            f"({get_dir()})"
        ) from error


def _parse_repo_info(github):
    """(owner, name, ref) of "owner/name[:ref]"."""
    repo_info, _, ref = github.partition(":")
    parts = repo_info.split("/")
    # a part names a folder of the cache
    if len(parts) != 2 or not all(re.fullmatch(r"[\w.-]+", part) for part in parts) or ":" in ref:
        raise ValueError(f'expected "repo_owner/repo_name[:ref]", got "{github}"')
    return *parts, ref or _default_branch(*parts)


def _read_url(url):
    with urlopen(url) as reply:
        return reply.read().decode(reply.headers.get_content_charset("utf-8"))


def _validate_not_a_forked_repo(repo_owner, repo_name, ref):
    """Raise unless a ref is a branch or a tag of the repository: GitHub serves commits of its forks, too."""
    headers = {"Accept": "application/vnd.github.v3+json"}
    if token := os.environ.get(ENV_GITHUB_TOKEN):
        headers["Authorization"] = f"token {token}"
    for kind in ("branches", "tags"):
        page = 1
        while True:
            url = f"https://api.github.com/repos/{repo_owner}/{repo_name}/{kind}?per_page=100&page={page}"
            try:
                found = json.loads(_read_url(Request(url, headers=headers)))
            except HTTPError as error:
                if headers.pop("Authorization", None) is None:
                    raise
                error.close()
                continue  # the token may do less than nobody
            if not found:
                break
            if any(each["name"] == ref or each["commit"]["sha"].startswith(ref) for each in found):
                return
            page += 1
    raise ValueError(
        f"Cannot find {ref} in https://github.com/{repo_owner}/{repo_name}. If it's a commit from a forked "
        "repo, please call hub.load() with forked repo directly."
    )


def _check_repo_is_trusted(repo_owner, repo_name, owner_name_branch, trust_repo):
    """Ask the user about a repository that nobody has agreed to yet; raises unless the answer is yes."""
    hub_dir = get_dir()
    trusted_list = os.path.join(hub_dir, "trusted_list")
    with contextlib.suppress(FileExistsError):
        open(trusted_list, "x").close()
    with open(trusted_list) as file:
        agreed = {line.strip() for line in file}
    owner_name = f"{repo_owner}_{repo_name}"
    is_trusted = (
        owner_name in agreed
        or os.path.isdir(os.path.join(hub_dir, owner_name_branch))  # it was loaded before
        or repo_owner in _TRUSTED_REPO_OWNERS
    )
    if trust_repo is False or (trust_repo == "check" and not is_trusted):
        response = input(
            f"The repository {owner_name} does not belong to the list of trusted repositories and as such "
            "cannot be downloaded. Do you trust this repository and wish to add it to the trusted list of "
            "repositories (y/N)?"
        ).lower()
        if response in ("n", "no", ""):
            raise Exception("Untrusted repository.")
        if response not in ("y", "yes"):
            raise ValueError(f"Unrecognized response {response}.")
        if is_trusted:
            print("The repository is already trusted.")
    if not is_trusted:
        with open(trusted_list, "a") as file:
            file.write(owner_name + "\n")


def _download_repository(repo_owner, repo_name, ref, archive):
    url = _git_archive_link(repo_owner, repo_name, ref)
    sys.stdout.write(f'Downloading: "{url}" to {archive}\n')
    try:
        download_url_to_file(url, archive, progress=False)
    except HTTPError as error:
        if error.code != 300:
            raise
        error.close()
        # several choices: take the branch, as git does
        warnings.warn(
            f"The ref {ref} is ambiguous. Perhaps it is both a tag and a branch in the repo? Torchhub will "
            "now assume that it's a branch. You can disambiguate tags and branches by explicitly passing "
            "refs/heads/branch_name or refs/tags/tag_name as the ref. That might require using "
            "skip_validation=True.",
            stacklevel=4,
        )
        url = _git_archive_link(repo_owner, repo_name, f"refs/heads/{ref}")
        download_url_to_file(url, archive, progress=False)


def _get_cache_or_reload(github, force_reload, trust_repo, verbose=True, skip_validation=False):
    """Return the folder of a repository, which is downloaded unless the cache has it."""
    hub_dir = get_dir()
    os.makedirs(hub_dir, exist_ok=True)
    repo_owner, repo_name, ref = _parse_repo_info(github)
    folder = "_".join([repo_owner, repo_name, ref.replace("/", "_")])
    repo_dir = os.path.join(hub_dir, folder)
    _check_repo_is_trusted(repo_owner, repo_name, folder, trust_repo=trust_repo)
    if not force_reload and os.path.exists(repo_dir):
        if verbose:
            sys.stderr.write(f"Using cache found in {repo_dir}\n")
        return repo_dir
    if not skip_validation:
        _validate_not_a_forked_repo(repo_owner, repo_name, ref)
    archive = os.path.join(hub_dir, folder + ".zip")
    try:
        _download_repository(repo_owner, repo_name, ref, archive)
        _unpack_repository(archive, hub_dir, repo_dir)
    finally:
        _remove_if_exists(archive)
    return repo_dir


# ---- hubconf.py ----
@contextlib.contextmanager
def _add_to_sys_path(path):
    sys.path.insert(0, path)
    try:
        yield
    finally:
        sys.path.remove(path)


def _import_module(name, path):
    """Run a file as a module that stands in no table: each repository has a hubconf of its own."""
    import importlib.util

    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _import_hubconf(folder):
    return _import_module(MODULE_HUBCONF, os.path.join(folder, MODULE_HUBCONF))


def _check_dependencies(hubconf):
    from importlib.util import find_spec

    missing = [name for name in getattr(hubconf, VAR_DEPENDENCY, None) or () if find_spec(name) is None]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")


def _load_entry_from_hubconf(hubconf, model):
    if not isinstance(model, str):
        raise ValueError("Invalid input: model should be a string of function name")
    _check_dependencies(hubconf)
    entry = getattr(hubconf, model, None)
    if not callable(entry):
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return entry


def list(
    github: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: bool | str = "check",
    verbose: bool = True,
) -> builtins.list[str]:
    """Return the names of a repository's entry points.

    Parameters
    ----------
    github : str
        ``"owner/name[:ref]"`` on GitHub; without a branch or tag as the ref main is taken, else master.
    force_reload : bool, default False
        Download the repository though the cache has it.
    skip_validation : bool, default False
        Do not ask GitHub whether the ref belongs to the owner's repository.
    trust_repo : bool or 'check', default 'check'
        True: the repository is trusted. False: ask the user. 'check': ask unless it was trusted before.
    verbose : bool, default True
        Say on stderr when the cache is used.

    Returns
    -------
    list of str
        Callables of ``hubconf.py`` whose names do not begin with an underscore.

    Notes
    -----
    Same as torch.hub.list: https://docs.pytorch.org/docs/2.13/hub.html#torch.hub.list
    """
    folder = _get_cache_or_reload(
        github, force_reload, trust_repo, verbose=verbose, skip_validation=skip_validation
    )
    with _add_to_sys_path(folder):
        hubconf = _import_hubconf(folder)
    return [name for name in dir(hubconf) if name[0] != "_" and callable(getattr(hubconf, name))]


def help(
    github: str,
    model: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: bool | str = "check",
) -> Any:
    """Return the docstring of an entry point.

    Parameters
    ----------
    github : str
        ``"owner/name[:ref]"``, as for list().
    model : str
        Name of the entry point.
    force_reload : bool, default False
        Download the repository though the cache has it.
    skip_validation : bool, default False
        Do not ask GitHub whether the ref belongs to the owner's repository.
    trust_repo : bool or 'check', default 'check'
        As for list().

    Returns
    -------
    str or None
        The docstring.

    Notes
    -----
    Same as torch.hub.help: https://docs.pytorch.org/docs/2.13/hub.html#torch.hub.help
    """
    folder = _get_cache_or_reload(
        github, force_reload, trust_repo, verbose=True, skip_validation=skip_validation
    )
    with _add_to_sys_path(folder):
        hubconf = _import_hubconf(folder)
    return _load_entry_from_hubconf(hubconf, model).__doc__


def _load_local(hubconf_dir, model, *args, **kwargs):
    with _add_to_sys_path(hubconf_dir):
        return _load_entry_from_hubconf(_import_hubconf(hubconf_dir), model)(*args, **kwargs)


def load(
    repo_or_dir: Any,
    model: Any,
    *args: Any,
    source: str = "github",
    trust_repo: bool | str = "check",
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    """Call an entry point of a repository or of a folder: it makes a model.

    The code of the repository runs with all that the user may do.

    Parameters
    ----------
    repo_or_dir : str
        ``"owner/name[:ref]"`` on GitHub, or with ``source="local"`` the path of a folder.
    model : str
        Name of the entry point in ``hubconf.py``.
    *args
        Arguments of the entry point.
    source : {'github', 'local'}, default 'github'
        What `repo_or_dir` is.
    trust_repo : bool or 'check', default 'check'
        True: the repository is trusted. False: ask the user. 'check': ask unless it was trusted before.
    force_reload : bool, default False
        Download the repository though the cache has it.
    verbose : bool, default True
        Say on stderr when the cache is used.
    skip_validation : bool, default False
        Do not ask GitHub whether the ref belongs to the owner's repository.
    **kwargs
        Keyword arguments of the entry point.

    Returns
    -------
    object
        What the entry point returns.

    Raises
    ------
    ValueError
        If `source` is another one, or an archive has a member that would lie outside of the cache.
    RuntimeError
        If there is no such entry point, or a package that ``hubconf.py`` needs is not installed.

    Notes
    -----
    Same as torch.hub.load: https://docs.pytorch.org/docs/2.13/hub.html#torch.hub.load

    Examples
    --------
    >>> with open("hubconf.py", "w") as file:
    ...     _ = file.write("import rushlight\\ndef tiny(n): return rushlight.nn.Linear(n, 1)")
    >>> torch.hub.load(".", "tiny", 3, source="local")
    Linear(in_features=3, out_features=1, bias=True)
    """
    source = source.lower()
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source == "github":
        repo_or_dir = _get_cache_or_reload(
            repo_or_dir, force_reload, trust_repo, verbose=verbose, skip_validation=skip_validation
        )
    return _load_local(repo_or_dir, model, *args, **kwargs)


# ---- files of weights ----
def _is_legacy_zip_format(filename):
    """Whether a file is an archive of one file, as people packed those that torch wrote before 1.6."""
    if not zipfile.is_zipfile(filename):
        return False
    with zipfile.ZipFile(filename) as file:
        members = file.infolist()
    return len(members) == 1 and not members[0].is_dir()


def _legacy_zip_load(filename, model_dir, map_location, weights_only):
    warnings.warn(
        "Falling back to the old format < 1.6. This support will be deprecated in favor of default zipfile "
        "format introduced in 1.6. Please redo torch.save() to save it in the new zipfile format.",
        FutureWarning,
        stacklevel=3,
    )
    with zipfile.ZipFile(filename) as file:
        _safe_extract_zip(file, model_dir)
        extracted = os.path.join(model_dir, file.namelist()[0])
    return _load_file(extracted, map_location=map_location, weights_only=weights_only)


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> dict[str, Any]:
    """Load what torch.save wrote from an address; the file is downloaded once.

    Parameters
    ----------
    url : str
        Address of the file.
    model_dir : str, optional
        Folder that keeps the file; by default ``get_dir() + "/checkpoints"``.
    map_location : optional
        As for torch.load.
    progress : bool, default True
        Show progress on stderr.
    check_hash : bool, default False
        Compare the SHA256 with the digits in a name such as ``resnet18-bfd8deac.pth``.
    file_name : str, optional
        Name of the file in `model_dir`; by default that in the address.
    weights_only : bool, default False
        As for torch.load.

    Returns
    -------
    dict
        What the file has.

    Raises
    ------
    RuntimeError
        If the hash is another one; the file is not kept.

    Notes
    -----
    Same as torch.hub.load_state_dict_from_url:
    https://docs.pytorch.org/docs/2.13/hub.html#torch.hub.load_state_dict_from_url

    Examples
    --------
    >>> import os
    >>> torch.save({"weight": torch.ones(2)}, "there.pth")
    >>> url = "file://" + os.path.abspath("there.pth")
    >>> torch.hub.load_state_dict_from_url(url, model_dir="here", progress=False)  # doctest: +ELLIPSIS
    Downloading: ...
    {'weight': tensor([1., 1.])}
    """
    if os.getenv("TORCH_MODEL_ZOO"):
        warnings.warn("TORCH_MODEL_ZOO is deprecated, please use env TORCH_HOME instead", stacklevel=2)
    if model_dir is None:
        model_dir = os.path.join(get_dir(), "checkpoints")
    os.makedirs(model_dir, exist_ok=True)
    if file_name is None:
        file_name = os.path.basename(urlparse(url).path)
    cached = os.path.join(model_dir, file_name)
    if not os.path.exists(cached):
        sys.stdout.write(f'Downloading: "{url}" to {cached}\n')
        found = HASH_REGEX.search(file_name) if check_hash else None
        download_url_to_file(url, cached, found.group(1) if found else None, progress=progress)
    if _is_legacy_zip_format(cached):
        return _legacy_zip_load(cached, model_dir, map_location, weights_only)
    return _load_file(cached, map_location=map_location, weights_only=weights_only)
