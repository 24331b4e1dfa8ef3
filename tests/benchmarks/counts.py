"""What the sources of the package consist of: lines, statements, kernels, verbs, branches on the
kind of problem, implementations of a protocol, import circles. They are read, not run.

    python tests/benchmarks/counts.py              this checkout
    python tests/benchmarks/counts.py FOLDER .     two checkouts, a column each
"""

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from test_layers import FORWARD, imports, package_sources, upward_imports

LAYOUT = {getattr(tokenize, name) for name in "COMMENT NL NEWLINE INDENT DEDENT ENDMARKER".split()}
# the classes at the top of a family, whose descendants count as its implementations
FAMILIES = {
    "working-set models": ("WorkingColumns", "GroupModel"),
    "neighborhoods": ("RefitNeighborhood", "GramNeighborhood", "GroupNeighborhood"),
    "strategies": ("SizeStrategy",),
}
# what there is for some kinds of problems only
ASKED_FOR = ("turn", "groups", "responses", "classes")
BASES = {"WorkingColumns", "SizeStrategy", "ExchangeStrategy"}  # which serve nothing by themselves


def code_lines(source, tree):
    """How many lines hold code: no docstring, comment or blank."""
    read = tokenize.generate_tokens(io.StringIO(source).readline)
    lines = {n for t in read if t.type not in LAYOUT for n in range(t.start[0], t.end[0] + 1)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            lines -= set(range(node.lineno, node.end_lineno + 1))
    return len(lines)


def decorators(node):
    return [ast.unparse(one) for one in getattr(node, "decorator_list", ())]


def has_traits(node):
    """Whether a class is a loss: its body says `traits = LossTraits(...)`."""
    return any(
        isinstance(s, ast.Assign) and ast.unparse(s).startswith("traits = LossTraits(")
        for s in node.body
    )


def branch(node, losses):
    """The kind of problem that a node asks about, or None."""
    if isinstance(node, ast.Attribute) and node.attr in ("quadratic", "coupled", "by_class"):
        return node.attr if isinstance(node.ctx, ast.Load) else None
    if isinstance(node, ast.Compare) and ast.unparse(node.comparators[-1]) == "None":
        last = ast.unparse(node.left).split(".")[-1]
        return f"{last} is None" if last in ASKED_FOR else None
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
        named = {n.id for n in ast.walk(node.args[1]) if isinstance(n, ast.Name)}
        return "isinstance of a loss" if named & losses else None
    return None


def has_verbs(node):
    """Whether the methods of a class are verbs, see `core.dispatch.with_verbs`."""
    return any(ast.unparse(one) in ("named", "with_verbs") for one in node.decorator_list)


def descendants(roots, bases):
    """The names of the classes that have one of the roots among their ancestors, and the roots."""
    found = set(roots)
    while more := {name for name, above in bases.items() if found & above} - found:
        found |= more
    return found


def circles(sources):
    """The sets of modules that import each other; imports within functions count, those for type
    checkers do not. A module alone is none.
    """
    to = {
        name: {t for t, _, runs in imports(name, sources) if t in sources and runs is not None}
        for name in sources
    }

    def reached(start):
        seen, rest = set(), [start]
        while rest:
            new = to[rest.pop()] - seen
            seen |= new
            rest += new
        return seen

    ways = {name: reached(name) for name in sources}
    found = {frozenset(m for m in ways[name] if name in ways[m]) for name in sources}
    return [circle for circle in found if len(circle) > 1]


def counts(folder):
    """{what: number} of a checkout."""
    sources = package_sources(Path(folder).resolve() / "l0path")
    trees = {name: ast.parse(source) for name, (source, _) in sources.items()}
    lines = {name: code_lines(source, trees[name]) for name, (source, _) in sources.items()}
    nodes = [(name, node) for name, tree in trees.items() for node in ast.walk(tree)]
    classes = {n.name: n for _, n in nodes if isinstance(n, ast.ClassDef)}
    functions = [n for _, n in nodes if isinstance(n, ast.FunctionDef)]
    losses = {n.name for _, n in nodes if isinstance(n, ast.ClassDef) and has_traits(n)}
    marks = Counter(mark for f in functions for mark in decorators(f))
    generic = ("generic", "generic_in_python", "singledispatch")
    verbs = {f.name for f in functions if any(mark in generic for mark in decorators(f))}
    spoken = [c for _, c in nodes if isinstance(c, ast.ClassDef) and has_verbs(c)]
    methods = [f.name for c in spoken for f in c.body if isinstance(f, ast.FunctionDef)]
    out = {
        "files": len(sources),
        "code lines": sum(lines.values()),
        "code lines of compiled/": sum(n for m, n in lines.items() if ".compiled." in m),
        "kernels (@njit)": marks["njit"],
        "verbs of losses and penalties": len(verbs),
        "implementations of verbs, as methods": sum(name in verbs for name in methods),
        "implementations of verbs, registered": sum(
            n for mark, n in marks.items() if ".register" in mark
        ),
        "functions named _": sum(f.name == "_" for f in functions),
        "calls of locals()": sum(
            isinstance(n, ast.Call) and ast.unparse(n) == "locals()" for _, n in nodes
        ),
    }
    # methods of that name, and what arrays and records of that name hold, ask for no kind
    other = {id(n.func) for _, n in nodes if isinstance(n, ast.Call)}
    other |= {id(n.value) for _, n in nodes if isinstance(n, ast.Subscript | ast.Attribute)}
    kinds = Counter(branch(node, losses) for _, node in nodes if id(node) not in other)
    kinds.pop(None)
    out |= {f"branches: {kind}": kinds[kind] for kind in sorted(kinds)}
    out["branches on the kind of problem"] = kinds.total()
    bases = {name: {ast.unparse(b) for b in node.bases} for name, node in classes.items()}
    for family, roots in FAMILIES.items():
        out[family] = len((descendants(roots, bases) - BASES) & set(classes))
    found = circles(sources)
    out["import circles, late imports counted"] = len(found)
    out["modules in them"] = sum(map(len, found))
    # and the one that upward_imports excuses
    above = {text.partition(":")[0] for text in upward_imports(sources)}
    out["modules that import from above"] = len(above | ({FORWARD} & set(sources)))
    statements = Counter(
        n.split(".")[1] for n, node in nodes if "." in n and isinstance(node, ast.stmt)
    )
    out |= {f"statements: {name}": number for name, number in sorted(statements.items())}
    return out | {"statements": statements.total()}


if __name__ == "__main__":
    folders = sys.argv[1:] or ["."]
    columns = [counts(folder) for folder in folders]
    print("| |", " | ".join(folders), "|\n|---" + "|---:" * len(folders) + "|")
    for what in dict.fromkeys(what for column in columns for what in column):
        print(f"| {what} |", " | ".join(str(column.get(what, 0)) for column in columns), "|")
