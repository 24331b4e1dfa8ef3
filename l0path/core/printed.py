"""Tables as a terminal shows them (pandas hides columns in the middle of those that are wider), and
tables as papers have them.
"""

import math
import re
from os import PathLike
from pathlib import Path as File
from typing import IO, Any

import pandas as pd

from .arguments import whole
from .hints import refuse_of_table

LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    **{mark: "\\" + mark for mark in "&%$#_{}"},
}
HEADS = {"p_value": "p-value", "loglik": "log-likelihood", "rss": "RSS"}  # else without underscores
NEGATIVE = re.compile(r"(?<![\w.-])-\d[\d.]*(e[+-]\d+)?")
CELL = "padding:2px 8px;text-align:right"  # of tables in HTML
NAME = "padding:2px 8px;text-align:left;font-weight:normal"


class Table(pd.DataFrame):
    """A DataFrame that prints all of its columns, in blocks where they do not fit on a line. What
    pandas makes of it is an ordinary DataFrame.
    """

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError as error:
            refuse_of_table(self, name, error)

    def __reduce__(self):
        return pd.DataFrame, (pd.DataFrame(self),)

    def __repr__(self):
        if pd.get_option("display.max_columns"):  # a number that the user, or a notebook, has set
            return super().__repr__()
        with pd.option_context("display.max_columns", None):
            return super().__repr__()


class PaperTable(pd.DataFrame):
    """A DataFrame that prints as the table of a paper: a title, rounded cells and a note, the first
    and the last from its `attrs`. What pandas makes of it is an ordinary DataFrame.
    """

    def formatted(self, digits: int = 4) -> pd.DataFrame:
        """The table as short texts of `digits` significant digits."""
        digits = whole(digits, "digits", 1)
        shown = {name: _texts(name, self[name].tolist(), digits) for name in self.columns}
        return pd.DataFrame(shown, index=self.index, dtype=object)

    def _printed(self, digits):
        """(head, {part: rows}), all of texts: the columns, and each row with its name first."""
        shown = self.formatted(digits)
        rows = [
            [", ".join(map(str, name)) if isinstance(name, tuple) else str(name), *cells]
            for name, *cells in shown.itertuples(name=None)
        ]
        return [HEADS.get(name, name.replace("_", " ")) for name in shown.columns], {"": rows}

    def __repr__(self):
        parts = (self.attrs.get("title"), repr(self.formatted()), self.attrs.get("note"))
        return "\n".join(part for part in parts if part)

    def _repr_html_(self):
        return self.to_html()

    def to_markdown(
        self, buf: str | PathLike | IO[str] | None = None, *, digits: int = 4
    ) -> str | None:
        """The table in Markdown; written to `buf`, a file or its name, if that is given."""
        head, parts = self._printed(digits)
        rows = [row for part in parts.values() for row in part]
        lines = [["", *head], [":---", *["---:"] * len(head)], *rows]
        text = "\n".join(
            f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines
        )
        return _written(text, buf)

    def to_latex(
        self,
        buf: str | PathLike | IO[str] | None = None,
        *,
        digits: int = 4,
        caption: str | None = None,
        label: str | None = None,
    ) -> str | None:
        """The table in LaTeX, with the rules of the package booktabs; written to `buf`, a file or
        its name, if that is given. caption, label : put it into a table environment.
        """
        head, parts = self._printed(digits)
        lines = [rf"\begin{{tabular}}{{l{'r' * len(head)}}}", r"\toprule"]
        lines.append(" & ".join(["", *map(_latex, head)]) + r" \\")
        for part in parts.values():
            lines.append(r"\midrule")
            for name, *cells in part:
                lines.append(" & ".join([_latex(name), *map(_number, cells)]) + r" \\")
        lines += [r"\bottomrule", r"\end{tabular}"]
        if caption is not None or label is not None:
            lines = [
                r"\begin{table}",
                r"\centering",
                *([] if caption is None else [rf"\caption{{{caption}}}"]),
                *([] if label is None else [rf"\label{{{label}}}"]),
                *lines,
                r"\end{table}",
            ]
        return _written("\n".join(lines) + "\n", buf)

    def to_html(
        self,
        buf: str | PathLike | IO[str] | None = None,
        *,
        digits: int = 4,
        caption: str | None = None,
    ) -> str | None:
        """The table in HTML, which a word processor takes: its rows as in LaTeX, the title, or
        `caption`, above it, and the note below; written to `buf`, a file or its name, if that is
        given.
        """
        from html import escape

        head, parts = self._printed(digits)
        rule = "border-top:1px solid"
        above = escape(str(self.attrs.get("title", "") if caption is None else caption))
        lines = ['<table style="border-collapse:collapse;border-top:2px solid">']
        lines += [f'<caption style="text-align:left">{above}</caption>'] if above else []
        cells = "".join(f'<th scope="col" style="{CELL}">{escape(name)}</th>' for name in head)
        lines.append(f"<thead><tr><th></th>{cells}</tr></thead>")
        for part in parts.values():
            lines.append(f'<tbody style="{rule}">')
            for name, *row in part:
                cells = "".join(f'<td style="{CELL}">{escape(cell)}</td>' for cell in row)
                lines.append(f'<tr><th scope="row" style="{NAME}">{escape(name)}</th>{cells}</tr>')
            lines.append("</tbody>")
        note = escape(self.attrs.get("note", ""))
        if note:
            whole = f'<td colspan="{len(head) + 1}" style="font-size:85%">{note}</td>'
            lines.append(f'<tfoot style="{rule}"><tr>{whole}</tr></tfoot>')
        return _written("\n".join([*lines, "</table>"]) + "\n", buf)

    def to_gt(self, *, digits: int = 4) -> Any:
        """The table as a `great_tables.GT`, with a heading, a group of rows for each part and its
        columns, for further styles, HTML, LaTeX or a picture; needs great_tables.
        """
        from great_tables import GT

        head, parts = self._printed(digits)
        rows = [(part, *line) for part, lines in parts.items() for line in lines]
        table = pd.DataFrame(rows, columns=["part", "name", *head])
        groups = {"groupname_col": "part"} if len(parts) > 1 else {}
        table = table if groups else table.drop(columns="part")
        shown = GT(table, rowname_col="name", **groups).cols_align("right", head)
        title, note = (self.attrs.get(name, "") for name in ("title", "note"))
        shown = shown.tab_header(title) if title else shown
        return shown.tab_source_note(note) if note else shown


def _texts(name, values, digits):
    """The numbers of a column as texts, NaN as blanks."""
    known = [value for value in values if not math.isnan(value)]
    whole = all(float(value).is_integer() for value in known) and max(known, default=0) < 1e9

    def text(value):
        if math.isnan(value):
            return ""
        if name == "p_value":
            return "<0.0001" if value < 1e-4 else f"{value:.4f}"
        if whole or name == "loglik":
            return f"{value:.{0 if whole else 2}f}"
        return f"{value:#.{digits}g}".removesuffix(".")

    return list(map(text, values))


def _latex(text):
    return "".join(LATEX.get(mark, mark) for mark in str(text))


def _number(text):
    """A cell in LaTeX, with the minus signs of numbers."""
    return NEGATIVE.sub(lambda found: f"${found[0]}$", _latex(text))


def _written(text, buf):
    if buf is None:
        return text
    if isinstance(buf, (str, PathLike)):
        File(buf).write_text(text, encoding="utf-8")
    else:
        buf.write(text)
    return None
