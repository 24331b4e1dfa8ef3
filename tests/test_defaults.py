"""docs/defaults.md says what the code does: every cell against the signatures and the parser."""

import inspect
import re
from pathlib import Path

import pandas as pd
import pytest

import l0path
from l0path.__main__ import CLASS_RIDGE, parser

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "defaults.md").read_text(encoding="utf-8")
COMMAND = "python -m l0path fit"
OPTIONS = {"random_state": "seed", "n_jobs": "jobs"}  # called otherwise on the command line
# what each door calls by another name, or what only this page's other doors know
NOT_LISTED = {"X", "y", "arguments", "memory", "sample_weight", "offset", "progress", "time_limit"}


def rows():
    """{argument: {door: text of the cell}} of the table."""
    lines = [line for line in PAGE.split("\n") if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    doors = [cell.strip("`") for cell in cells[0][1:]]
    return {row[0]: dict(zip(doors, row[1:], strict=True)) for row in cells[2:]}


TABLE = rows()
DOORS = list(next(iter(TABLE.values())))


def defaults(door):
    """{argument: default} of a door."""
    if door == COMMAND:
        options = vars(parser().parse_args(["fit", "file.csv", "--response", "y"]))
        named = {name: OPTIONS.get(name, name) for name in TABLE}
        return {name: options[option] for name, option in named.items() if option in options}
    parameters = inspect.signature(getattr(l0path, door)).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not p.empty}


@pytest.mark.parametrize("door", DOORS)
def test_every_cell_is_the_default_of_the_code(door):
    known = defaults(door)
    for name, cells in TABLE.items():
        said = cells[door]
        if said in ("of `fit`", "of `cv_fit`"):
            takes = inspect.signature(getattr(l0path, door)).parameters
            assert name not in takes and "arguments" in takes, name
        else:
            assert said == (f"`{known[name]!r}`" if name in known else ""), name


def test_all_doors_are_there_and_no_argument_that_differs_is_missing():
    assert set(DOORS) == {
        "fit", "cv_fit", "nested_cv", COMMAND,
        *(f"L0{kind}{more}" for kind in ("Regressor", "Classifier") for more in ("", "CV")),
    }  # fmt: skip
    every = {door: defaults(door) for door in DOORS}
    for name in {name for known in every.values() for name in known} - set(TABLE) - NOT_LISTED:
        values = {repr(known[name]) for known in every.values() if name in known}
        assert len(values) == 1, f"{name} differs: {values}; the page has to say it"


def test_what_the_text_says_of_values():
    assert f"`lambda2={CLASS_RIDGE}`" in PAGE
    assert parser().parse_args(["fit", "f.csv", "--response", "y", "--certify"]).certify == 30
    assert "spends 30 seconds" in re.sub(r"\s+", " ", PAGE)


def test_what_none_stands_for():
    X = pd.DataFrame(l0path.simulate.linear(n=300, p=120, k=3, random_state=0).X)
    y = X[0] - X[5] + l0path.simulate.linear(n=300, p=120, k=3, random_state=1).y * 0.01
    small = X.iloc[:30, :20]
    assert l0path.fit(small, y[:30]).details.k.max() == 15  # n // 2
    assert l0path.fit(X.iloc[:, :4], y).details.k.max() == 4  # p
    assert l0path.L0Regressor(3).fit(small, y[:30]).path_.details.k.max() == 3  # k
    classes = y > y.median()
    for path in (l0path.fit(small, y[:30]), l0path.fit(X.iloc[:, 7:11], classes, loss="logistic")):
        assert (path.details.lambda2 == 0).all() and (path.details.lambda1 == 0).all()
    model = l0path.L0Classifier(2).fit(X.iloc[:, :6], classes)
    assert (model.path_.details.lambda2 == CLASS_RIDGE).all()


def test_the_ridge_of_classes_changes_coefficients_by_two_or_three_hundredths():
    made = l0path.simulate.logistic(n=400, p=6, k=3, random_state=3)
    plain = l0path.fit(made.X, made.y, loss="logistic", max_k=3).coef(3)
    ridge = l0path.fit(made.X, made.y, loss="logistic", lambda2=CLASS_RIDGE, max_k=3).coef(3)
    change = (ridge.iloc[1:] / plain.iloc[1:] - 1).abs().max()
    assert 0.015 < change < 0.035
