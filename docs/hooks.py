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


# the groups of the reference: what a reader wants to do, and the public names for it, in order
GROUPS = {
    "Fit": ["fit", "Path", "Model", "grid", "load", "fit_cost", "FitCost", "warm_up", "errors"],
    "Choose": ["cv_fit", "CVPath", "nested_cv", "NestedCV", "best_subset", "ModelSet"],
    "Look": ["Summary", "plots", "diagnostics"],
    "Infer": [
        "stability_selection",
        "StabilitySelection",
        "split_inference",
        "knockoff_filter",
        "KnockoffFilter",
        "anova",
    ],
    "Prove": ["Certificate", "solvers"],
    "Data": ["designs", "datasets", "simulate"],
    "Losses": ["losses", "own_loss"],
    "Estimators": [
        "L0Regressor",
        "L0RegressorCV",
        "L0Classifier",
        "L0ClassifierCV",
        "L0Survival",
        "L0SurvivalCV",
        "L0Equations",
        "one_standard_error",
    ],
    "Internals": ["internals"],
}
# designs that users make by name; the other names of the module are for those who write a design
DESIGNS = ["blocks", "convert", "polynomial", "additive", "derived", "Levels"]
LONG = 8  # classes with more methods, and modules with more names, have a page for each
RESULTS = ("Fit", "Choose", "Look", "Infer", "Prove")  # classes there are made by the package
QUIET = "---\nsearch:\n  boost: 0.2\n---\n\n"  # of pages that a search lists last
SIGNATURE = r'<div class="[^"]*doc-signature[^"]*">.*?</code></pre></div>'
UNDERLINED = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)


def example_first(text):
    """A docstring in numpydoc form with its section of examples before the other sections."""
    starts = [match.start() for match in UNDERLINED.finditer(text)]
    if not starts:
        return text
    sections = [text[a:b] for a, b in zip(starts, [*starts[1:], len(text)], strict=True)]
    examples = [one for one in sections if one.startswith("Examples")]
    if not examples or sections[0] in examples:
        return text
    rest = [one for one in sections if one not in examples]
    return "".join([text[: starts[0]], *(f"{one.rstrip()}\n\n" for one in examples), *rest])


class Values(griffe.Extension):
    """Shows examples first, leaves out docstrings of attributes that are those of the class of
    their value, and makes the first sentences of methods one line, all of which lists of methods
    show.
    """

    def on_function(self, *, func, **_):
        if func.docstring:
            first, blank, rest = func.docstring.value.partition("\n\n")
            func.docstring.value = example_first(" ".join(first.split()) + blank + rest)

    def on_class(self, *, cls, **_):
        if cls.docstring:
            cls.docstring.value = example_first(cls.docstring.value)

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
    pages = {"internals": []}
    for name in public(l0path):
        value = getattr(l0path, name)
        inner = public(value) if isinstance(value, ModuleType) else None
        pages[name] = (
            [f"l0path.{name}"] if inner is None else [f"l0path.{name}.{one}" for one in inner]
        )
    own = [f"l0path.designs.{name}" for name in DESIGNS]
    pages["internals"] = [name for name in pages["designs"] if name not in own]
    pages["designs"] = own
    return pages


@functools.cache
def grouped():
    """{group: pages of the reference}; every page belongs to one group."""
    known = [name for names in GROUPS.values() for name in names]
    missing = [name for name in reference() if name not in known]
    if missing:
        raise ValueError(f"add {missing} to GROUPS in docs/hooks.py")
    return {
        group: [name for name in names if name in reference()] for group, names in GROUPS.items()
    }


def methods(value):
    """Public methods of a class that are defined in the package, as names."""
    return [
        name
        for name in dir(value)
        if not name.startswith("_")
        and inspect.isfunction(inspect.getattr_static(value, name))
        and getattr(value, name).__module__.startswith("l0path")
        and inspect.getdoc(getattr(value, name))
    ]


@functools.cache
def long_modules():
    """{page: dotted names} of modules whose names have pages of their own."""
    return {page: names for page, names in reference().items() if len(names) > LONG}


def name_page(page_name, identifier):
    """The page of a dotted name that the reference lists under `page_name`."""
    return f"{page_name}.{short(identifier)}" if page_name in long_modules() else page_name


def short(identifier):
    return identifier.rpartition(".")[2]


@functools.cache
def long_classes():
    """{page: methods} of classes whose methods have pages of their own."""
    out = {}
    for name, identifiers in reference().items():
        value = found(identifiers[0]) if len(identifiers) == 1 else None
        if inspect.isclass(value):
            if len(methods(value)) > LONG:
                out[name] = methods(value)
    return out


def place_of(name, member=""):
    """The page of a public name of the reference, or of a method of a class."""
    return f"{name}.{member}" if member in long_classes().get(name, ()) else name


def page(name, identifiers):
    """Markdown of a page of the reference: a module's own docstring, and what is in it."""
    lines = []
    if name == "internals":
        lines = [QUIET + "# Internals", "", "Designs, for those who write a design.", ""]
    elif isinstance(getattr(l0path, name), ModuleType):
        options = ["show_root_heading: false", "show_root_toc_entry: false", "members: false"]
        lines = [f"# l0path.{name}", "", f"::: l0path.{name}", "    options:"]
        lines += [*(f"      {option}" for option in options), ""]
    if name in long_modules():
        return "\n".join([*lines, *table_of(identifiers)])
    level = ["    options:", "      heading_level: 1"] if not lines else []
    if name == "solvers":  # settings: their methods are for the engines
        level = ["    options:", "      members: false"]
    for identifier in identifiers:
        if name in long_classes():
            level = [
                *level,
                f"      filters: {['!^_', *(f'!^{m}$' for m in long_classes()[name])]}",
            ]
        lines += [f"::: {home(identifier)}", *level, ""]
    if name in long_classes():
        lines += ["## Methods", "", "| method | what it does |", "|---|---|"]
        lines += [
            f"| [`{member}`]({name}.{member}.md) | {first_sentence(f'{identifiers[0]}.{member}')} |"
            for member in long_classes()[name]
        ]
    return "\n".join(lines)


def inner_page(name, identifier):
    """Markdown of the page of a method, or of a name of a module."""
    options = ["    options:", "      heading_level: 1"]
    back = f"[{title_of(name)}]({name}.md) > {short(identifier)}"
    back = QUIET + back if name in ("internals", "CVPath") else back
    return "\n".join([back, "", f"::: {identifier}", *options, ""])


def inner_pages(name):
    """{page: Markdown} of methods of a class, or names of a module, that have their own."""
    members = [f"{home(reference()[name][0])}.{one}" for one in long_classes().get(name, ())]
    names = [home(one) for one in long_modules().get(name, ())]
    return {f"{name}.{short(one)}": inner_page(name, one) for one in [*members, *names]}


def table_of(identifiers):
    """Lines of a table of dotted names, with links and first sentences."""
    rows = [
        f"| [`{identifier}`][{home(identifier)}] | {first_sentence(identifier)} |"
        for identifier in identifiers
    ]
    return ["| name | what it is |", "|---|---|", *rows]


def title_of(name):
    """A page's name in the navigation."""
    return "Internals" if name == "internals" else f"l0path.{name}"


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
            value, place = found(name), f"{name_page(page_name, name)}.html#{home(name)}"
            out |= {name: place, value.__name__: place}
            for member in dir(value) if inspect.isclass(value) else ():
                if not member.startswith("_"):
                    of_class = name_page(place_of(page_name, member), name)
                    out[f"{value.__name__}.{member}"] = f"{of_class}.html#{home(name)}.{member}"
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


def folded(html, made_by_users=True):
    """The page, with long signatures folded away; made_by_users: whether the first signature is one
    that users write, else it is left out.
    """
    html = re.sub(
        SIGNATURE,
        lambda m: (
            f'<details class="signature"><summary>Signature</summary>{m[0]}</details>'
            if m[0].count("\n") > 3
            else m[0]
        ),
        html,
        flags=re.DOTALL,
    )
    return html if made_by_users else re.sub(SIGNATURE, "", html, count=1, flags=re.DOTALL)


def on_page_content(html, page, config, files):
    """Docstrings name pages and public objects in plain text; here they become links. Vignettes
    get their stored output.
    """
    place = page.file.src_uri
    if place.startswith("vignettes/"):
        return gallery.filled(html, vignette_page(Path(place).stem)[2])
    if not place.startswith("reference/"):
        return html
    name = Path(place).stem
    result = any(name in GROUPS[group] for group in RESULTS) and inspect.isclass(
        getattr(l0path, name, None)
    )
    html = folded(with_pictures(html), made_by_users=not result)
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
    reference_pages = [
        {group: [{title_of(name): f"reference/{name}.md"} for name in names]}
        for group, names in grouped().items()
    ]
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
        "Every public name, by what it is for. The pages are made from the docstrings.",
        "",
    ]
    for group, names in grouped().items():
        index += [f"## {group}", "", "| name | what it is |", "|---|---|"]
        for name in names:
            identifiers = reference()[name]
            files.append(
                File.generated(config, f"reference/{name}.md", content=page(name, identifiers))
            )
            for own, content in inner_pages(name).items():
                files.append(File.generated(config, f"reference/{own}.md", content=content))
            index += table_of(identifiers)[2:]
        index.append("")
    index += ["## Words in signatures", "", TYPES]
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
                    member = item.name.removeprefix(inner)
                    public_name = name + member
                    uri = name_page(place_of(place, member[1:]), name)
                    inventory.register(
                        name=public_name,
                        domain="py",
                        role=item.role,
                        uri=f"reference/{uri}.html#{item.name}",
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
