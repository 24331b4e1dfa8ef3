"""What mkdocs cannot know by itself: the pages of the reference, one for each public name of
`l0path.__all__`, and the vignettes that have been rendered.
"""

import inspect
import re
import sys
from pathlib import Path
from types import ModuleType

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
HTML = ROOT / "vignettes" / "html"
sys.path.insert(0, str(ROOT / "docs"))
from docstrings import found, home, l0path, links, markdown, prose, reference  # noqa: E402

TYPES = """In signatures, `Matrix` is an array, DataFrame, SciPy sparse matrix or design (n, p); `ArrayLike` what NumPy makes an array of; `Columns` names, indices or a mask of columns;
`Bound` a number, (p,) numbers or {name: number}; `Settings` a record of `l0path.solvers`; `Seed` a whole number, a NumPy Generator or None; `Selector` the keywords k, lambda0, index, slice,
lambda1, lambda2 ([selectors](../paths.md))."""


def page(name, identifiers):
    """Markdown of a page of the reference."""
    value = getattr(l0path, name)
    whole = isinstance(value, ModuleType)
    lines = (
        [f"# l0path.{name}", "", markdown(inspect.getdoc(value) or "", links=links()), ""]
        if whole
        else []
    )
    for identifier in identifiers:
        lines += [
            f"::: {home(identifier)}",
            *([] if whole else ["    options:", "      heading_level: 1"]),
            "",
        ]
    return "\n".join(lines)


def first_sentence(identifier):
    """What a name is, for a table."""
    text = " ".join((inspect.getdoc(found(identifier)) or "").split("\n\n")[0].split())
    return prose(re.split(r"(?<=[a-z)`])[.:;] ", text)[0].rstrip(".:"), None)


def vignettes():
    """[(name, title, first paragraph)] of the text notebooks."""
    out = []
    for file in sorted((ROOT / "vignettes").glob("*.py")):
        words = re.search(
            r"^# # (.+)\n#\n((?:# .+\n)+)", file.read_text(encoding="utf-8"), re.MULTILINE
        )
        if file.name != "run.py" and words:
            out.append(
                (
                    file.stem,
                    words[1],
                    " ".join(line.removeprefix("# ").strip() for line in words[2].splitlines()),
                )
            )
    return out


def rendered():
    """Names of the vignettes that `vignettes/run.py --html` has rendered."""
    return [name for name, _, _ in vignettes() if (HTML / f"{name}.html").exists()]


def on_config(config):
    """Pages that the navigation does not list come last, before the reference, news and
    contributing.
    """
    listed = {page for entry in config.nav for page in entry.values()} | {
        "news.md",
        "contributing.md",
    }
    config.nav += sorted(
        file.name for file in (ROOT / "docs").glob("*.md") if file.name not in listed
    )
    config.nav += [
        {
            "Reference": [
                "reference/index.md",
                *({f"l0path.{name}": f"reference/{name}.md"} for name in reference()),
            ]
        },
        {"News": "news.md"},
        {"Contributing": "contributing.md"},
    ]
    return config


def on_files(files, config):
    """Add generated pages, and the vignettes as they were rendered."""
    index = [
        "# Reference",
        "",
        "Every public name; the pages are made from the docstrings.",
        "",
        TYPES,
        "",
        "| name | what it is |",
        "|---|---|",
    ]
    for name, identifiers in reference().items():
        files.append(
            File.generated(config, f"reference/{name}.md", content=page(name, identifiers))
        )
        index += [
            f"| [`{identifier}`][{home(identifier)}] | {first_sentence(identifier)} |"
            for identifier in identifiers
        ]
    files.append(File.generated(config, "reference/index.md", content="\n".join(index)))
    for name in rendered():
        files.append(
            File.generated(
                config, f"vignettes/{name}.html", abs_src_path=str(HTML / f"{name}.html")
            )
        )
    return files


def on_page_markdown(text, page, config, files):
    """The page of the vignettes lists them, with links to those that are rendered; that for
    developers is the file at the root, whose links go out from there.
    """
    if page.file.src_uri == "contributing.md":
        return (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").replace("](docs/", "](")
    if page.file.src_uri != "vignettes.md":
        return text
    lines = [text]
    for name, title, words in vignettes():
        here = name in rendered()
        lines += [
            "",
            f"## [{title}](vignettes/{name}.html)" if here else f"## {title}",
            "",
            words,
            "",
            f"`vignettes/{name}.py`" + ("" if here else ", not rendered here"),
        ]
    return "\n".join(lines)
