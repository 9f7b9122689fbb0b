"""What MkDocs asks for: the pages of the reference, made from the docstrings of the installed package."""

import importlib
import inspect
import re
import types

from mkdocs.structure.files import File

# title of a page: the module, or the class, that it shows
PAGES = {
    "rushlight": "rushlight",
    "rushlight.Tensor": "rushlight.Tensor",
    "rushlight.nn": "rushlight.nn",
    "rushlight.nn.Module": "rushlight.nn.Module",
    "rushlight.nn.functional": "rushlight.nn.functional",
    "rushlight.nn.init": "rushlight.nn.init",
    "rushlight.nn.utils": "rushlight.nn.utils",
    "rushlight.nn.utils.rnn": "rushlight.nn.utils.rnn",
    "rushlight.optim": "rushlight.optim",
    "rushlight.optim.lr_scheduler": "rushlight.optim.lr_scheduler",
    "rushlight.autograd": "rushlight.autograd",
    "rushlight.utils.data": "rushlight.utils.data",
    "rushlight.serialization": "rushlight.serialization",
    "rushlight.linalg": "rushlight.linalg",
    "rushlight.special": "rushlight.special",
    "rushlight.amp": "rushlight.amp",
    "rushlight.distributions": "rushlight.distributions",
}
SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", flags=re.M)
EXAMPLE = re.compile(r"(?:^>>> .*\n(?:(?!\n).*\n?)*)+", flags=re.M)
ENTRY = re.compile(r"^(\S.*?) : (.*)$", flags=re.M)


def holder_of(path):
    module, _, name = path.rpartition(".")
    if name[:1].isupper():
        return getattr(importlib.import_module(module), name)
    return importlib.import_module(path)


def members(holder):
    """(name, member) of all that has a text and is no module."""
    for name in sorted(dir(holder), key=str.lower):
        value = inspect.getattr_static(holder, name) if isinstance(holder, type) else getattr(holder, name)
        value = getattr(value, "__func__", value)
        if name[0] != "_" and callable(value) and not isinstance(value, types.ModuleType):
            if getattr(value, "__doc__", None):
                yield name, value


def signature_of(name, value):
    try:
        signature = str(inspect.signature(value))
    except (ValueError, TypeError):
        return name
    return name + re.sub(r" -> .*$|: (?:[^,()\[\]=]|\[[^\]]*\])+(?= = |,|\))", "", signature)


def code(language, text):
    return f"\n```{language}\n{text}\n```\n\n"


def markdown(text):
    """A docstring as Markdown: sections are bold, examples are code."""
    text = inspect.cleandoc(text).replace("<", "&lt;") + "\n"
    text = SECTION.sub(r"\n**\1**\n\n", text)
    text = ENTRY.sub(r"\n`\1` : \2  ", text)
    return EXAMPLE.sub(
        lambda found: f"\n```pycon\n{found.group().strip().replace('&lt;', '<')}\n```\n\n", text
    )


def page(title, path):
    lines = [f"# {title}", "", markdown(holder_of(path).__doc__ or ""), ""]
    for name, value in members(holder_of(path)):
        lines += [
            f"## {name}",
            "",
            f"```python\n{signature_of(name, value)}\n```",
            "",
            markdown(value.__doc__),
            "",
        ]
    return "\n".join(lines)


def on_files(files, config):
    """Add a page for each part of the package."""
    names = [f"- [`{title}`]({title}.md)" for title in PAGES]
    text = "\n".join(["# Reference", "", "Examples say `import rushlight as torch` first.", "", *names])
    files.append(File.generated(config, "reference/index.md", content=text))
    for title, path in PAGES.items():
        files.append(File.generated(config, f"reference/{title}.md", content=page(title, path)))
    return files
