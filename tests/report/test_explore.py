"""The page of `explore`: the numbers in it, names that could break it, and what may be missing."""

import html
import re

import numpy as np
import pytest
from page_samples import HOSTILE, contents

import l0path

# -------------------- the numbers


def test_the_numbers_are_those_of_the_path(cv, page):
    shown, path = contents(page), cv
    assert shown["title"] == "A <b>title</b> & more" and len(shown["rows"]) == len(path)
    for i, row in enumerate(shown["rows"]):
        coef, scaled = path.coef(index=i).iloc[1:], path.coef(index=i, standardized=True).iloc[1:]
        assert [shown["names"][j] for j in row["at"]] == coef.index.tolist()
        np.testing.assert_allclose(row["b"], coef, rtol=1e-6)
        np.testing.assert_allclose(
            [b * shown["scale"][j] for j, b in zip(row["at"], row["b"], strict=True)],
            scaled,
            rtol=1e-5,
        )
        t, score = path.details.loc[i], cv.scores.loc[i]
        for key, value in {
            "k": t.k,
            "objective": t.objective,
            "ratio": t.deviance_ratio,
            "bound": t.lower_bound,
            "gap": t.gap,
            "cv": score.cv_mean,
            "se": score.cv_se,
        }.items():
            assert row[key] == pytest.approx(value, rel=1e-6, abs=1e-12)
        found = path.model(index=i).alternatives(n=5)
        assert [a[:2] for a in row["alternatives"]] == found[["dropped", "added"]].values.tolist()
        np.testing.assert_allclose(
            [a[2] for a in row["alternatives"]], found["objective"], rtol=1e-6
        )
    assert {c["index"] for c in shown["choices"]} == {
        cv.select("min"),
        cv.select("1se"),
        *(path.select(rule) for rule in ("bic", "ebic", "aic")),
    }
    assert shown["start"] == cv.select("min") and shown["bounds"] and not shown["log"]


def test_only_columns_that_enter_are_held():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((40, 3000))
    path = l0path.fit(X, X[:, 7] - X[:, 2000], max_k=4)
    page = path.explore(alternatives=0)
    assert set(contents(page)["names"]) == set(path.coef().index[1:]) and len(page.html) < 60_000


def test_slices_grids_groups_and_classes(data):
    X, y = data
    slices = contents(l0path.fit(X, y, lambda2=[1.0, 0.1], max_k=3).explore(alternatives=1))
    assert (
        [s["rows"] for s in slices["slices"]] == [[0, 1, 2, 3], [4, 5, 6, 7]]
        and "λ₂ = 0.1" in slices["slices"][1]["label"]
        and not slices["scoring"]
    )
    grid = l0path.fit(X, y, lambda0=[1.0, 0.1, 0.0], max_k=14)
    shown = contents(grid.explore(alternatives=1))
    assert (
        shown["log"]
        and [row["lambda0"] for row in shown["rows"]] == [1.0, 0.1, 0.0]
        and shown["rows"][2]["x"] == pytest.approx(0.1 / 3)
    )
    groups = contents(l0path.fit(X, y, groups={"a": [0, 1], "b": [2, 3, 4]}, max_k=3).explore())
    assert (
        groups["swapnote"] == "Not offered for groups."
        and {"a", "b"} <= set(groups["group_of"])
        and all(row["alternatives"] is None for row in groups["rows"])
    )
    assert groups["rows"][-1]["groups"] and len(set(groups["family"])) < len(groups["family"])
    classes = contents(
        l0path.fit(
            X, np.where(y > 0, "sick", "well"), loss="logistic", lambda2=0.1, max_k=1
        ).explore(alternatives=0)
    )
    assert classes["positive"] == "well" and classes["swapnote"].startswith("Not asked")


def test_what_limits_the_exchanges_is_said(data, tmp_path, monkeypatch):
    X, y = data
    path = l0path.fit(X, y, max_k=4)
    late = contents(path.explore(time_limit=1e-9))
    assert (
        all(row["alternatives"] is None for row in late["rows"])
        and "time_limit=1e-09" in late["swapnote"]
    )
    path.save(tmp_path / "path.npz")
    loaded = l0path.load(tmp_path / "path.npz")
    assert "pass X= and y=" in contents(loaded.explore())["swapnote"]
    assert contents(loaded.explore(X=X, y=y))["rows"] == contents(path.explore())["rows"]
    with pytest.raises(ValueError, match="checksum"):
        loaded.explore(X=X + 1, y=y)
    plain, calls = l0path.Model.alternatives, []

    def pressed(self, **options):
        calls.append(self._index)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return plain(self, **options)

    monkeypatch.setattr(l0path.Model, "alternatives", pressed)
    shown = contents(path.explore())
    assert (
        sum(row["alternatives"] is not None for row in shown["rows"]) == 2
        and "interrupted" in shown["swapnote"]
        and calls[0] == shown["start"]
    )


def test_models_nearly_as_good_have_a_section(data):
    X, y = data
    path = l0path.fit(X, y, max_k=8)
    assert contents(path.explore(alternatives=0))["good"] is None
    found = path.near_best(k=4, within=0.3)
    good = contents(path.explore(alternatives=0, near_best=found))["good"]
    assert good["names"] == list(found.frequencies.index) and good["left"] == [0, 0]
    assert good["share"] == pytest.approx(found.frequencies.tolist(), rel=1e-6)
    assert good["substitutes"] == [list(one) for one in found.substitutes[:20]]
    assert len(good["rows"]) == len(found) > 1 and f"{len(found)} models" in good["said"]
    for (k, score, apart, signs), model, own in zip(
        good["rows"], found, found.table.apart, strict=True
    ):
        assert (k, score) == (4, pytest.approx(model.objective, rel=1e-6))
        assert apart == pytest.approx(own, rel=1e-5)
        coef = model.coef
        assert signs == [int(np.sign(coef.get(name, 0.0))) for name in good["names"]]
    with pytest.raises(TypeError, match="must be a ModelSet"):
        path.explore(near_best=3)
    with pytest.raises(ValueError, match="belongs to another path"):
        l0path.fit(X[:, 1:], y, max_k=3).explore(near_best=found)


def test_bad_arguments(data, tmp_path):
    X, y = data
    other = l0path.fit(X, y, max_k=2)
    for options, error, match in (
        ({"alternatives": -1}, ValueError, "alternatives=-1"),
        ({"alternatives": True}, ValueError, "alternatives=True"),
        ({"time_limit": 0}, ValueError, "time_limit=0"),
        ({"file": tmp_path}, IsADirectoryError, "is a folder"),
        ({"file": tmp_path / "no" / "a.html"}, FileNotFoundError, "there is no folder"),
    ):
        with pytest.raises(error, match=match):
            other.explore(**{"alternatives": 0, **options})


# -------------------- the page


def test_nothing_in_the_data_leaves_its_script(page):
    shown = contents(page)
    assert set(HOSTILE) <= set(shown["names"])
    assert "window.broken" not in re.sub(r"<script.*?</script>", "", page.html, flags=re.DOTALL)
    assert "<title>A &lt;b&gt;title&lt;/b&gt; &amp; more</title>" in page.html
    assert not re.search(r"(src|href|url|import)\s*[=(]\s*[\"']?(https?:)?//", page.html)


def test_a_page_is_written_shown_and_framed(page, cv, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda uri: opened.append(uri) or True)
    again = cv.explore(str(tmp_path / "p.html"), alternatives=0)
    assert (
        again.file.read_text(encoding="utf-8") == again.html
        and opened == []
        and "p.html" in repr(again)
    )
    cv.explore(tmp_path / "p.html", alternatives=0, show=True)
    assert opened == [(tmp_path / "p.html").resolve().as_uri()]
    new = cv.explore(alternatives=0)
    assert (
        "not written" in repr(new)
        and new.show()
        and opened[1].startswith("file:")
        and new.file.exists()
    )
    new.file.unlink()
    frame = page._repr_html_()
    assert (
        html.unescape(re.search(r'srcdoc="([^"]*)"', frame).group(1)) == page.html
        and "allow-same-origin" not in frame
        and 'title="A &lt;b&gt;' in frame
    )
