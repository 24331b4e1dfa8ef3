"""What a terminal and a notebook show of results: the model first, then its score and its gap."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest

import l0path
from l0path.core import colors


@pytest.fixture(scope="module")
def hitters():
    data = l0path.datasets.load_hitters()
    return data, l0path.fit(data.X, data.y)


def text_of(html):
    """The words of a piece of HTML, which must be whole."""
    return " ".join(" ".join(ET.fromstring(f"<div>{html}</div>").itertext()).split())


def signed(model):
    """The features of a model with their coefficients, as displays begin."""
    return ", ".join(f"{name} {model.coef[name]:+.4g}" for name in model.features)


def shown(hitters):
    """[(result, its model)]"""
    data, path = hitters
    six = path.model(k=6)
    best = l0path.best_subset(data.X, data.y)
    several = l0path.best_subset(data.X, data.y, n_best=3)
    certificate, near = six.certify(), path.near_best(k=6, within=0.02)
    return [
        (six, six),
        (certificate, certificate.model),
        (best, best.model),
        (several, several.model),
        (near, near.models[0]),
    ]


def test_results_show_the_model_first(hitters):
    for result, model in shown(hitters):
        first = repr(result).splitlines()[0]
        assert first == f"<l0path.{type(result).__name__}: Salary, k = {model.k}: {signed(model)}"
        words = text_of(result._repr_html_())
        assert words.startswith(f"Salary, k = {model.k} : {signed(model)} ")


def test_a_refit_shows_its_own_coefficients_and_who_chose_them(hitters):
    data = l0path.datasets.load_wdbc()
    shrunk = l0path.fit(data.X, data.y, loss="logistic", lambda2=0.1, max_k=2).model(k=2)
    for results in (hitters[1].model(k=6).refit(), shrunk.refit()):
        first, second = repr(results).splitlines()
        names = [name for name in results.params.index if name != "(Intercept)"]
        for name in names:
            assert f"{name} {results.params[name]:+.4g}" in first
        assert "conditional on selection" in second
        words = text_of(results._repr_html_())
        for name in names:
            assert f"{results.bse[name]:.4g}" in words and f"{results.pvalues[name]:.4g}" in words
    assert type(results).__name__ == "GLMResultsWrapper"


def test_refits_of_several_classes_and_of_survival_times_have_a_display():
    data = l0path.datasets.load_srbct()
    path = l0path.fit(data.X.iloc[:, :30], data.y, loss="multinomial", lambda2=0.01, max_k=1)
    results = path.model(k=1).refit()
    assert path.model(k=1).features[0] in repr(results).splitlines()[0]
    words = text_of(results._repr_html_())
    assert f"{np.asarray(results.params)[1, 2]:.4g}" in words
    assert all(str(one) in words for one in path.classes[1:])
    data = l0path.datasets.load_publication()
    times = l0path.fit(data.X, data.y, loss="cox", lambda2=1e-3, max_k=2).model(k=2).refit()
    assert f"posres {times.params['posres']:+.4g}" in repr(times)
    assert f"{times.bse['posres']:.4g}" in text_of(times._repr_html_())


def test_the_gap_of_a_proven_model_is_shown_as_zero_and_its_bound_is_what_was_proven(hitters):
    _, path = hitters
    table = path.details
    assert set(table.optimality) == {"global"}
    assert table.gap.between(0, 1.01e-8).all()  # what counts as no change in the search
    assert table.lower_bound.tolist() == [s.lower_bound for s in path._solutions]
    model = path.model(k=6)
    assert model.lower_bound == table.lower_bound[6] and model.gap == table.gap[6]
    bound = model.objective * (1 - 5e-7)  # another model may have an objective between the two
    told = [s._replace(lower_bound=bound) if s.k == 6 else s for s in path._solutions]
    told = type(path)(path._meta, told, path.status, path.notes, (), path._source)
    assert told.model(k=6).lower_bound == bound
    assert "0 (proven)" in told.compare([6]).formatted().to_string()
    for result in (model.certify(), path.certify(criterion="bic")):
        assert "gap 0 (proven)" in repr(result) and "bound" not in repr(result).splitlines()[1]
        assert "gap 0 (proven)" in text_of(result._repr_html_())
    growth = l0path.datasets.load_growth()
    rest = l0path.fit(growth.X, growth.y, max_k=3, loss="huber", certify=True).details
    proven = rest.optimality == "global"
    assert rest.gap[proven].between(0, 1e-6).all()
    assert (rest.lower_bound < rest.objective)[~proven & rest.lower_bound.notna()].all()


def test_an_open_gap_is_a_number_beside_its_bound():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 60))
    y = (X[:, :5].sum(axis=1) + 3 * rng.standard_normal(60) > 0).astype(int)
    path = l0path.fit(X, y, loss="logistic", lambda2=0.01, max_k=6)
    found = path.certify(k=6, node_limit=1)
    assert not found.proven
    line = repr(found).splitlines()[1]
    assert f"bound {found.lower_bound:.6g}, gap {found.gap:.2g}" in line and "proven" not in line
    words = text_of(found._repr_html_())
    assert f"lower bound {found.lower_bound:.6g} gap {found.gap:.2g}" in words


def test_sets_of_models_and_best_models_are_listed(hitters):
    data, path = hitters
    near = path.near_best(k=6, within=0.02)
    assert f"the best of {len(near)} models with k = 6" in repr(near)
    assert "the list is complete" in repr(near)
    words = text_of(near._repr_html_())
    for model in near.models:
        assert ", ".join(model.features) in words and f"{model.objective:.6g}" in words
    several = l0path.best_subset(data.X, data.y, n_best=3)
    bic = [several.path.score_table().bic.iloc[model._index] for model in several.best]
    assert "the 3 best of all sizes:" in repr(several)
    for i, (model, value) in enumerate(zip(several.best, bic, strict=True), 1):
        assert f"{i}. bic {value:.6g}: {', '.join(model.features)}" in repr(several)
        assert f"{value:.6g}" in text_of(several._repr_html_())


def test_long_models_are_cut_and_those_of_groups_and_responses_have_names():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 20))
    long = l0path.fit(X, X.sum(axis=1) + rng.standard_normal(100), max_k=15).model(k=15)
    assert repr(long).splitlines()[0].endswith(", and 3 more")
    none = l0path.fit(X, X[:, 0], max_k=1).model(k=0)
    assert repr(none).splitlines()[0] == "<l0path.Model: k = 0: intercept only"
    groups = np.repeat(list("abcde"), 4)
    chosen = l0path.fit(X, X[:, :4].sum(axis=1), groups=groups, max_k=2).model(k=1)
    assert repr(chosen).splitlines()[0] == "<l0path.Model: k = 1: a"
    both = l0path.fit(X, X[:, :2] @ np.ones((2, 2)), max_k=2).model(k=2)
    assert repr(both).splitlines()[0] == "<l0path.Model: k = 2: x0, x1"


def test_data_sets_and_costs_are_tables_in_a_notebook(hitters):
    data, _ = hitters
    words = text_of(data._repr_html_())
    assert words.startswith("hitters : Salary of 263 rows, 19 features")
    assert "Major League" in words and f"{data.y.iloc[0]:g} {data.X.iloc[0, 0]:g}" in words
    cost = l0path.fit_cost(data.X, data.y, cv=5)
    words = text_of(cost._repr_html_())
    assert f"reads of X about {cost.reads} " in words and "of 5 folds" in words


def test_the_picture_of_a_model_has_the_colors_of_signs(hitters):
    html = hitters[1].model(k=6)._repr_html_()
    used = {one.lower() for one in re.findall(r"#[0-9a-fA-F]{6}", html)}
    assert {colors.POSITIVE.lower(), colors.NEGATIVE.lower()} <= used


def test_terms_of_one_column_show_their_coefficient():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.standard_normal(60), "g": rng.choice(list("uvw"), 60)})
    table["y"] = 2.0 * table.a + 3.0 * (table.g == "w") + rng.standard_normal(60)
    model = l0path.fit("y ~ a + g", table)[2]
    assert f"k = 2: a {model.coef['a']:+.4g}, g\n" in repr(model)
