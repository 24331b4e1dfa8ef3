"""Vignettes as pages of the site: text and output of the notebooks that
`python vignettes/run.py --notebooks` has executed, or where they were not executed here, of the
copies in docs/executed. `python docs/gallery.py` makes these copies, with small pictures, and the
thumbnails in docs/assets/gallery anew from the executed notebooks.
"""

import base64
import functools
import io
import json
import re
from pathlib import Path
from textwrap import indent
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
EXECUTED = ROOT / "vignettes" / "html"
STORED = ROOT / "docs" / "executed"
THUMBNAILS = ROOT / "docs" / "assets" / "gallery"
PICTURE, PAGE = "image/png", "text/html"


class Vignette(NamedTuple):
    """A text notebook: its name, its heading and how it begins."""

    name: str
    title: str
    words: str

    @property
    def executed(self):
        """The file of the notebook that was executed here, which need not be there."""
        return EXECUTED / f"{self.name}.ipynb"

    @property
    def copy(self):
        """The file of the copy that the repository keeps."""
        return STORED / f"{self.name}.json"

    @property
    def stored(self):
        """The notebook that the site shows."""
        return self.executed if self.executed.exists() else self.copy

    @property
    def small(self):
        """The file of its thumbnail."""
        return THUMBNAILS / f"{self.name}.png"


def beginning(words, length=150):
    """The first sentences of a text, until they have that many characters."""
    sentences = re.split(r"(?<=[.?!]) ", words)
    kept = [one for i, one in enumerate(sentences) if len(" ".join(sentences[:i])) < length]
    return " ".join(kept)


def vignettes():
    """All of them, by name."""
    out = []
    for file in sorted((ROOT / "vignettes").glob("*.py")):
        found = re.search(
            r"^# # (.+)\n#\n((?:# .+\n)+)", file.read_text(encoding="utf-8"), re.MULTILINE
        )
        if file.name not in ("run.py", "common.py") and found:
            words = " ".join(line.removeprefix("# ").strip() for line in found[2].splitlines())
            out.append(Vignette(file.stem, found[1], beginning(words)))
    return out


def parts():
    """(analyses, papers that are run again)."""
    papers = [one for one in vignettes() if one.name.startswith("replay_")]
    return [one for one in vignettes() if one not in papers], papers


@functools.cache
def stored():
    """The vignettes that have a page."""
    return [one for one in vignettes() if one.stored.exists()]


def text(value):
    """Notebooks keep texts as one string or as lines."""
    return value if isinstance(value, str) else "".join(value)


@functools.cache
def cells(file):
    return json.loads(file.read_text(encoding="utf-8"))["cells"]


def pictures(file):
    """[(PNG, whether its cell is marked as the thumbnail)] in the order of the notebook."""
    return [
        (
            base64.b64decode(text(output["data"][PICTURE])),
            "thumbnail" in cell["metadata"].get("tags", []),
        )
        for cell in cells(file)
        for output in cell.get("outputs", ())
        if PICTURE in output.get("data", ())
    ]


def thumbnail(file, width=480):
    """PNG of the marked picture, else of the first that is not much wider than high, else of the
    first; None where there is none.
    """
    from PIL import Image

    found = [(Image.open(io.BytesIO(data)), marked) for data, marked in pictures(file)]
    if not found:
        return None
    first = found[0][0]
    compact = next((one for one, _ in found if one.width <= 2.2 * one.height), first)
    picture = next((one for one, marked in found if marked), compact).convert("RGB")
    picture.thumbnail((width, width))
    out = io.BytesIO()
    picture.quantize(64).save(out, "PNG", optimize=True)
    return out.getvalue()


def shrunk(png, width=640, colors=40):
    """A picture of few colors that is no wider than that."""
    from PIL import Image

    picture = Image.open(io.BytesIO(png)).convert("RGB")
    picture.thumbnail((width, 4 * width))
    out = io.BytesIO()
    picture.quantize(colors).save(out, "PNG", optimize=True)
    return out.getvalue()


def small_output(output, longest=8000):
    """An output of a cell as the repository keeps it: text, short HTML, small pictures."""
    if "text" in output:
        return {"output_type": "stream", "text": text(output["text"])[:longest]}
    data = output.get("data", {})
    kept = {kind: text(data[kind]) for kind in (PAGE, "text/plain") if kind in data}
    if len(kept.get(PAGE, "")) > longest:
        del kept[PAGE]
    if PICTURE in data:
        png = shrunk(base64.b64decode(text(data[PICTURE])))
        kept = {PICTURE: base64.b64encode(png).decode()}
    return {"output_type": "display_data", "data": kept}


def small_copy(file):
    """The text of a notebook with its outputs, as the repository keeps it."""
    out = []
    for cell in cells(file):
        kept = {"cell_type": cell["cell_type"], "source": text(cell["source"])}
        kept["metadata"] = {"tags": cell["metadata"].get("tags", [])}
        if cell["cell_type"] == "code":
            kept["outputs"] = [small_output(one) for one in cell["outputs"]]
        out.append(kept)
    return json.dumps({"cells": out}, ensure_ascii=False, indent=0) + "\n"


def with_formulas(source):
    """Formulas of TeX become MathML, which needs no script."""
    from latex2mathml.converter import convert

    source = re.sub(
        r"\$\$(.+?)\$\$", lambda m: convert(m[1], display="block"), source, flags=re.DOTALL
    )
    return re.sub(r"(?<![\\$\w])\$(?! )([^$\n]+?)(?<! )\$(?!\w)", lambda m: convert(m[1]), source)


def prose(source, first):
    """Text of a cell. Headings below the title go down by one level, and pages of the
    documentation and other vignettes that it names become links.
    """
    source = with_formulas(source)
    if not first:
        source = re.sub(r"^#", "##", source, flags=re.MULTILINE)
    source = re.sub(r"`docs/(\w+)\.md`", r"[`docs/\1.md`](../\1.md)", source)
    titles = {one.name: one.title for one in stored()}
    return re.sub(
        r"`(\w+)\.py`",
        lambda m: f"[{titles[m[1]]}]({m[1]}.md)" if m[1] in titles else m[0],
        source,
    )


def fenced(source, language):
    """A block of code that no backquotes in it can end."""
    return f"`````{language}\n{source.rstrip()}\n`````"


def without_colors(source):
    """Text for a terminal without its escape sequences."""
    return re.sub(r"\x1b\[[0-9;]*m", "", source)


def page(vignette):
    """(Markdown, {name of a picture: PNG}, [HTML]): "<!--output 3-->" stands for the third piece
    of HTML, which Markdown must not touch.
    """
    lines, files, html = [], {}, []
    for cell in cells(vignette.stored):
        if cell["cell_type"] == "markdown":
            lines.append(prose(text(cell["source"]), first=not lines))
        elif cell["cell_type"] == "code":
            code = fenced(text(cell["source"]), "python")
            setting = code.startswith(("`````python\nimport ", "`````python\nfrom "))
            lines.append(
                '??? note "Imports and settings"\n\n' + indent(code, "    ") if setting else code
            )
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if PICTURE in data:
                name = f"{vignette.name}_{len(files) + 1}.png"
                files[name] = base64.b64decode(text(data[PICTURE]))
                lines.append(f"![Picture {len(files)}]({name})")
            elif PAGE in data:
                lines.append(f"<!--output {len(html)}-->")
                # out of the search, whose index takes some lists of numbers for words that it lacks
                html.append(f'<div class="output" data-search-exclude>{text(data[PAGE])}</div>')
            elif "text" in output or "text/plain" in data:
                words = output.get("text") or data["text/plain"]
                lines.append(fenced(without_colors(text(words)), "text"))
    return "\n\n".join(lines), files, html


def filled(html, pieces):
    """The page, with the stored pieces of HTML in their places."""
    return re.sub(r"(?:<p>)?<!--output (\d+)-->(?:</p>)?", lambda m: pieces[int(m[1])], html)


def card(one):
    """Markdown of an entry of the list; it is a link where the vignette has a page."""
    here, small = one.stored.exists(), f"![{one.title}](assets/gallery/{one.name}.png)"
    if here:
        place = f"(vignettes/{one.name}.md)"
        parts = [f"[{small}]{place}", f"**[{one.title}]{place}**", one.words]
    else:
        file = f"`vignettes/{one.name}.py`, not executed here"
        parts = [small, f"**{one.title}**", one.words, file]
    return "- " + "\n\n    ".join(parts) + "\n"


def cards(items):
    """Markdown of a list of vignettes."""
    return "\n".join(['<div class="grid cards gallery" markdown>', "", *map(card, items), "</div>"])


if __name__ == "__main__":
    THUMBNAILS.mkdir(exist_ok=True)
    STORED.mkdir(exist_ok=True)
    for vignette in vignettes():
        if vignette.executed.exists():
            vignette.copy.write_text(small_copy(vignette.executed), encoding="utf-8")
            if made := thumbnail(vignette.executed):
                vignette.small.write_bytes(made)
