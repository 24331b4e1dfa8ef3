"""Messages of the package in the words of the command line: its options in the place of arguments
and functions of Python.
"""

import re

OPTIONS = {
    "loss": "--loss",
    "max_k": "--max-k",
    "k": "--k",
    "lambda1": "--lambda1",
    "lambda2": "--lambda2",
    "relax": "--relax",
    "algorithm": "--algorithm",
    "pos_label": "--pos-label",
    "sample_weight": "--weights",
    "freq_weight": "--freq-weights",
    "trials": "--trials",
    "offset": "--offset",
    "strata": "--strata",
    "groups": "--groups",
    "groups_cv": "--groups-cv",
    "always_include": "--include",
    "exclude": "--drop",
    "heredity": "--heredity",
    "scoring": "--scoring",
    "rule": "--rule",
    "cv": "--cv",
    "random_state": "--seed",
    "n_jobs": "--jobs",
    "times": "--times",
}  # arguments of functions, and the options that say the same
PHRASES = (
    (r"\bl0path\.losses\.Quantile\(([^()]*)\)", r"quantile --quantile \1"),
    (r"\bl0path\.losses\.Tweedie\(power=([^()]*)\)", r"tweedie --power \1"),
    (r"\bl0path\.losses\.NegativeBinomial\(theta=([^()]*)\)", r"negative_binomial --theta \1"),
    (r"\b(?:l0path\.)?(?:path\.|Path\.)?cv_fit(?:\([^()]*\))?", "--cv 10"),
    (r"\b(?:path|Path)\.certify(?:\([^()]*\))?", "--certify"),
    (r"\bcertify=True", "--certify"),
    (r"^y (has|holds|mixes|looks|contains)\b", r"the response \1"),
    (r"\bpath\.model\((k|rule)=\)", r"--\1"),
    (r", or a function f\(y, prediction, sample_weight\)", ""),
)  # calls, and what stands for them
ARGUMENT = re.compile(
    rf"(?<![\w.-])({'|'.join(sorted(OPTIONS, key=len, reverse=True))})=(?!=)('[^']*'|\"[^\"]*\"|)"
)

NAME = re.compile(  # arguments that no English word and hardly a column is called, without a value
    rf"(?<![\w.'-])(?:{'|'.join(name for name in OPTIONS if '_' in name)})(?![\w'(=])"
)


def in_options(text):
    """The text with the options of the command line: loss='squared' is --loss squared."""
    for pattern, option in PHRASES:
        text = re.sub(pattern, option, text)
    return NAME.sub(lambda found: OPTIONS[found[0]], ARGUMENT.sub(_option, text))


def _option(found):
    """`--option value` of an argument that was found, `--option` where nothing follows it."""
    quoted = found[2][1:-1]
    following = found.string[found.end() : found.end() + 1]
    space = " " if quoted or re.match(r"[\w\[({.+-]", following) else ""
    return f"{OPTIONS[found[1]]}{space}{quoted}"
