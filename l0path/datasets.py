"""Real data sets that come with the package, for examples, tests and comparisons.

Each `load_...` function reads one small file and returns a `Dataset`. What the columns mean, where
the data are from and under which license they may be passed on is in `data/README.md`; the section
of a set is its `description`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import resources
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

__all__ = [
    "Dataset",
    "load_birth_weights",
    "load_diabetes",
    "load_growth",
    "load_hitters",
    "load_publication",
    "load_sonar",
    "load_srbct",
    "load_tecator",
    "load_wages",
    "load_wdbc",
]


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A data set ready for fitting.

    Attributes
    ----------
    name : str
        A short name.
    X : DataFrame of shape (n, p)
        The columns, all float64.
    y : Series of shape (n,), or DataFrame of shape (n, 2)
        The response, with the index of X: two columns are times and events.
    feature_names : list of str
        The column names of X.
    description : str
        Source, columns, license and citation.
    train : ndarray of bool of shape (n,) or None
        The published training rows, or None where there is no such split.
    """

    name: str
    X: pd.DataFrame
    y: pd.Series | pd.DataFrame
    feature_names: list
    description: str
    train: np.ndarray | None = None

    def _said(self):
        """The response, and how many rows and features there are."""
        y = self.y.columns if isinstance(self.y, pd.DataFrame) else [self.y.name]
        rows = "" if self.train is None else f" ({int(self.train.sum())} to train)"
        n, p = self.X.shape
        return f"{' and '.join(map(str, y))} of {n} rows{rows}, {p} features"

    def _repr_html_(self):
        from .report import dataset_html

        return dataset_html(self)

    def __repr__(self):
        return f"<l0path.Dataset {self.name}: {self._said()}>"


def load_hitters() -> Dataset:
    """Salaries of 263 baseball players, in thousands of dollars, and 19 features of statistics.

    The 59 players without a salary are left out. The two-level factors are coded 0/1 and named by
    the level that is 1: `League_N`, `Division_W`, `NewLeague_N`.

    Returns
    -------
    Dataset
        X (263, 19), and y (263,) `Salary`.

    Examples
    --------
    >>> import l0path
    >>> data = l0path.datasets.load_hitters(); data
    <l0path.Dataset hitters: Salary of 263 rows, 19 features>
    >>> data.y.head(2)
    0    475.0
    1    480.0
    Name: Salary, dtype: float64
    """
    table = _table("hitters.csv").dropna(subset=["Salary"]).reset_index(drop=True)
    for factor, level in (("League", "N"), ("Division", "W"), ("NewLeague", "N")):
        table[factor] = (table[factor] == level).astype(np.float64)
        table = table.rename(columns={factor: f"{factor}_{level}"})
    return _dataset("hitters", table, "Salary")


def load_wdbc() -> Dataset:
    """Breast tumors, benign or malignant, and 30 measurements of cell nuclei.

    Returns
    -------
    Dataset
        X (569, 30), and y (569,) `benign`, 1 or 0 (malignant).
    """
    return _dataset("wdbc", _table("wdbc.csv").rename(columns={"y": "benign"}), "benign")


def load_srbct() -> Dataset:
    """Four kinds of small round blue cell tumors and the expression of 2308 genes.

    The first 63 rows are the published training sample (`train`), the last 20 the test sample.

    Returns
    -------
    Dataset
        X (83, 2308) holds natural logarithms of relative expression; a column is named by clone
        number and gene title, a repeated name gets ".1", ".2", ... y (83,) `tumour` is "BL"
        (Burkitt lymphoma), "EWS" (Ewing sarcoma), "NB" (neuroblastoma) or "RMS" (rhabdomyosarcoma).
    """
    with _find("srbct.npz").open("rb") as file, np.load(file, allow_pickle=False) as stored:
        X = np.concatenate([stored["X_train"], stored["X_test"]])
        codes = np.concatenate([stored["y_train"], stored["y_test"]])
        names = _unique(" ".join(str(name).split()) for name in stored["feature_names"])
        train = np.arange(codes.size) < stored["y_train"].size
    tumour = pd.Series(np.array(["BL", "EWS", "NB", "RMS"])[codes - 1], name="tumour")
    return Dataset(
        "srbct", pd.DataFrame(X, columns=names), tumour, names, _description("srbct"), train
    )


def load_growth() -> Dataset:
    """Economic growth of 72 countries, 1960 to 1992, and 41 candidate causes.

    Returns
    -------
    Dataset
        X (72, 41), and y (72,) `y`, average growth per year.
    """
    return _dataset("growth_fls", _table("growth_fls.csv"), "y")


def load_sonar() -> Dataset:
    """Sonar returns from a metal cylinder or from rocks, energy in 60 frequency bands.

    Returns
    -------
    Dataset
        X (208, 60), and y (208,) `Class`, "M" or "R".
    """
    return _dataset("sonar", _table("sonar.csv"), "Class")


def load_tecator(responses: str | list[str] = "fat") -> Dataset:
    """Near infrared spectra of 215 samples of minced meat in 100 channels, and their contents.

    The first 172 rows are the published training and monitoring samples (`train`), the last 43 the
    test sample.

    Parameters
    ----------
    responses : str or list of str, default "fat"
        Contents in percent: "fat", "water", "protein", or a list of them.

    Returns
    -------
    Dataset
        X (215, 100) holds absorbances; a column is named by its wavelength in nanometers, `nm850`
        to `nm1050`. y (215,) is the content, or for a list (215, r), a column for each.
    """
    table, contents = _table("tecator.csv"), ["fat", "water", "protein"]
    for name in [responses] if isinstance(responses, str) else responses:
        if name not in contents:
            raise ValueError(f"responses={name!r} is not known; choose among {', '.join(contents)}")
    asked = responses if isinstance(responses, str) else list(responses)
    table = table.drop(columns=[name for name in contents if name not in np.atleast_1d(asked)])
    wavelengths = np.linspace(850, 1050, 100)
    names = {f"x_{i + 1:03d}": f"nm{w:.0f}" for i, w in enumerate(wavelengths)}
    data = _dataset("tecator", table.rename(columns=names), asked)
    return replace(data, train=np.arange(len(data.y)) < 172)


def load_publication() -> Dataset:
    """Months until 244 clinical trials were published, and 19 features about them.

    The mechanism of funding is coded 0/1 against "R01", the most common one: `mech_U01` and so on.

    Returns
    -------
    Dataset
        X (244, 19), and y (244, 2) with the columns `time`, in months, and `published`, 1 or 0
        (censored: not published by the end of the study).

    Examples
    --------
    >>> import l0path
    >>> data = l0path.datasets.load_publication(); data
    <l0path.Dataset publication: time and published of 244 rows, 19 features>
    >>> l0path.fit(data.X, data.y, loss="cox", max_k=3).model(k=2).features
    ['posres', 'impact']
    """
    table = _table("publication.csv").rename(columns={"status": "published"})
    for level in sorted(set(table["mech"]) - {"R01"}):
        table[f"mech_{level}"] = table["mech"] == level
    return _dataset("publication", table.drop(columns="mech"), ["time", "published"])


def load_birth_weights() -> Dataset:
    """Birth weights of 1387 children, in ounces, and 8 features about mother, child and state.

    One birth without the education of the mother is left out, and so is the education of the
    father, which is missing for 196 births.

    Returns
    -------
    Dataset
        X (1387, 8), and y (1387,) `weight`.

    Examples
    --------
    >>> import l0path
    >>> data = l0path.datasets.load_birth_weights(); data
    <l0path.Dataset birth_weights: weight of 1387 rows, 8 features>
    >>> l0path.fit(data.X, data.y).model(k=2).features
    ['white', 'cigarettes']
    """
    names = {"bwght": "weight", "faminc": "income", "motheduc": "mother_education"}
    names |= {"cigtax": "cigarette_tax", "cigprice": "cigarette_price", "cigs": "cigarettes"}
    table = _table("birth_weights.csv").drop(columns="fatheduc").rename(columns=names)
    return _dataset("birth_weights", table.dropna().reset_index(drop=True), "weight")


def load_wages() -> Dataset:
    """Logarithms of the hourly wages of 545 men in eight years, and 9 features about them.

    The rows of a man belong together: the index of X and y is his number (`groups_cv=data.X.index`
    keeps them in one fold).

    Returns
    -------
    Dataset
        X (4360, 9) with the index `person`, and y (4360,) `log_wage`.

    Examples
    --------
    >>> import l0path
    >>> data = l0path.datasets.load_wages(); data
    <l0path.Dataset wages: log_wage of 4360 rows, 9 features>
    >>> data.X.index.nunique()
    545
    """
    names = {"nr": "person", "exper": "experience", "hisp": "hispanic", "educ": "education"}
    table = _table("wages.csv").rename(columns=names | {"lwage": "log_wage"})
    return _dataset("wages", table.set_index("person"), "log_wage")


def load_diabetes(expansion: bool = False) -> Dataset:
    """Progression of diabetes in 442 patients one year after baseline.

    Parameters
    ----------
    expansion : bool, default False
        False gives the ten features as measured. True gives the quadratic design of Efron, Hastie,
        Johnstone and Tibshirani (2004): each column is centered and scaled to length 1; then come 9
        squares (`bmi^2`; none for `sex`, which has two values) and 45 products (`age:bmi`),
        themselves centered and scaled to length 1.

    Returns
    -------
    Dataset
        X (442, 10), or (442, 64) with expansion=True, and y (442,) `y`.

    Examples
    --------
    >>> import l0path
    >>> l0path.datasets.load_diabetes(expansion=True)
    <l0path.Dataset diabetes: y of 442 rows, 64 features>
    """
    data = _dataset("diabetes", _table("diabetes.csv"), "y")
    if not expansion:
        return data
    X = _quadratic(data.X)
    return Dataset("diabetes", X, data.y, list(X.columns), data.description)


def _quadratic(X):
    """Main effects, squares of the columns with more than two values, and products: all centered
    and of length 1. X (n, p).
    """
    main = _unit(X)
    squares = {f"{a}^2": main[a] ** 2 for a in X.columns if X[a].nunique() > 2}
    products = {f"{a}:{b}": main[a] * main[b] for a, b in combinations(X.columns, 2)}
    return pd.concat([main, _unit(pd.DataFrame(squares | products))], axis=1)


def _unit(X):
    """Columns of X centered and divided by their Euclidean length."""
    X = X - X.mean()
    return X / np.sqrt((X**2).sum())


def _table(file):
    """A CSV file of the package."""
    with _find(file).open("rb") as stream:
        return pd.read_csv(stream)


def _dataset(name, table, response):
    """Split a table into float columns and the response."""
    X = table.drop(columns=response).astype(np.float64)
    return Dataset(name, X, table[response], list(X.columns), _description(name))


def _unique(names):
    """The names as a list, with ".1", ".2", ... after repeats."""
    taken, out = set(), []
    for name in names:
        candidate, i = name, 0
        while candidate in taken:
            i += 1
            candidate = f"{name}.{i}"
        taken.add(candidate)
        out.append(candidate)
    return out


def _folders():
    """Folders in which the files can be: inside the installed package, also one in a zip file, or
    beside it in a checkout or an editable install.
    """
    package = Path(__file__).resolve().parent
    if not package.is_dir():
        return [resources.files(__package__).joinpath("data")]
    return [package / "data", package.parent / "data"]


def _find(file):
    """Path of a data file."""
    for folder in _folders():
        if folder.joinpath(file).is_file():
            return folder.joinpath(file)
    places = " or ".join(str(folder) for folder in _folders())
    raise FileNotFoundError(
        f"{file} is not in {places}; install l0path again, or use a complete checkout of its "
        "repository"
    )


def _description(name):
    """The section of data/README.md headed `## name`, without the heading."""
    text = _find("README.md").read_text(encoding="utf-8")
    for section in text.split("\n## ")[1:]:
        heading, _, body = section.partition("\n")
        if heading.strip() == name:
            return body.strip()
    raise LookupError(
        f"data/README.md has no section {name!r}; install l0path again, or use a complete checkout "
        "of its repository"
    )
