"""The words that readers meet: one word for one thing, one spelling, whole sentences.

The lists were made while reading the pages as a newcomer would. Each entry is a pattern, and the
better word. They are checked over the pages of the documentation, README, NEWS and docstrings;
code, names in backquotes and examples are left out.
"""

import ast
import inspect
import re
from pathlib import Path

import pytest
from test_public_surface import callables, surface

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    *sorted((ROOT / "docs").rglob("*.md")),
    *(ROOT / name for name in ("README.md", "NEWS.md", "CONTRIBUTING.md")),
]
FOR_DEVELOPERS = ("architecture.md", "CONTRIBUTING.md")

# American spelling, as in the names of scikit-learn: everywhere, comments of the code apart
SPELLING = {
    r"\w*(standard|penal|minim|maxim|optim|recogn|factor|normal|linear|special|regular|general"
    r"|orthogonal|summar|visual|organ|emphas|character|initial|final|real|util|categor|randomi)"
    r"is(e|ed|es|ing|er|ers|ation|ations)": "-ize, -ization",
    r"\w*(colou|neighbou|favou|behaviou|labou|honou)rs?\w*": "-or",
    r"(un)?cent(re|red|res|ring)": "center",
    r"(labell|modell|travell|cancell)(ed|ing)": "one l",
    r"analys(e|ed|er|ing)": "analyze",
    r"grey|licence|artefacts?|judgement|tumours?|catalogue|programme": "American spelling",
    r"whilst|amongst|learnt|spelt": "while, among, learned, spelled",
}
# one word for one thing: what users read
THINGS = {
    r"(chosen|forced|unforced|selected|noise|irrelevant|relevant|candidate) columns?": "feature",
    r"(best|all|more|many|fewest) k columns": "k features",
    r"models? of (\w+|k) columns?": "a model of ... features",
    r"columns? (in|of) (the|a) models?": "features of the model",
    r"exchanges? of (a|one) (chosen )?columns?": "exchange of a feature",
    r"(more|fewer) columns than (rows|observations)": "more features than rows",
    r"(more|fewer) (rows|observations) than columns": "more rows than features",
    r"groups of columns": "groups of features",
    r"columns (that )?separate": "features separate",
    r"over \*?all\*? columns": "over all features",
    r"which columns? (matter|could|are real)": "which features",
    r"(?<!linear )(?<!class )predictors? in the model": "features in the model",
    r"covariates?|regressors?|explanatory variables?|independent variables?": "features",
    r"observations? (that|which) (chose|have)|held-out observations?|new observations?": "rows",
    r"samples? of observations?|number of observations?": "number of rows",
    r"subset size|model size|cardinality k": "size k",
    r"active set": "support",
    r"cost function|loss function|criterion function": "loss or objective",
}
# what messages say of the features that a model may have; columns are those of a table or of X
OF_MESSAGES = {
    **{pattern: better for pattern, better in THINGS.items() if "column" in pattern},
    r"(constant|usable|equal|x|all|no|these|many|more|such) columns? (are|is|do|does|that can be"
    r"|could|of the model|separates?|hold|competes?|nearly)": "feature",
    r"columns (and|in) the model|columns? of the (larger |smaller )?model": "features of the model",
    r"(choosing|chose|among|has no|leave|leave some|leave such) (the )?columns(?! of)": "features",
    r"columns (separate|almost|whose squares|that separate|left out|competing)": "features",
    r"linear combinations? of (other |earlier )?columns": "features",
    r"(?<!start of )(?<!no\. )observations?": "row",
}
# sentences that have to be read twice
SENTENCES = {
    r"(\w+ is|what is) called how|what is called": "name the thing",
    r"are alike in the rest|in the rest\b": "say what is the same",
    r"no other is\b": "the list is complete",
    r"such an? \W?\w+\W? comes without": "these models are proven; their bound is empty",
    r"is one of more than": "changes smaller than ... do not count",
    r"what no model of the size falls below": "the proven lower bound",
    r"either way\b": "on either side",
    r"scores the choice too": "scores the choice as well",
    r"until then is kept|what is there": "name what is kept",
    r"what (stands|comes|goes|holds|counts) (there|here|in)\b": "name the thing",
    r"(; |, and )those (of|with|that)\b": "repeat the noun",
    r"what (\w+ )?(rests on|it lacks)": "name the thing",
    r"gone over|looked through|on a way\b|by the way of": "read, searched, in a sequence of steps",
    r"settle[sd]?|settling": "verify",
    r"\(?(the|those|these|\w+ed|\w+ent|new|true|other|small|large|valid) ones": "repeat the noun",
    r"prices?\b": "cost",
    r"mended|mends?": "corrected",
    r"e\.g\.|i\.e\.|etc\.|resp\.": "for example, that is, and so on",
    r"obviously|trivially|simply|note that|needless to say": "leave it out",
    r"utili[sz]e[sd]?|leverag\w+|facilitat\w+|functionalit\w+": "use, help, function",
    r"et cetera|viz\.": "name them",
}


def plain(text):
    """The text without blocks of code, examples, names in backquotes, links' targets, and titles of
    tags; lines joined.
    """
    text = re.sub(r"\A---\n.*?^---\n", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^( *)(```+)\w*\n.*?^\1\2", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^ *(>>>|\.\.\.) .*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"`[^`\n]*`", "`x`", text)
    text = re.sub(r"\]\([^)\s]*\)|\]\[[\w.]*\]|<[^>\n]*>", "]", text)
    return " ".join(text.split())


def public():
    """{public name: docstring}"""
    things = {**surface(), **callables()}
    return {name: plain(inspect.getdoc(thing) or "") for name, thing in things.items()}


def inner():
    """{file: its docstrings}, private ones included."""
    out = {}
    for file in sorted((ROOT / "l0path").rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
        found = [ast.get_docstring(node) for node in ast.walk(tree) if isinstance(node, kinds)]
        out[str(file.relative_to(ROOT))] = plain("\n\n".join(filter(None, found)))
    return out


def messages():
    """{file: the texts of its errors, warnings, notes and displays}: all texts of more than one
    word that are no docstrings; values that are filled in are "x".
    """
    out = {}
    for file in sorted((ROOT / "l0path").rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        nodes = list(ast.walk(tree))
        left_out = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        for node in nodes:
            if isinstance(node, ast.JoinedStr):
                left_out |= {id(part) for part in ast.walk(node) if part is not node}
        found = []
        for node in nodes:
            if id(node) in left_out:
                continue
            if isinstance(node, ast.JoinedStr):
                filled = (
                    part.value if isinstance(part, ast.Constant) else "x" for part in node.values
                )
                found.append("".join(filled))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
        out[str(file.relative_to(ROOT))] = "\n\n".join(text for text in found if " " in text)
    return out


def pages(without=()):
    return {
        str(file.relative_to(ROOT)): plain(file.read_text(encoding="utf-8"))
        for file in PAGES
        if file.name not in without
    }


def unwanted(texts, words):
    """["place: ... the words around ... (better word)"] of every match."""
    return [
        f"{place}: {text[max(0, match.start() - 40) : match.end() + 30]} ({better})"
        for pattern, better in words.items()
        for place, text in texts.items()
        for match in re.finditer(rf"(?<![\w-])(?:{pattern})(?!\w)", text, re.IGNORECASE)
    ]


def test_one_spelling():
    assert unwanted({**pages(), **inner()}, SPELLING) == []


def test_one_word_for_one_thing():
    assert unwanted({**pages(without=FOR_DEVELOPERS), **public()}, THINGS) == []


def test_messages_speak_of_features():
    assert unwanted(messages(), OF_MESSAGES) == []


def test_sentences_are_read_once():
    assert unwanted({**pages(without=FOR_DEVELOPERS), **public()}, SENTENCES) == []


def test_the_vocabulary_says_what_a_feature_is():
    page = (ROOT / "docs" / "vocabulary.md").read_text(encoding="utf-8")
    words = re.findall(r"^\| ([\w, -]+) \| ", page, re.MULTILINE)
    assert {"row", "column", "feature", "support, size k", "loss", "objective"} <= set(words)


@pytest.mark.parametrize(
    "text",
    [
        "Standardised coefficients.",
        "No exchange of one column for another.",
        "Such a `global` comes without a bound.",
        "The best of more columns than rows.",
    ],
)
def test_what_is_unwanted_is_found(text):
    found = unwanted({"page": plain(text)}, SPELLING | THINGS | SENTENCES)
    assert len(found) == 1 and found[0].startswith("page: ")


def test_code_and_names_are_left_out():
    text = "Say `colour`.\n\n```python\ncolour = 1\n```\n\n>>> colour\n\n[page](colour.md)"
    assert unwanted({"page": plain(text)}, SPELLING) == []
