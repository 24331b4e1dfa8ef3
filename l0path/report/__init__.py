"""What a notebook or a browser shows: HTML of paths, cross-validations, certificates and summaries, and `explore`, a page to look through a path."""
from .html import certificate_html, cv_html, path_html, summary_html

__all__ = ["certificate_html", "cv_html", "path_html", "summary_html"]
