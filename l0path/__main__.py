"""Command line: `python -m l0path fit FILE --response NAME` fits the path on a CSV or Parquet file,
chooses a model, prints it and writes coefficients, table, path file, plots and a page; `python -m
l0path predict PATH FILE` predicts new rows by it.
"""

import difflib
import sys
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pandas as pd

from . import losses
from .command_line import check_out, parser, read, ready, row_numbers, run_predict
from .command_line.options import CLASS_RIDGE
from .command_line.predicting import remember
from .command_line.reading import as_numbers, complete_rows, nameless, refuse_short, some
from .command_line.words import in_options
from .formula import opened
from .formula.frames import counted
from .paths.criteria import RULES
from .problem.families.trials import loss_meant
from .problem.losses import CLASSIFICATION, SURVIVAL, canonical_name, takes_several, traits_named


def run_warm_up(options):
    """Compile and store kernels."""
    from .warm import compile_beside, warm_up

    if options.beside:
        compile_beside(options.losses)
    else:
        warm_up("all" if options.losses == ["all"] else options.losses, n_jobs=options.jobs)


def listed(text):
    """The names in a list with commas."""
    return [c.strip() for c in text.split(",") if c.strip()]


def columns(frame, text, option):
    """Names of columns of the file from a list with commas; one name may have commas of its own."""
    if text in frame.columns:
        return [text]
    for name in listed(text):
        if name not in frame.columns:
            near = difflib.get_close_matches(name, map(str, frame.columns), n=1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise ValueError(
                f"{option}: there is no column {name!r}; {hint}the columns are "
                f"{some(frame.columns)}"
            )
    return listed(text)


def roles(frame, options):
    """{argument of `fit`: column} of the columns that are no predictors: weights, offset, strata,
    groups of the folds; checked.
    """
    given = {
        "sample_weight": ("--weights", options.weights),
        "freq_weight": ("--freq-weights", options.freq_weights),
        "trials": ("--trials", options.trials),
        "offset": ("--offset", options.offset),
        "strata": ("--strata", options.strata),
        "groups_cv": ("--groups-cv", options.groups_cv),
    }
    for option, name in given.values():
        if name:
            columns(frame, name, option)
    return {argument: name for argument, (_, name) in given.items() if name}


def prepare(frame, options, say):
    """(X, y, arguments of `fit`) from the file: named columns removed, incomplete rows dropped,
    text columns coded 0/1 against their first level; each step is printed.
    """
    left = response_columns(frame, options.response)
    by_row, drop = roles(frame, options), columns(frame, options.drop, "--drop")
    twice = [name for name in left if name in [*drop, *by_row.values()]]
    if twice:
        raise ValueError(
            f"--response {twice[0]} is named by --drop, --weights, --freq-weights, --trials, "
            "--offset, --strata or --groups-cv too; leave it out there"
        )
    frame = frame.drop(columns=[c for c in drop if c not in by_row.values()])
    frame = frame.drop(columns=row_numbers(frame, say, {*left, *by_row.values()}))
    complete = complete_rows(frame, say)
    refuse_short(options.file, complete)
    X = complete.drop(columns=[*left, *by_row.values()])
    y = complete[left] if len(left) > 1 else complete[left[0]]
    text = [
        c
        for c in X.columns
        if not pd.api.types.is_numeric_dtype(X[c]) and not pd.api.types.is_bool_dtype(X[c])
    ]
    wide = [c for c in text if X[c].nunique() > many_levels(len(X))]
    told = {c: said for c in wide if (said := as_numbers(c, X[c]))}
    if told:
        raise ValueError(
            f"{len(told)} column{'s' if len(told) > 1 else ''} of numbers cannot be read as such: "
            f"{'; '.join(list(told.values())[:4])} (--drop {','.join(map(str, list(told)[:4]))} "
            "leaves out)"
        )
    if wide:
        raise ValueError(
            f"column {wide[0]!r} is text with {X[wide[0]].nunique()} different values; leave it "
            f"out with --drop {wide[0]}"
        )
    for column in text:
        if told := as_numbers(column, X[column]):
            say(f"note: {column} is taken for classes; {told}")
    empty = [c for c in text if X[c].nunique() < 2]
    if empty:
        say(f"text columns of one value only are left out: {some(empty)}")
    if X.shape[1] == len(empty):
        raise ValueError(
            f"{options.file} has no feature: besides the response and columns with a role of their "
            "own there is no column of two values or more"
        )
    levels = {c: pd.Categorical(X[c]).categories.tolist() for c in text}
    coded = {c: [f"{c}_{level}" for level in known[1:]] for c, known in levels.items()}
    if text:
        X = pd.get_dummies(X, columns=text, drop_first=True, dtype=float)
        say(f"text columns coded 0/1 against their first level: {some(text)}")
    whole = options.include in [*coded, *X.columns]  # a name with commas of its own
    include = [options.include] if whole else listed(options.include)
    include = [column for name in include for column in coded.get(name, [name])]
    return (
        X,
        y,
        {
            **{argument: complete[name].to_numpy() for argument, name in by_row.items()},
            "always_include": include or None,
            "groups": groups_of(options.groups, coded),
        },
        levels,
    )


def groups_of(text, coded):
    """The lists of columns of --groups "a,b;c", a text column with all of its 0/1 columns; None
    without. coded: {text column: its 0/1 columns}.
    """
    if not text:
        return None
    return [
        [column for name in listed(part) for column in coded.get(name, [name])]
        for part in text.split(";")
        if listed(part)
    ]


def response_columns(frame, response):
    """The columns of --response: one, several with commas between them, or those of Surv(...)."""
    if response in frame.columns:
        return [response]
    return columns(frame, ",".join(survival_columns(response) or [response]), "--response")


def survival_columns(response):
    """The columns of a response "Surv(time, event)"; None for others."""
    text = (response or "").replace(" ", "")
    return text[5:-1].split(",") if text.startswith("Surv(") and text.endswith(")") else None


def of_survival(options):
    """Whether the response is one of survival times."""
    left = options.response or options.formula.split("~")[0]
    return options.loss in SURVIVAL or survival_columns(left) is not None


def from_formula(frame, options, say):
    """(X, y, arguments of `fit`, {}) by the formula. Incomplete rows are dropped and printed."""
    frame = frame.drop(columns=columns(frame, options.drop, "--drop"))
    unnamed = [c for c in frame.columns if nameless(c) and f"`{c}`" not in options.formula]
    frame = frame.drop(columns=row_numbers(frame[unnamed], say))
    X, y, encoded = opened(
        options.formula,
        frame,
        {
            **roles(frame, options),
            "always_include": listed(options.include) or None,
            "heredity": None if options.heredity == "none" else options.heredity,
            **({"loss": options.loss or "cox"} if of_survival(options) else {}),
        },
    )
    if X.formula.n_dropped:
        say(
            f"{X.formula.n_dropped} of {len(frame)} rows have missing values and are left out "
            f"({counted(X.formula.missing)})"
        )
    for name in X.formula.used():
        column = frame[name]
        if pd.api.types.is_object_dtype(column) or pd.api.types.is_string_dtype(column):
            if told := as_numbers(name, column):
                say(f"note: {name} is taken for classes; {told}")
    for term, at in X.formula.terms:
        if len(at) >= many_levels(len(y)):
            say(
                f"note: the term {term} has {len(at)} columns, which are chosen as a whole; "
                "an identifier, perhaps"
            )
    return X, y, encoded, {}


MOST_CLASSES = 10  # text with more values is not taken for classes unless that is said


def many_levels(n):
    """The number of values from which on a text column of n rows is not taken for a factor."""
    return max(20, n // 5)


def choose_loss(options, y, say):
    """The loss asked for, or the one the response suggests."""
    if of_survival(options):
        if not options.loss:
            say("loss: cox")
        return options.loss or "cox"
    several = y.shape[1] if y.ndim == 2 else 1
    if options.loss:
        loss = canonical_name(loss_meant(options.loss, y, options.trials))
        if several > 1 and loss != "binomial" and not takes_several(loss):
            raise ValueError(
                f"--loss {options.loss} takes one response, and {several} are named; fit one at a "
                "time, or name the response alone: all other columns are features"
            )
        return loss
    if several > 1:
        say(f"loss: squared ({several} responses)")
        return "squared"
    classes = not pd.api.types.is_numeric_dtype(y) or pd.api.types.is_bool_dtype(y)
    labels = list(y.unique()) if classes else []
    name = options.response or options.formula.split("~")[0].strip()
    told = as_numbers(name, pd.Series(y)) if classes and not pd.api.types.is_bool_dtype(y) else None
    if told and len(labels) > 2:
        raise ValueError(f"the response is text: {told}; --loss multinomial takes it for classes")
    if classes and not 2 <= len(labels) <= MOST_CLASSES:
        raise ValueError(
            f"the response {name} is text "
            f"with {len(labels)} classes ({', '.join(map(str, labels[:5]))}"
            f"{', ...' if len(labels) > 5 else ''}); if these should be numbers, see --decimal "
            "and --na-values, and if they are classes, pass --loss multinomial"
        )
    loss = "squared" if not classes else "logistic" if len(labels) == 2 else "multinomial"
    say(f"loss: {loss}")
    return loss


def positive(text, y, loss):
    """The label of y that --pos-label names by its text, None without one."""
    if text is None or loss not in CLASSIFICATION:
        if text is not None:
            raise ValueError(f"--pos-label {text} is for two classes, and not for loss {loss}")
        return None
    if y.ndim == 2:
        raise ValueError(
            f"--pos-label {text} is for one response; several are 0 and 1, of which 1 is predicted"
        )
    return label_named("pos-label", text, y)


def label_named(option, text, y):
    """The label of y that an option names by its text."""
    labels = {str(label): label for label in y.unique()}
    if text not in labels:
        raise ValueError(f"--{option} {text} is not a label of the response; it has {some(labels)}")
    return labels[text]


def in_order(y, options):
    """The response with the order of its classes that --order names."""
    if options.order is None:
        if options.loss != "ordinal":
            return y
        ordered = pd.api.types.is_numeric_dtype(y) or isinstance(y.dtype, pd.CategoricalDtype)
        if not ordered and y.nunique() > 2:
            raise ValueError(
                f"the order of the classes {some(y.unique(), 4)} is not known; "
                "pass --order with all of them, from the lowest to the highest"
            )
        return y
    labels, text = listed(options.order), y.astype(str)
    unknown = sorted(set(text) - set(labels))
    if unknown or len(set(labels)) < len(labels):
        what = f"lacks {unknown[0]!r}" if unknown else "names a class twice"
        raise ValueError(
            f"--order {options.order} {what}; name every class of the response once, from the "
            "lowest to the highest"
        )
    return pd.Series(pd.Categorical(text, categories=labels, ordered=True), y.index, name=y.name)


def refuse_options(options):
    """Refuse options that do not go together, before the file is read."""
    if options.cv is not None and options.cv < 2:
        raise ValueError(f"--cv {options.cv} must be a whole number >= 2")
    for option, value in (
        ("--groups-cv", options.groups_cv),
        ("--scoring", options.scoring),
        ("--relax", options.relax),
    ):
        if value and not options.cv:
            raise ValueError(f"{option} belongs to cross-validation: pass --cv too")
    if options.strata and not of_survival(options):
        raise ValueError("--strata is for survival times, --response 'Surv(time, event)'")
    if of_survival(options) and options.loss not in (None, *SURVIVAL):
        raise ValueError(
            f"--loss {options.loss} is not for survival times; leave it out, or name one column by "
            "--response"
        )
    if options.groups and options.formula:
        raise ValueError(
            "--groups goes with --response; in a formula every term is chosen as a whole"
        )
    if options.order and options.loss != "ordinal":
        raise ValueError("--order is for ordered classes: pass --loss ordinal too")


# options with a number of a loss, or a class: the loss, and the record that takes it
NUMBERS = {
    "quantile": ("quantile", losses.Quantile),
    "power": ("tweedie", losses.Tweedie),
    "theta": ("negative_binomial", losses.NegativeBinomial),
    "ties": ("cox", losses.Cox),
    "baseline": ("multinomial", losses.Multinomial),
}


CHOICES = {
    "min": "best mean score",
    "sparse": "fewest coefficients within half a paired standard error",
    "1se": "fewest coefficients within one standard error",
}  # of --cv


def with_numbers(loss, options, y):
    """The loss with the number, or the class, that an option gave for it, as a record; or its
    name.
    """
    for option, (name, record) in NUMBERS.items():
        value = getattr(options, option)
        if value is None:
            continue
        if loss != name:
            raise ValueError(f"--{option} {value} is for --loss {name}, not for --loss {loss}")
        return record(label_named(option, value, y) if option == "baseline" else value)
    return loss


def refuse_rule(options, loss):
    """Refuse a choice by a rule that is not known, or that the loss does not have; the default rule
    is set.
    """
    default = "min" if options.cv else "bic"
    given = f"--rule {options.rule}" if options.rule else f"the default rule {default}"
    options.rule = (options.rule or default).lower()
    known = (*CHOICES, *RULES) if options.cv else RULES
    if options.rule not in known:
        more = f"; {', '.join(CHOICES)} need --cv" if options.rule in CHOICES else ""
        raise ValueError(
            f"--rule {options.rule} is not known here; choose one of {', '.join(known)}{more}"
        )
    if options.k is not None or options.rule in CHOICES:
        return
    if not traits_named(loss).likelihood:
        raise ValueError(
            f"loss {loss} has no likelihood, so that {given} cannot choose the size; "
            "pass --cv 10 for a choice by cross-validation, or --k for a size"
        )


def shares(text):
    """The shares of --relax, None without."""
    try:
        return None if text is None else [float(part) for part in listed(text)]
    except ValueError:
        raise ValueError(f"--relax {text} must be numbers, separated by commas") from None


def best_of_sizes(cv):
    """{size: row} of the best score of each size, of a cross-validation with several slices; empty
    for others, whose rows are those of sizes.
    """
    if cv is None or len({s.slice for s in cv._solutions}) < 2 or cv._meta.grid == "lambda0":
        return {}
    out = {}
    for k in sorted({s.k for s in cv._solutions}):
        with suppress(LookupError):  # no score
            out[k] = cv.select(k=k)
    return out


def run_fit(options, say=print):
    """Fit, choose, print and write; returns (path, index of the chosen model)."""
    import l0path

    refuse_options(options)
    check_out(options.out)
    frame = ready(read(options.file, options, say), say)
    refuse_short(options.file, frame)
    X, y, encoded, levels = (from_formula if options.formula else prepare)(frame, options, say)
    loss = choose_loss(options, y, say)
    refuse_rule(options, loss)
    y = in_order(y, options)
    lambda2, classes = options.lambda2, loss in CLASSIFICATION or loss == "ordinal"
    if lambda2 is None and options.cv and options.lambda1 is None:
        lambda2 = "auto"
    elif lambda2 is None and classes:
        lambda2 = CLASS_RIDGE
        say(f"lambda2 = {lambda2:g} (default for classes here; --lambda2 0 switches it off)")
    arguments = {
        "loss": with_numbers(loss, options, y),
        "max_k": options.max_k,
        "lambda2": lambda2,
        "lambda1": options.lambda1,
        "algorithm": options.algorithm,
        "pos_label": positive(options.pos_label, y, loss),
        "progress": options.progress,
        **encoded,
    }
    cv = None
    if options.cv:
        path = cv = l0path.cv_fit(
            X,
            y,
            cv=options.cv,
            scoring=options.scoring,
            random_state=options.seed,
            n_jobs=options.jobs,
            relax=shares(options.relax),
            **arguments,
        )
    else:
        path = l0path.fit(X, y, **arguments)
    say(path)
    for note in path.notes:
        say(f"note: {in_options(note)}")
    if options.k is not None:
        index, why = path.select(k=options.k), "the size asked for"
    elif options.rule in CHOICES:
        index = cv.select(options.rule)
        why = f"{options.cv}-fold cross-validation, {CHOICES[options.rule]}"
    elif cv is not None:  # among the models that have a score
        index, why = cv.select(options.rule, rows=range(len(cv))), options.rule
    else:
        path, index, said = path._best(options.rule)
        why = options.rule + (said and f"; {in_options(said)}")
    path._choice = index
    coded = tuple(
        (f"{c}_{v}" if i else "", c, str(v))
        for c, known in levels.items()
        for i, v in enumerate(known)
    )
    for one in (path, path if cv is None else cv._path):
        one._meta = replace(one._meta, coded=coded)
    show(path, cv, index, why, say)
    if options.certify is not None:
        certificate = path.certify(index=index, time_limit=options.certify)
        say(f"\n{certificate!r}")
    write(path, cv, index, levels, options, say)
    return path, index


def five_digits(x):
    """A number of a table: 101367 rather than 1.0137e+05 beside 68783."""
    return f"{x:.0f}" if 1e5 <= abs(x) < 1e9 else f"{x:.5g}"


def show(path, cv, index, why, say):
    """Print the table and the chosen model."""
    sizes, names = best_of_sizes(cv), ["lambda0_low", "lambda0_high", "objective"]
    if sizes:  # objectives of different ridges do not compare
        names = ["lambda2", "relax", "loss"]
    table = path.details[["k", *names, "deviance_ratio", "optimality"]]
    if cv is not None:
        table = table.join(cv.scores[["cv_mean", "cv_se"]])
    if sizes:
        table = table.loc[list(sizes.values())]
        say("the best ridge and mixture for each size:")
    with pd.option_context("display.max_rows", 200, "display.width", 160):
        say(table.to_string(index=False, float_format=five_digits, na_rep=""))
    about = path._meta.about and f"; coefficients are about {path._meta.about}"
    s = path._solutions[index]
    shrunk = f", lambda2 = {s.lambda2:.4g}, relax = {s.relax:.4g}" if sizes else ""
    say(f"\nchosen: k = {s.k}{shrunk} ({why}){about}")
    say(path.coef(index=index).to_string(float_format=lambda x: f"{x:.6g}"))


PICTURES = ("coefficients.png", "loss.png", "cv.png", "survival.png", "explore.html")


def write(path, cv, index, levels, options, say):
    """Coefficients of all models, the table, the path file, the plots and the page. Pictures of an
    earlier fit in the same folder are removed, because they would be taken for those of this one.
    """
    options.out.mkdir(parents=True, exist_ok=True)
    old = {*PICTURES} if (options.out / "path.npz").exists() else set()
    several = path._meta.responses is not None
    chosen, every = path.coef(index=index), path._every_coef()
    if not several:
        chosen = chosen.rename("coefficient").to_frame()
    if path.classes is not None and not several and not path._meta.ordered:
        name = ("positive_class", "") if every.columns.nlevels > 1 else "positive_class"
        chosen["positive_class"] = every[name] = str(path.classes[1])
    chosen.to_csv(options.out / "chosen.csv")
    every.to_csv(options.out / "coefficients.csv")
    table = path.details
    if cv is not None:
        table = table.join(cv.scores[["cv_mean", "cv_sd", "cv_se"]])
    table.to_csv(options.out / "table.csv", index_label="index")
    path.save(options.out / "path.npz")
    remember(
        options.out,
        path,
        index,
        levels,
        offset=options.offset,
        strata=options.strata,
        na_values=options.na_values,
    )
    files = ["chosen.csv", "coefficients.csv", "table.csv", "path.npz", "model.json"]
    if not options.no_plots:
        import matplotlib

        matplotlib.use("Agg")
        plots = {
            "coefficients.png": lambda: path.plot("coef", mark=index),
            "loss.png": lambda: path.plot("loss", mark=index),
        }
        if cv is not None:
            plots["cv.png"] = cv.plot
        if path._meta.traits.response == "survival":
            unseen = None if cv is None else cv.held_out(index=index)
            plots["survival.png"] = lambda: path.model(index=index).plot("survival", risk=unseen)
        for name, axes in plots.items():
            ax = axes()
            ax.figure.savefig(options.out / name, dpi=150, bbox_inches="tight")
            files.append(name)
        path.explore(
            options.out / "explore.html",
            title=f"{options.response or options.formula}: {options.file.name}",
            time_limit=10,
        )
        files.append("explore.html")
    say(f"\nwritten to {options.out}: {', '.join(files)}")
    old = [name for name in sorted(old - {*files}) if (options.out / name).exists()]
    for name in old:
        (options.out / name).unlink()
    if old:
        say(f"removed, because they are of an earlier fit: {', '.join(old)}")


def main(argv=None):
    """Entry point; returns the exit code (2 for input that cannot be used)."""
    options = parser().parse_args(argv)
    np.set_printoptions(linewidth=160)
    try:
        commands = {"fit": run_fit, "predict": run_predict, "warm-up": run_warm_up}
        commands[options.command](options)
    except (ValueError, TypeError, LookupError, OSError, ImportError) as error:
        print(f"l0path: {in_options(str(error))}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
