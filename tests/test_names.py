"""Names that say what they hold: objectives, increases, the positive class, penalties that a refit
leaves out. And names of the code, which are the terms of docs/vocabulary.md.
"""

import ast
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from recomputed import objective_of

import l0path
from l0path.__main__ import main

RNG = np.random.default_rng(5)
X = pd.DataFrame(RNG.standard_normal((90, 5)), columns=list("abcde"))
SCORE = 1.5 * X["b"] - X["d"]
Y = pd.Series(np.where(SCORE + RNG.logistic(size=90) > 0, "PD", "control"), name="group")
HOW = {"loss": "logistic", "lambda2": 1e-3, "max_k": 3}


def test_alternatives_hold_the_objective():
    path = l0path.fit(X, SCORE + RNG.standard_normal(90), lambda2=0.3)
    model, near = path.model(k=2), path.model(k=2).alternatives(n=3)
    assert list(near.columns) == ["dropped", "added", "objective", "relative", "proven"]
    assert model.objective > 1.05 * model.loss
    np.testing.assert_allclose(near.objective, model.objective * (1.0 + near.relative))
    without = model.summary().table["increase_if_dropped"]
    single = [
        min(o.objective for o in l0path.fit(X[[left]], path._source.data.y, lambda2=0.3))
        for left in reversed(model.features)
    ]
    np.testing.assert_allclose(without, np.array(single) - model.objective, rtol=1e-6)


def test_the_positive_class_is_said_everywhere():
    path = l0path.fit(X, Y, **HOW)
    about = "P(group = 'control')"
    assert path.classes == ("PD", "control")
    for text in (
        repr(path),
        repr(path.model(k=2)),
        str(path.model(k=2).summary()),
        str(path.coef(k=2)),
    ):
        assert about in text
    assert about in path.plot("coef").get_ylabel()
    hinge = l0path.fit(X, Y.to_numpy(), loss="squared_hinge", lambda2=0.1, max_k=2)
    assert "positive class 'control'" in repr(hinge)
    assert "P(" not in repr(l0path.fit(X, SCORE, max_k=1))


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "smoothed_hinge"])
def test_pos_label_turns_the_model_around(loss):
    how = {**HOW, "loss": loss, "lambda2": 0.01}
    path, other = l0path.fit(X, Y, **how), l0path.fit(X, Y, pos_label="PD", **how)
    assert other.classes == ("control", "PD")
    np.testing.assert_allclose(other.coef(k=2), -path.coef(k=2), rtol=1e-5, atol=1e-9)
    assert list(other.predict(X, k=2, type="class")) == list(path.predict(X, k=2, type="class"))
    again = l0path.fit(X, Y, pos_label="control", **how)
    assert again.classes == path.classes


def test_pos_label_in_the_other_doors(tmp_path):
    boxed = {**HOW, "lower": 0.0, "pos_label": "PD"}
    cv = l0path.cv_fit(X, Y, cv=3, random_state=1, **boxed)
    assert cv.classes == ("control", "PD") and (cv.coef().drop("(Intercept)") >= 0).to_numpy().all()
    nested = l0path.nested_cv(X, Y, outer=3, cv=3, random_state=1, **boxed)
    assert all(model.path.classes == ("control", "PD") for model in nested.models)
    data = X.assign(group=Y)
    assert l0path.fit("group ~ a + b + d", data, **boxed).classes == ("control", "PD")
    cv.save(tmp_path / "path.npz")
    loaded = l0path.load(tmp_path / "path.npz")
    assert loaded.classes == ("control", "PD")
    assert objective_of(loaded, k=1, X=X, y=Y) == pytest.approx(objective_of(cv, k=1))


@pytest.mark.parametrize("kind", ["L0Classifier", "L0ClassifierCV"])
def test_pos_label_of_classifiers_keeps_the_order_of_scikit_learn(kind):
    make = getattr(l0path, kind)
    how = {"random_state": 1} if kind.endswith("CV") else {"k": 2}
    plain = make(max_k=3, **how).fit(X, Y)
    turned = make(max_k=3, pos_label="PD", **how).fit(X, Y)
    assert list(turned.classes_) == ["PD", "control"] and turned.path_.classes == ("control", "PD")
    np.testing.assert_allclose(turned.coef_, plain.coef_, rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(turned.predict_proba(X), plain.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(
        turned.decision_function(X), turned.intercept_ + X.to_numpy() @ turned.coef_[0]
    )
    assert turned.score(X, Y) == plain.score(X, Y)
    np.testing.assert_allclose(
        turned.model_.coef["(Intercept)"], -plain.model_.coef["(Intercept)"], rtol=1e-5
    )


def test_pos_label_is_checked():
    with pytest.raises(ValueError, match=r"pos_label='pd'.*'PD' and 'control'"):
        l0path.fit(X, Y, pos_label="pd", **HOW)
    with pytest.raises(ValueError, match=r"pos_label=1 .*takes numbers"):
        l0path.fit(X, SCORE, pos_label=1)


def test_command_line_says_the_positive_class(tmp_path, capsys):
    X.assign(group=Y).to_csv(tmp_path / "data.csv", index=False)
    call = ["fit", str(tmp_path / "data.csv"), "--response", "group", "--max-k", "2", "--no-plots"]
    assert main([*call, "--out", str(tmp_path / "a")]) == 0
    assert capsys.readouterr().out.count("P(group = 'control')") >= 2
    chosen = pd.read_csv(tmp_path / "a" / "chosen.csv")
    assert set(chosen["positive_class"]) == {"control"}
    assert main([*call, "--out", str(tmp_path / "b"), "--pos-label", "PD"]) == 0
    turned = pd.read_csv(tmp_path / "b" / "chosen.csv")
    np.testing.assert_allclose(turned["coefficient"], -chosen["coefficient"], rtol=1e-5)
    assert main([*call, "--pos-label", "none"]) == 2
    assert "PD, control" in capsys.readouterr().err.replace("control, PD", "PD, control")


def test_a_refit_says_that_the_ridge_is_gone():
    y = SCORE + RNG.standard_normal(90)
    ridge = l0path.fit(X, y, lambda2=1.0).model(k=2).refit()
    words = "shrunk by lambda2 = 1"
    assert words in ridge.selection and words in " ".join(str(ridge.summary()).split())
    assert ridge.selection.startswith("conditional on selection")
    assert "shrunk" not in l0path.fit(X, y).model(k=2).refit().selection


def test_levels_of_column_names_are_joined():
    table = X[list("abc")].set_axis(
        pd.MultiIndex.from_tuples([("g", "a"), ("g", "b"), ("h", "")]), axis=1
    )
    y = SCORE + RNG.standard_normal(90)
    path = l0path.fit(table, y)
    assert path.names == ["g_a", "g_b", "h"] and path.notes == []
    turned = table[table.columns[::-1]]
    assert path.predict(turned, k=2).equals(path.predict(table, k=2))
    with pytest.raises(ValueError, match="lacks 1 of the columns that the model uses: g_b"):
        path.predict(table.drop(columns=[("g", "b")]), k=3)
    both = table.copy()
    both["y", ""] = y
    by_formula = l0path.fit("y ~ g_a + g_b + h", both)
    np.testing.assert_allclose(by_formula.coef(), path.coef())
    assert by_formula.predict(both, k=1).equals(path.predict(table, k=1).rename("y"))
    offset = l0path.fit(table, y, offset="h")
    np.testing.assert_allclose(offset.coef(), l0path.fit(table[["g"]], y - table["h", ""]).coef())
    repeated = table.set_axis(["g_a", "g_a", "h"], axis=1)
    assert l0path.fit(repeated, y).names == ["g_a", "g_a.1", "h"]
    for X_fit in (table, repeated):
        path, module = l0path.fit(X_fit, y), {}
        exec(path.model(k=3).to_python(), module)
        predicted = module["predict"](X_fit.set_axis(path.names, axis=1))
        np.testing.assert_allclose(predicted, path.predict(X_fit, k=3))


@pytest.mark.parametrize("intercept", [True, False])
def test_a_column_called_as_the_intercept_gets_a_name_of_its_own(intercept):
    named = X.rename(columns={"b": "(Intercept)"})
    path = l0path.fit(named, SCORE, fit_intercept=intercept, max_k=2)
    plain = l0path.fit(X, SCORE, fit_intercept=intercept, max_k=2)
    assert path.coef(k=2).index.tolist() == ["(Intercept)", "(Intercept).1", "d"]
    # the two tables may lie in memory in different orders, and sums be rounded differently
    np.testing.assert_allclose(path.coef(k=2), plain.coef(k=2), rtol=1e-13, atol=1e-14)
    assert any("that of the intercept" in note for note in path.notes)
    predicted = path.predict(named, k=2)
    np.testing.assert_allclose(predicted, plain.predict(X, k=2), rtol=1e-13, atol=1e-14)
    model = l0path.fit(named.to_numpy(), SCORE, feature_names=list(named)).model(k=2)
    assert model.features == ["(Intercept).1", "d"]


def test_a_path_that_could_not_reach_max_k_says_so():
    path = l0path.fit(X, SCORE + RNG.standard_normal(90), max_k=50)
    assert "max_k = 50 was cut to 5, the number of usable features" in repr(path)
    groups = l0path.fit(X, SCORE + RNG.standard_normal(90), max_k=9, groups=list("uuvvw"))
    assert "max_k = 9 was cut to 3, the number of usable groups" in repr(groups)
    perfect = l0path.fit(X, SCORE, max_k=4)
    assert "k = 0..2 (not max_k = 4, see notes)" in repr(perfect)
    whole = l0path.fit(X, SCORE + RNG.standard_normal(90), max_k=5)
    assert "max_k" not in repr(whole) and "max_k" not in repr(l0path.fit(X, SCORE))
    grid = l0path.fit(X, SCORE, lambda0=[0.5], max_k=4)
    assert "max_k" not in repr(grid)


# private words of earlier versions -> the terms of docs/vocabulary.md that replaced them
OLD_WORDS = {
    "price": "cost, multiplier or objective",
    "priced": "penalized or usable",
    "pull": "correlation",
    "pulls": "correlations",
    "tape": "an update sequence",
    "replay": "apply_updates",
    "strange": "n_new",
    "survivors": "unscreened",
    "foretold": "predicted",
    "mover": "a neighborhood",
    "kick": "restart",
    "overshoot": "oscillate",
    "harvest": "candidates",
    "glance": "a pass",
    "look": "a pass, or scores",
    "looks": "passes",
    "scout": "a surrogate",
    "settle": "verify, solve, wait or converge",
    "settled": "verified, resolved or converged",
    "rests": "stalled or stationary",
    "resting": "stationary",
    "choosable": "selectable",
    "loose": "removable or unbounded",
    "judge": "certified",
    "torn": "inconsistent",
    "pressed": "interrupted",
    "wild": "nonfinite",
    "faint": "negligible",
    "everywhere": "all_columns",
}
DRAWING = "plots"  # where a curve has a look


def identifiers(tree):
    """The names that a module's syntax tree defines or uses."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name


def old_words(name):
    """The parts of an identifier, in lower case, that are words of earlier versions."""
    parts = re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)
    return [part.lower() for part in parts if part.lower() in OLD_WORDS]


def test_identifiers_are_terms_of_the_vocabulary():
    root = Path(l0path.__file__).parent
    found = {
        f"{file.relative_to(root)}: {name} -> {OLD_WORDS[word]}"
        for file in root.rglob("*.py")
        if file.relative_to(root).parts[0] != DRAWING
        for name in identifiers(ast.parse(file.read_text(encoding="utf-8")))
        for word in old_words(name)
    }
    assert not found


def test_old_words_are_found_in_every_kind_of_name():
    tree = ast.parse("def settle_all(pull):\n    return x.exit_price + LOOKS + TapeOf(largest)")
    words = sorted(word for name in identifiers(tree) for word in old_words(name))
    assert words == ["looks", "price", "pull", "settle", "tape"]
