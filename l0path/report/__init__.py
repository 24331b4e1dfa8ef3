"""Pages for notebooks and browsers: HTML of paths, cross-validations, certificates and summaries,
and `explore`, a page to look through a path; and a model as code.
"""

from .code import python_code, sql_expression
from .explore import Page, explore
from .html import certificate_html, cv_html, path_html, summary_html
from .results_html import (
    cost_html,
    dataset_html,
    knockoffs_html,
    model_html,
    model_set_html,
    nested_html,
    refit_html,
    stability_html,
)
from .sklearn_models import sklearn_model

__all__ = [
    "Page",
    "certificate_html",
    "cost_html",
    "cv_html",
    "dataset_html",
    "explore",
    "knockoffs_html",
    "model_html",
    "model_set_html",
    "nested_html",
    "path_html",
    "python_code",
    "refit_html",
    "sklearn_model",
    "sql_expression",
    "stability_html",
    "summary_html",
]
