"""The arguments of the command line."""

import argparse
import difflib
import re
import sys
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from pathlib import Path as FilePath

from ..problem.losses import ALIASES, COUPLED, NAMES, SEVERAL
from .reading import COMMON

# without a little shrinkage a classification path ends at the first size that separates the classes
CLASS_RIDGE = 1e-3


def version(name):
    """The version of an installed package; "0" of a checkout, as `l0path.__version__`."""
    try:
        return installed(name)
    except PackageNotFoundError:
        return "0"


# options of other programs, and the one that says the same here
INSTEAD = {
    **dict.fromkeys(("-y", "--y", "--target", "--outcome", "--label", "--dependent"), "--response"),
    **dict.fromkeys(("--folds", "--nfolds", "--n-folds"), "--cv"),
    **dict.fromkeys(("--exclude", "--ignore"), "--drop"),
    **dict.fromkeys(("--output", "-o"), "--out"),
    **dict.fromkeys(("--ridge", "--l2"), "--lambda2"),
    **dict.fromkeys(("--lasso", "--l1"), "--lambda1"),
    **dict.fromkeys(("--separator", "--delimiter"), "--sep"),
    "--family": "--loss",
    "--which": "--rule",
    "--criterion": "--rule",
    "--metric": "--scoring",
    "--random-state": "--seed",
    "--n-jobs": "--jobs",
    "--size": "--k",
    "-k": "--k",
}


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, and name the option that was meant."""

    def parse_known_args(self, args=None, namespace=None):
        """What argparse returns, after options that there are not were refused."""
        args = sys.argv[1:] if args is None else list(args)
        known = list(self._option_string_actions)
        for token in args if self._subparsers is None else ():
            name = token.split("=")[0]
            if name == "--":
                break
            if re.match("--?[A-Za-z]", name) and not any(one.startswith(name) for one in known):
                plain = name.replace("_", "-")
                near = difflib.get_close_matches(plain, known, n=1, cutoff=0.75)
                meant = INSTEAD.get(plain) or "".join(near)
                self.error(
                    f"there is no option {name}" + (f"; did you mean {meant}?" * bool(meant))
                )
        return super().parse_known_args(args, namespace)

    def error(self, message):
        """Print one line and end."""
        self.exit(2, f"{self.prog}: {message} (--help lists all options)\n")


def number(text):
    """The number that an option was given as text."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None


def whole(text):
    """The whole number that an option was given as text."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None


def parser():
    """The argument parser."""
    main = Parser(prog="python -m l0path", description="Whole paths of best-subset models.")
    main.add_argument("--version", action="version", version=f"l0path {version('l0path')}")
    commands = main.add_subparsers(dest="command", required=True)
    fit = commands.add_parser(
        "fit",
        help="fit a path on a data file and choose a model",
        description="Fit the path of best-subset models on a CSV or Parquet file.",
    )
    for add in (add_data, add_model, add_choice, add_columns, add_output):
        add(fit)
    add_predict(commands)
    add_warm_up(commands)
    return main


def add_data(fit):
    """Add the options of the file and the response."""
    fit.add_argument(
        "file", type=FilePath, help="CSV (.csv, .csv.gz) or Parquet (.parquet) file with a header"
    )
    what = fit.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--response",
        help="name of the response column; all others are features. Several responses, or "
        "successes and failures for --loss binomial: names with commas between them. Survival "
        'times: "Surv(time, event)" or "Surv(start, stop, event)" of columns',
    )
    what.add_argument(
        "--formula",
        help='formula such as "y ~ a + C(b) + bs(c, df=4)"; a term of several columns is chosen as '
        "a whole",
    )
    fit.add_argument(
        "--heredity",
        choices=["auto", "strong", "weak", "none"],
        default="auto",
        help="with --formula: whether a term enters only with the terms that it contains (strong), "
        "or with one of them (weak); auto: strong if an interaction contains a factor",
    )


def add_model(fit):
    """Add the options of the model."""
    fit.add_argument(
        "--loss",
        type=lambda name: ALIASES.get(name, name),
        choices=[*NAMES, *SEVERAL, *COUPLED],
        help="default: squared for a numeric response, logistic for one of two text or true/false "
        "values, multinomial for more classes, cox for Surv(...), which weibull takes too",
    )
    fit.add_argument(
        "--pos-label",
        metavar="LABEL",
        help="for classes: the one whose probability the model is about (default: the last label "
        "in sorted order)",
    )
    fit.add_argument(
        "--baseline",
        metavar="LABEL",
        help="with --loss multinomial: the class with which the coefficients of the others are "
        "compared (default: none)",
    )
    fit.add_argument(
        "--order",
        metavar="LABELS",
        help="with --loss ordinal: the classes from the lowest to the highest, separated by commas "
        "(numbers need none)",
    )
    fit.add_argument(
        "--quantile", type=number, help="with --loss quantile: the quantile (default 0.5)"
    )
    fit.add_argument(
        "--power", type=number, help="with --loss tweedie: the power, 1 < power <= 2 (default 1.5)"
    )
    fit.add_argument(
        "--theta",
        type=number,
        help="with --loss negative_binomial: theta > 0 (default: from the data)",
    )
    fit.add_argument(
        "--ties",
        choices=["efron", "breslow"],
        help="for survival times: how events at the same time count (default efron)",
    )
    fit.add_argument("--max-k", type=whole, help="largest size k (default min(p, n // 2, 100))")
    fit.add_argument(
        "--lambda2",
        type=number,
        help="ridge on standardized coefficients (default: 0, for classes "
        f"{CLASS_RIDGE:g}; with --cv, unless --lambda1 is given, a choice among several)",
    )
    fit.add_argument(
        "--relax",
        metavar="SHARES",
        help="with --cv: shares of a shrunken model in its mixtures with the fit of its features "
        "without shrinkage, separated by commas (default 0,0.5,1; with --lambda2 1)",
    )
    fit.add_argument(
        "--lambda1", type=number, help="lasso penalty on standardized coefficients (default 0)"
    )
    fit.add_argument(
        "--algorithm",
        default="swap",
        help="swap (default), cd, pg, apg+, htp, dual_iht or another name of l0path.fit",
    )


def add_choice(fit):
    """Options that choose a model, and ask for a proof of it."""
    fit.add_argument(
        "--cv",
        type=whole,
        metavar="FOLDS",
        help="choose the size by cross-validation with this many folds",
    )
    fit.add_argument(
        "--rule",
        help="the rule of choice: a criterion (aic, bic, ebic, gic, ...; default bic), or with "
        "--cv also min (the best mean score, the default there), sparse (the fewest coefficients "
        "within half a paired standard error of it) or 1se (the fewest within one standard error)",
    )
    fit.add_argument("--k", type=whole, help="choose this size")
    fit.add_argument(
        "--scoring", help="with --cv: the metric, such as mse, mae, auc (default: the deviance)"
    )
    fit.add_argument(
        "--certify",
        type=number,
        nargs="?",
        const=30.0,
        metavar="SECONDS",
        help="prove how good the chosen model is, for so many seconds (default 30)",
    )


def add_columns(fit):
    """Columns with a part of their own."""
    fit.add_argument(
        "--drop", default="", help="columns to leave out, separated by commas (identifiers, say)"
    )
    fit.add_argument(
        "--include",
        default="",
        help="features in every model, separated by commas; a text column stands for all of its "
        "0/1 columns",
    )
    fit.add_argument(
        "--groups",
        metavar="GROUPS",
        help='columns that are chosen as a whole: "a,b;c,d" for two groups; a text column stands '
        "for all of its 0/1 columns",
    )
    fit.add_argument(
        "--weights", help="column of weights of importance or precision, whose scale has no effect"
    )
    fit.add_argument(
        "--freq-weights", help="column of whole numbers: how many rows each row stands for"
    )
    fit.add_argument(
        "--trials",
        help="with --loss binomial and shares as response: column of the numbers of trials",
    )
    fit.add_argument("--offset", help="column of offsets (log exposure of rates, say)")
    fit.add_argument("--strata", help="for survival times: column of strata (hospitals, say)")
    fit.add_argument(
        "--groups-cv", help="column of labels of rows that stay in one fold (patients, say)"
    )


def add_output(fit):
    """Options for reading the file, and for the place of the results."""
    for name, about in COMMON:
        fit.add_argument(name, **about)
    fit.add_argument("--seed", type=whole, default=0, help="seed of the folds (default 0)")
    fit.add_argument("--jobs", type=whole, default=None, help="processes for cross-validation")
    fit.add_argument(
        "--out",
        type=FilePath,
        default=FilePath("l0path-out"),
        help="folder for the results (default l0path-out)",
    )
    fit.add_argument("--no-plots", action="store_true", help="write no plots and no page")
    fit.add_argument(
        "--progress",
        action=argparse.BooleanOptionalAction,
        help="show progress bars on stderr at once, or never; else a terminal shows them after 5 s",
    )


def add_warm_up(commands):
    """The arguments of `warm-up`."""
    warm = commands.add_parser(
        "warm-up",
        help="compile and store the kernels, for a Dockerfile say",
        description="Compile and store the kernels ahead of time.",
    )
    warm.add_argument("losses", nargs="*", default=["all"], help="losses, or all (default)")
    warm.add_argument("--jobs", type=whole, default=None, help="processes that compile at once")
    # of a process that compiles beside another
    warm.add_argument("--beside", action="store_true", help=argparse.SUPPRESS)


def add_predict(commands):
    """The arguments of `predict`."""
    predict = commands.add_parser(
        "predict",
        help="predict new rows by a saved path",
        description="Predict the rows of a data file by a path that `fit` saved.",
    )
    predict.add_argument(
        "path", type=FilePath, help="path file, or the folder that fit wrote (its path.npz)"
    )
    predict.add_argument("file", type=FilePath, help="CSV or Parquet file of the new rows")
    predict.add_argument("--k", type=whole, help="size of the model (default: the one fit chose)")
    predict.add_argument(
        "--rule", help="rule that chooses the model, such as bic, or 1se after --cv"
    )
    predict.add_argument("--offset", help="column of offsets (default: that of the fit)")
    predict.add_argument(
        "--times",
        default="",
        help="for survival times: times, separated by commas, at which probabilities of no event "
        "until then are written",
    )
    predict.add_argument(
        "--out",
        type=FilePath,
        default=FilePath("predictions.csv"),
        help="CSV file for the predictions (default predictions.csv)",
    )
    for name, about in COMMON:
        predict.add_argument(name, **about)
