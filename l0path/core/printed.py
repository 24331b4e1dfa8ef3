"""Tables as a terminal shows them: pandas hides columns in the middle of those that are wider."""

import pandas as pd

from .hints import refuse_of_table


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
