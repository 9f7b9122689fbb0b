"""How texts of strangers are shown: names out of files may hold anything, even orders to a terminal."""

import html


def plain(text, limit=None):
    """Return a text that prints as one line and that no terminal obeys.

    What does not print (control characters, line ends, marks that turn the direction of writing) becomes an
    escape of Python's, and a backslash becomes two, so that nothing else looks like one. With ``limit``, a
    longer text is cut there.
    """
    rest = ""
    if limit is not None and len(text) > limit:
        text, rest = text[:limit], "..."
    if not text.isprintable() or "\\" in text:
        text = "".join(map(_plain_character, text))
    return text + rest


def _plain_character(c):
    if c == "\\":
        return "\\\\"
    return c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode()


def line(text):
    """Return a message of several lines as one, for stderr."""
    return " ".join(plain(part.strip()).replace("\\\\", "\\") for part in text.splitlines() if part.strip())


def size(nbytes):
    """Return a number of bytes for people: '312 bytes', '1.5 MB'."""
    if nbytes < 1000:
        return f"{nbytes} byte" if nbytes == 1 else f"{nbytes} bytes"
    for unit in ("kB", "MB", "GB", "TB"):
        nbytes /= 1000
        if nbytes < 999.95 or unit == "TB":
            break
    return f"{nbytes:.1f} {unit}"


def count(n, noun):
    """Return '1 tensor', '1,200 tensors'."""
    return f"{n:,} {noun}" + ("s" if n != 1 else "")


def html_cells(cells, tag="td", right=()):
    """Return a row of an HTML table; the columns in ``right`` hold numbers."""
    style = {True: ' style="text-align: right"', False: ' style="text-align: left; white-space: pre"'}
    texts = (f"<{tag}{style[i in right]}>{html.escape(cell)}</{tag}>" for i, cell in enumerate(cells))
    return f"<tr>{''.join(texts)}</tr>"


def html_lines(lines):
    """Return lines of text below a table."""
    return "".join(f"<div>{html.escape(text)}</div>" for text in lines)
