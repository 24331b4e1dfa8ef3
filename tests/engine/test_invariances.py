"""What a user relies on without thinking: the same problem written differently has the same
path.
"""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from asked import asked
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import l0path
from l0path.designs import dense, standardized
from l0path.exchange import updates, verification
from l0path.working_set import gram
from l0path.working_set import rows as row_model

LOSSES = ["squared", "logistic", "squared_hinge", "smoothed_hinge", "huber", "poisson"]
ANY = settings(max_examples=8)  # other ones in each run
FEW = settings(max_examples=4)


class Problem:
    """Random data without ties and random options; `fit` solves them with some of them changed."""

    def __init__(self, seed, loss, wide=False):
        rng = np.random.default_rng(seed)
        n, p = int(rng.integers(40, 61)), 1200 if wide else int(rng.integers(5, 10))
        self.n, self.p, self.loss = n, p, loss
        self.X = (rng.normal(size=(n, p)) + 0.5 * rng.normal(size=(n, 1))) * rng.uniform(
            0.3, 3, p
        ) + rng.normal(size=p)
        signal = ((self.X - self.X.mean(axis=0)) / self.X.std(axis=0))[:, :4] @ [
            1.0,
            -0.8,
            0.6,
            -0.4,
        ]
        noise = rng.normal(size=n)
        counts = rng.poisson(np.exp(np.clip(0.4 * signal + 0.8, -2, 3))).astype(float)
        self.y = {
            "squared": signal + noise,
            "huber": signal + rng.standard_t(2, size=n),
            "poisson": counts,
        }.get(loss, np.sign(signal + 2 * noise))
        few = loss in ("logistic", "squared_hinge", "smoothed_hinge") or wide  # never separated
        options = dict(
            max_k=4,
            lambda1=rng.choice([0.0, 0.02]),
            lambda2=rng.choice([0.02, 0.1]) if few else rng.choice([0.0, 0.05]),
            delta=1.3 if loss == "huber" else None,
            fit_intercept=bool(rng.random() < 0.8),
        )
        options |= dict(sample_weight=rng.uniform(0.3, 2, n)) if rng.random() < 0.4 else {}
        options |= dict(offset=0.3 * rng.normal(size=n)) if rng.random() < 0.3 else {}
        options |= (
            dict(lower=-rng.uniform(0, 0.5, p), upper=rng.uniform(0.1, 0.5, p))
            if rng.random() < 0.3
            else {}
        )
        options |= dict(always_include=[int(rng.integers(p))]) if rng.random() < 0.3 else {}
        options |= (
            dict(exclude=[(options.get("always_include", [0])[0] + 1) % p])
            if rng.random() < 0.3
            else {}
        )
        self.options = options
        self.rng = rng

    def fit(self, X=None, y=None, **changed):
        return l0path.fit(
            self.X if X is None else X,
            self.y if y is None else y,
            **asked({"loss": self.loss} | self.options | changed),
        )


def problems(losses=LOSSES, wide=False):
    return st.builds(Problem, st.integers(0, 10**6), st.sampled_from(losses), st.just(wide))


def same(
    a,
    b,
    *,
    column=lambda j: j,
    slope=lambda j, value: value,
    intercept=lambda value, s: value,
    value=lambda v: v,
    rtol=1e-9,
):
    """Supports equal and objectives to 1e-9 after the given translations from path a to path b;
    coefficients to 1e-6 where the optimum is unique (some losses have flat pieces).
    """
    strict = a.loss.name in ("squared", "logistic", "poisson")
    assert len(a) == len(b)
    for s, t in zip(a._solutions, b._solutions, strict=True):
        if "fewer_nonzeros" in (
            *s.flags,
            *t.flags,
        ):  # a column that stays at zero, up to rounding, may be any one: a tie
            tiny = [1e-12 * np.abs(z.beta).max(initial=0.0) + 1e-16 for z in (s, t)]
            assert (
                sorted(column(j) for j in s.support[np.abs(s.beta) > tiny[0]])
                == t.support[np.abs(t.beta) > tiny[1]].tolist()
            )
            assert t.objective == pytest.approx(
                value(s.objective), rel=rtol, abs=rtol * abs(value(a._meta.null_loss))
            )
            continue
        assert sorted(column(j) for j in s.support) == t.support.tolist()
        assert t.objective == pytest.approx(
            value(s.objective), rel=rtol, abs=rtol * abs(value(a._meta.null_loss))
        )
        mine = {column(j): slope(j, v) for j, v in zip(s.support.tolist(), s.beta, strict=True)}
        size = max((abs(v) for v in mine.values()), default=1.0)
        if strict or s.lambda2 > 0:
            np.testing.assert_allclose(
                [mine[j] for j in t.support.tolist()], t.beta, rtol=1e-6, atol=1e-6 * size + 1e-12
            )
        if strict:
            assert t.intercept == pytest.approx(
                intercept(s.intercept, s), rel=1e-6, abs=1e-6 * (1 + size)
            )


def at(options, names, take):
    """The options of length n or p, with entries rearranged."""
    return {name: take(options[name]) for name in names if name in options}


@ANY
@given(problems())
def test_permuting_columns(problem):
    order = problem.rng.permutation(problem.p)
    place = np.argsort(order)
    moved = at(problem.options, ["lower", "upper"], lambda v: v[order]) | at(
        problem.options, ["always_include", "exclude"], lambda v: place[v].tolist()
    )
    same(problem.fit(), problem.fit(problem.X[:, order], **moved), column=lambda j: int(place[j]))


@FEW
@given(problems(["squared", "logistic"], wide=True))
def test_permuting_columns_when_the_search_sees_only_some(problem):
    order = problem.rng.permutation(problem.p)
    place = np.argsort(order)
    moved = at(problem.options, ["lower", "upper"], lambda v: v[order]) | at(
        problem.options, ["always_include", "exclude"], lambda v: place[v].tolist()
    )
    a, b = problem.fit(), problem.fit(problem.X[:, order], **moved)
    assert a.rounds.working.iloc[0] < problem.p
    same(a, b, column=lambda j: int(place[j]))


@ANY
@given(problems())
def test_permuting_rows(problem):
    order = problem.rng.permutation(problem.n)
    same(
        problem.fit(),
        problem.fit(
            problem.X[order],
            problem.y[order],
            **at(problem.options, ["sample_weight", "offset"], lambda v: v[order]),
        ),
    )


@ANY
@given(problems(["squared", "huber"]), st.sampled_from([1e-6, 0.3, -2.0, 1e5]))
def test_scaling_the_response(problem, a):
    """y -> a y with lambda1, delta, offset and box in the new units: coefficients a-fold, objective
    a^2-fold.
    """
    o, changed = problem.options, {}
    if "lower" in o:
        ends = sorted([o["lower"], o["upper"]], key=lambda v: np.sign(a) * v[0])
        changed = dict(lower=a * ends[0], upper=a * ends[1])
    if "offset" in o:
        changed["offset"] = a * o["offset"]
    changed["delta"] = o["delta"] and abs(a) * o["delta"]
    scaled = problem.fit(y=a * problem.y, lambda1=abs(a) * o["lambda1"], **changed)
    for s, t in zip(problem.fit()._solutions, scaled._solutions, strict=True):
        assert s.support.tolist() == t.support.tolist() and t.objective == pytest.approx(
            a * a * s.objective, rel=1e-9
        )
        np.testing.assert_allclose(t.beta, a * s.beta, rtol=1e-6, atol=1e-9 * abs(a))


@ANY
@given(problems())
def test_scaling_and_shifting_columns(problem):
    scale, shift = (
        10 ** problem.rng.uniform(-4, 4, problem.p),
        problem.rng.normal(size=problem.p) * 10 * problem.options["fit_intercept"],
    )
    changed = at(problem.options, ["lower", "upper"], lambda v: v / scale)
    same(
        problem.fit(),
        problem.fit(problem.X * scale + shift, **changed),
        slope=lambda j, v: v / scale[j],
        intercept=lambda b, s: b - shift[s.support] / scale[s.support] @ s.beta,
    )


@ANY
@given(problems())
def test_flipping_the_signs_of_columns(problem):
    sign = problem.rng.choice([-1.0, 1.0], problem.p)
    o, changed = problem.options, {}
    if "lower" in o:
        changed = dict(
            lower=np.where(sign > 0, o["lower"], -o["upper"]),
            upper=np.where(sign > 0, o["upper"], -o["lower"]),
        )
    same(problem.fit(), problem.fit(problem.X * sign, **changed), slope=lambda j, v: v * sign[j])


@ANY
@given(problems())
def test_weights_are_repeated_and_missing_rows(problem):
    times = problem.rng.integers(0, 4, problem.n)
    rows = np.repeat(np.arange(problem.n), times)
    if problem.loss == "poisson" and not problem.y[rows].any():
        return
    taken = at(problem.options, ["offset"], lambda v: v[rows])
    same(
        problem.fit(sample_weight=times),
        problem.fit(problem.X[rows], problem.y[rows], sample_weight=None, **taken),
    )
    taken |= at(problem.options, ["sample_weight"], lambda v: v[rows])
    copies, repeated = (
        problem.fit(freq_weight=times),
        problem.fit(problem.X[rows], problem.y[rows], **taken),
    )
    same(copies, repeated)
    assert copies._meta.n_eff == repeated._meta.n_eff == times.sum()


@ANY
@given(problems(), st.sampled_from([1e-8, 0.37, 7.5, 1e9]))
def test_only_ratios_of_weights_matter(problem, a):
    w = problem.rng.integers(1, 5, problem.n)
    same(problem.fit(sample_weight=w), problem.fit(sample_weight=a * w))


@ANY
@given(problems(["squared", "huber"]))
def test_an_offset_is_a_shift_of_the_response(problem):
    o = problem.rng.normal(size=problem.n)
    same(problem.fit(offset=o), problem.fit(y=problem.y - o, offset=None))


@ANY
@given(problems(["squared", "huber"]), st.sampled_from([-3.0, 1e3, 1e6]))
def test_adding_a_constant_to_the_response(problem, a):
    same(
        problem.fit(fit_intercept=True),
        problem.fit(y=problem.y + a, fit_intercept=True),
        intercept=lambda b, s: b + a,
        rtol=1e-9 if abs(a) < 1e4 else 1e-8,
    )


@ANY
@given(problems(), st.sampled_from([-2.0, 5.0]))
def test_a_constant_offset_moves_the_intercept(problem, a):
    zero = np.zeros(problem.n)
    same(
        problem.fit(fit_intercept=True, offset=zero),
        problem.fit(fit_intercept=True, offset=zero + a),
        intercept=lambda b, s: b - a,
    )


@ANY
@given(problems())
def test_storage_of_the_columns_does_not_matter(problem):
    """C, F, strided, float32 of representable numbers, sparse formats, frames, lists: small
    multiples of 1/8 are exact in all of them.
    """
    A = np.round(problem.X * 8) / 8 * (problem.rng.random(problem.X.shape) < 0.7)
    plain = problem.fit(A)
    single = A.astype(np.float32)
    for form in (
        np.asfortranarray(A),
        np.repeat(A, 2, axis=0)[::2],
        single,
        np.asfortranarray(single),
        sp.csc_array(A),
        sp.csr_matrix(A),
        sp.coo_array(single),
        pd.DataFrame(A),
        pd.DataFrame(A).astype("Float64"),
        A.tolist(),
    ):
        same(plain, problem.fit(form))


@FEW
@given(problems())
def test_whole_numbers_of_any_width(problem):
    A = np.clip(np.round(3 * problem.X), -99, 99)
    plain = problem.fit(A)
    for dtype in (np.int8, np.int64, np.float16):
        same(plain, problem.fit(A.astype(dtype)))
    B = A > np.median(A, axis=0)
    assume(
        len({(count, side) for count, side in zip(B.sum(axis=0), problem.y @ B, strict=True)})
        == B.shape[1]
    )  # else two columns of the same counts tie
    same(problem.fit(B.astype(float)), problem.fit(B))
    same(problem.fit(B.astype(float)), problem.fit(sp.csc_array(B)))


@FEW
@given(problems(["squared", "logistic"], wide=True))
def test_threads_and_block_widths_do_not_matter(problem):
    one = problem.fit(n_jobs=1)
    same(one, problem.fit(n_jobs=2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(updates, "RANGE", 7)
        patch.setattr(verification.gram, "TASK_COLUMNS", 5)
        patch.setattr(gram, "GRAM_STRIP", 3)
        patch.setattr(standardized, "READ", 1)
        patch.setattr(verification.rows, "PRODUCTS_AT_ONCE", 1)
        patch.setattr(row_model.RowModel, "BATCH", 1)
        patch.setattr(dense, "TILE", 64)
        patch.setattr(dense, "CACHED", 64)
        patch.setattr(dense, "SIDE", 8)
        same(one, problem.fit())
        same(one, problem.fit(np.asfortranarray(problem.X), n_jobs=2))


@ANY
@given(problems(["logistic", "squared_hinge", "smoothed_hinge"]))
def test_swapping_the_labels_turns_the_coefficients(problem):
    o, changed = problem.options, {}
    if "lower" in o:
        changed = dict(lower=-o["upper"], upper=-o["lower"])
    if "offset" in o:
        changed["offset"] = -o["offset"]
    swapped = problem.fit(y=-problem.y, **changed)
    same(problem.fit(), swapped, slope=lambda j, v: -v, intercept=lambda b, s: -b)
    named = problem.fit(y=np.where(problem.y > 0, "b", "a"))
    assert [s.objective for s in named._solutions] == [
        s.objective for s in problem.fit()._solutions
    ] and named.classes == ("a", "b")


@ANY
@given(problems())
def test_one_size_is_a_row_of_the_whole_path(problem):
    whole = problem.fit()
    for k in (4, [2, 4], 2):
        part = problem.fit(k=k, max_k=4)
        for model in part:
            row = whole.model(k=model.k)
            assert (
                model.support.tolist() == row.support.tolist()
                and model.objective == pytest.approx(row.objective, rel=1e-12)
            )
    same(whole, problem.fit())


@ANY
@given(problems())
def test_columns_that_cannot_be_chosen_change_nothing(problem):
    """A constant, an equal and an excluded column at the end. The equal one may be chosen, and is
    excluded, where it can matter: under a ridge, in a box, and where the first of the two is out.
    """
    rng, p = problem.rng, problem.p
    extra = np.column_stack(
        [problem.X, np.full(problem.n, 2.5), problem.X[:, 2], rng.normal(size=problem.n)]
    )
    free = at(problem.options, ["lower"], lambda v: np.append(v, [-1.0] * 3)) | at(
        problem.options, ["upper"], lambda v: np.append(v, [1.0] * 3)
    )
    if not problem.options["fit_intercept"]:
        extra[:, p] = 0.0
    out = problem.options.get("exclude", [])
    matters = 2 in out or problem.options["lambda2"] > 0 or "lower" in problem.options
    out = [*out, p + 2, *([p + 1] if matters else [])]
    same(problem.fit(), problem.fit(extra, **free | {"exclude": out}))


@FEW
@given(problems(["squared", "huber", "poisson"]))
def test_the_same_call_twice_gives_the_same_bits(problem):
    for a, b in zip(problem.fit()._solutions, problem.fit()._solutions, strict=True):
        assert (
            a.objective == b.objective
            and np.array_equal(a.beta, b.beta)
            and a.intercept == b.intercept
        )


@ANY
@given(problems(["squared"]))
def test_balanced_class_weights_are_weights(problem):
    y = np.sign(problem.y - np.median(problem.y) - 0.3)
    w = np.ones(problem.n)
    pair = {c: problem.n / 2 / (y == c).sum() for c in (-1, 1)}
    keep = {
        name: v for name, v in problem.options.items() if name not in ("sample_weight", "lambda2")
    } | dict(loss="logistic", lambda2=0.02)
    keep = asked(keep)
    by_hand = l0path.fit(problem.X, y, sample_weight=w * np.where(y > 0, pair[1], pair[-1]), **keep)
    same(by_hand, l0path.fit(problem.X, y, class_weight="balanced", **keep))
    same(by_hand, l0path.fit(problem.X, y, class_weight={-1: 3 * pair[-1], 1: 3 * pair[1]}, **keep))
