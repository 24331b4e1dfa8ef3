"""What mkdocs cannot know by itself: the pages of the reference, one for each public name of
`l0path.__all__`, their pictures, and the vignettes that have been executed.
"""

import functools
import inspect
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import griffe
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]  # the package of the checkout, installed or not
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
import figures  # noqa: E402
import gallery  # noqa: E402

import l0path  # noqa: E402

TYPES = """In signatures, `Matrix` is an array, DataFrame, SciPy sparse matrix or design (n, p);
`ArrayLike` what NumPy makes an array of; `Columns` names, indices or a mask of columns; `Bound` a
number, (p,) numbers or {name: number}; `Settings` a record of `l0path.solvers`; `Seed` a whole
number, a NumPy Generator or None; `Selector` the keywords k, lambda0, index, slice, lambda1,
lambda2 ([selectors](../paths.md))."""


class Values(griffe.Extension):
    """Leaves out docstrings of attributes that are those of the class of their value, and makes the
    first sentences of methods one line, all of which lists of methods show.
    """

    def on_function(self, *, func, **_):
        if func.docstring:
            first, blank, rest = func.docstring.value.partition("\n\n")
            func.docstring.value = " ".join(first.split()) + blank + rest

    def on_attribute(self, *, attr, **_):
        if "property" not in attr.labels:
            attr.docstring = None


def found(identifier):
    """The object of a dotted name of the package."""
    return functools.reduce(getattr, identifier.split(".")[1:], l0path)


def home(identifier):
    """Where the object of a public name is defined: `l0path.fit` is `l0path.fitting.fit`."""
    value = found(identifier)
    return f"{value.__module__}.{value.__qualname__}"


def public(module):
    """Public names of a module: `__all__`, else the functions and classes that it defines."""
    names = getattr(module, "__all__", None) or [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__
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
        inner = public(value) if isinstance(value, ModuleType) else None
        pages[name] = (
            [f"l0path.{name}"] if inner is None else [f"l0path.{name}.{one}" for one in inner]
        )
    return pages


def page(name, identifiers):
    """Markdown of a page of the reference: a module's own docstring, and what is in it."""
    lines = []
    if isinstance(getattr(l0path, name), ModuleType):
        options = ["show_root_heading: false", "show_root_toc_entry: false", "members: false"]
        lines = [f"# l0path.{name}", "", f"::: l0path.{name}", "    options:"]
        lines += [*(f"      {option}" for option in options), ""]
    level = ["    options:", "      heading_level: 1"] if not lines else []
    if name == "solvers":  # settings: their methods are for the engines
        level = ["    options:", "      members: false"]
    for identifier in identifiers:
        lines += [f"::: {home(identifier)}", *level, ""]
    return "\n".join(lines)


def first_sentence(identifier):
    """What a name is, for a table."""
    text = " ".join((inspect.getdoc(found(identifier)) or "").split("\n\n")[0].split())
    return re.split(r"(?<=[a-z)`])[.:;] ", text)[0].rstrip(".:").replace("|", "\\|")


@functools.cache
def links():
    """{what docstrings write in backquotes: page and anchor}: `l0path.fit`, `Path.certify`."""
    out = {}
    for page_name, names in reference().items():
        for name in names:
            value, place = found(name), f"{page_name}.html#{home(name)}"
            out |= {name: place, value.__name__: place}
            for member in dir(value) if inspect.isclass(value) else ():
                if not member.startswith("_"):
                    out[f"{value.__name__}.{member}"] = f"{place}.{member}"
    return out


@functools.cache
def vignette_page(name):
    """What `gallery.page` makes of an executed vignette."""
    return gallery.page(next(one for one in gallery.stored() if one.name == name))


@functools.cache
def drawn():
    """{anchor in the reference: picture of the example there}."""
    out = {}
    for name, file in figures.pictures().items():
        owner, _, member = name.rpartition(".")
        inner = inspect.isclass(found(owner))
        out[f"{home(owner)}.{member}" if inner else home(name)] = file.name
    return out


def with_pictures(html):
    """The page, with the picture of each example that draws below its code."""
    for anchor, name in drawn().items():
        image = f'<p><img alt="What the example draws" src="../assets/reference/{name}"></p>'
        html = re.sub(
            rf'(id="{re.escape(anchor)}".*?Examples:.*?</code></pre></div>)',
            lambda m, image=image: m[1] + image,
            html,
            count=1,
            flags=re.DOTALL,
        )
    return html


def on_page_content(html, page, config, files):
    """Docstrings name pages and public objects in plain text; here they become links. Vignettes
    get their stored output.
    """
    place = page.file.src_uri
    if place.startswith("vignettes/"):
        return gallery.filled(html, vignette_page(Path(place).stem)[2])
    if not place.startswith("reference/"):
        return html
    html = with_pictures(html)
    html = re.sub(r"docs/(\w+)\.md", r'<a href="../\1.html">docs/\1.md</a>', html)
    return re.sub(
        r"(?<!>)<code>([\w.]+)</code>",
        lambda m: f'<a href="{links()[m[1]]}">{m[0]}</a>' if m[1] in links() else m[0],
        html,
    )


def on_config(config):
    """The version goes beside the name, executed vignettes into the gallery, and the reference and
    news to the end of the navigation.
    """
    config.site_name = f"l0path {PROJECT['version']}"
    config.nav[-1]["Gallery"] += [f"vignettes/{one.name}.md" for one in gallery.stored()]
    reference_pages = [{f"l0path.{name}": f"reference/{name}.md"} for name in reference()]
    config.nav += [
        {"Reference": ["reference/index.md", *reference_pages]},
        {"Project": [{"News": "news.md"}, {"Contributing": "contributing.md"}]},
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
    for one in gallery.stored():
        text, pictures, _ = vignette_page(one.name)
        files.append(File.generated(config, f"vignettes/{one.name}.md", content=text))
        for name, content in pictures.items():
            files.append(File.generated(config, f"vignettes/{name}", content=content))
    return files


@event_priority(100)  # before mkdocstrings writes the inventory
def on_env(env, config, files):
    """The inventory that other projects' documentation links by has the public names, too, with
    the methods of public classes.
    """
    inventory = config.plugins["mkdocstrings"].handlers.inventory
    inventory.version = PROJECT["version"]
    for place, names in reference().items():
        for name in names:
            inner = home(name)
            for item in list(inventory.values()):
                if item.name == inner or item.name.startswith(f"{inner}."):
                    public_name = name + item.name.removeprefix(inner)
                    inventory.register(
                        name=public_name,
                        domain="py",
                        role=item.role,
                        uri=f"reference/{place}.html#{item.name}",
                    )
    return env


def on_page_markdown(text, page, config, files):
    """The gallery lists the vignettes; the page for developers is the file at the root, whose links
    go out from there.
    """
    if page.file.src_uri == "contributing.md":
        return (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").replace("](docs/", "](")
    if page.file.src_uri == "vignettes.md":
        analyses, papers = gallery.parts()
        return text.replace("<!--analyses-->", gallery.cards(analyses)).replace(
            "<!--papers-->", gallery.cards(papers)
        )
    return text
