"""Docstrings as Markdown, an extension of griffe, by which mkdocstrings reads: formulas and tables
of plain text stay as they are written, lines `name : text` become lists, examples code.
"""

import functools
import inspect
import re
import sys
from pathlib import Path
from types import ModuleType

import griffe

sys.path.insert(
    0, str(Path(__file__).resolve().parents[1])
)  # the package of the checkout, installed or not
import l0path

NAME = r"\*{0,2}[A-Za-z_]\w*"
NAMES = rf"{NAME}(?:, {NAME})*"
LATER = re.compile(
    rf"(?:(?<=[.;]) +|(?<=\S) {{3,}})(?={NAMES} ?: )"
)  # where a second name may begin within a line


def markdown(text, known=(), links=None):
    """A docstring as Markdown. known: names of parameters and attributes, which begin an item
    wherever they stand after a stop; links: {name in backquotes: identifier to link to}.
    """
    out = []
    for kind, lines in blocks(text.expandtabs().splitlines(), known):
        if kind == "title":
            out += ["", f"**{lines[0]}**", ""]
        elif kind in ("text", "pycon"):
            table = sum("   " in line.strip() for line in lines) > max(
                len(lines) // 2, 2
            )  # columns: scrolled rather than wrapped
            out += [
                "",
                "```{.text .table}" if kind == "text" and table else f"```{kind}",
                *lines,
                "```",
                "",
            ]
        else:
            pieces = split(" ".join(line.strip() for line in lines), known)
            if kind == "prose" and len(pieces) < 3:
                pieces = [" ".join(pieces)]
            for piece in pieces:
                named = begins(piece, known) or re.match(rf"{NAMES} : ", piece)
                out += [item(piece, links)] if named else ["", prose(piece, links), ""]
            out += [""] if kind == "prose" else []
    return "\n".join(out)


def blocks(lines, known):
    """[(kind, lines)]: "title" (underlined), "pycon" (a session), "text" (to be kept as written),
    "item" (name : text, up to the next or an empty line), "prose".
    """

    def is_item(line):
        return bool(re.match(rf"{NAMES} : ", line)) or begins(line, known)

    out, i = [], 0
    while i < len(lines):
        line = lines[i]
        if not line.strip():
            i += 1
            continue
        if i + 1 < len(lines) and re.fullmatch(r"-{3,}", lines[i + 1].strip()):
            out.append(("title", [line.strip()]))
            i += 2
            continue
        stop = i + 1
        if line.lstrip().startswith(">>>"):
            while stop < len(lines) and lines[stop].strip():
                stop += 1
            out.append(("pycon", dedent(lines[i:stop])))
        elif line.startswith(" ") or ("    " in line.strip() and not is_item(line)):
            while (
                stop < len(lines)
                and lines[stop].strip()
                and (lines[stop].startswith(" ") or "    " in lines[stop].strip())
            ):
                stop += 1
            out.append(("text", dedent(lines[i:stop])))
        elif is_item(line):
            while stop < len(lines) and lines[stop].strip() and not is_item(lines[stop]):
                stop += 1
            out.append(("item", lines[i:stop]))
        else:
            while (
                stop < len(lines)
                and lines[stop].strip()
                and not lines[stop].startswith(" ")
                and not is_item(lines[stop])
            ):
                stop += 1
            out.append(("prose", lines[i:stop]))
        i = stop
    return out


def dedent(lines):
    margin = min(len(line) - len(line.lstrip()) for line in lines)
    return [line[margin:].rstrip() for line in lines]


def begins(piece, known):
    """Whether a piece is `name : text` of known names."""
    head = re.match(rf"({NAMES}) ?: ", piece)
    return bool(head) and all(name.lstrip("*") in known for name in head[1].split(", "))


def split(text, known):
    """A text in pieces, a new one before each known name with a colon, or any name with a colon
    after a wide gap.
    """
    out, start = [], 0
    for gap in LATER.finditer(text):
        if gap[0].startswith("   ") or begins(text[gap.end() :], known):
            out.append(text[start : gap.start()])
            start = gap.end()
    return [*out, text[start:]]


def item(piece, links):
    names, _, rest = piece.partition(":")
    return f"- **`{names.strip()}`** – {prose(rest.strip().rstrip(';'), links)}"


def prose(text, links):
    """Text whose characters mean themselves, but for `code`; public names link to their place."""
    out = []
    for i, part in enumerate(re.split(r"`([^`]+)`", text)):
        if i % 2 == 0:
            out.append(
                re.sub(r"([\\*_\[\]#|])", r"\\\1", part).replace("&", "&amp;").replace("<", "&lt;")
            )
        else:
            name = part.removesuffix("()")
            out.append(f"[`{part}`][{links[name]}]" if links and name in links else f"`{part}`")
    return "".join(out)


def found(identifier):
    """The object of a dotted name of the package."""
    return functools.reduce(getattr, identifier.split(".")[1:], l0path)


def public(module):
    """Public names of a module: `__all__`, else the functions and classes that it defines."""
    names = getattr(module, "__all__", None)
    if names is None:
        names = [
            name
            for name, value in vars(module).items()
            if not name.startswith("_")
            and callable(value)
            and getattr(value, "__module__", "") == module.__name__
        ]
    return sorted(names, key=str.lower)


@functools.cache
def reference():
    """{page: [dotted public names]}: a page for every function and class of the package, one for
    each public module.
    """
    pages = {}
    for name in public(l0path):
        value = getattr(l0path, name)
        pages[name] = (
            [f"l0path.{name}.{inner}" for inner in public(value)]
            if isinstance(value, ModuleType)
            else [f"l0path.{name}"]
        )
    return pages


def home(identifier):
    """Where the object of a public name is defined: `l0path.fit` is `l0path.fitting.fit`."""
    value = found(identifier)
    return f"{value.__module__}.{value.__qualname__}"


@functools.cache
def links():
    """{what docstrings write in backquotes: identifier}: `l0path.fit`, `Path.certify`,
    `LocalSearch`.
    """
    out = {}
    for name in (name for names in reference().values() for name in names):
        value, place = found(name), home(name)
        out |= {name: place, value.__name__: place}
        for member, thing in vars(value).items() if inspect.isclass(value) else ():
            if not member.startswith("_") and (
                inspect.isfunction(thing) or isinstance(thing, property)
            ):
                out |= {
                    f"{name}.{member}": f"{place}.{member}",
                    f"{value.__name__}.{member}": f"{place}.{member}",
                }
    return out


class Docstrings(griffe.Extension):
    """Rewrites every docstring before it is rendered."""

    def on_object(self, *, obj, **_):
        if obj.is_alias or obj.docstring is None or obj.extra.get("l0path", {}).get("rewritten"):
            return
        if (
            obj.is_attribute and "property" not in obj.labels
        ):  # its docstring is that of the number's or text's class
            obj.docstring = None
            return
        obj.extra["l0path"]["rewritten"] = True
        known = set()
        if obj.is_function:
            known = {parameter.name.lstrip("*") for parameter in obj.parameters}
        elif obj.is_class:
            made = obj.members.get("__init__")
            known = {
                *obj.members,
                *(
                    parameter.name
                    for parameter in (
                        made.parameters if made is not None and not made.is_alias else ()
                    )
                ),
            }
        obj.docstring.value = markdown(obj.docstring.value, known, links())
