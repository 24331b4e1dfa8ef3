"""Tables of other libraries, as tables of pandas."""


def pandas_of(value, name="X", ordered=True):
    """A table of polars, pyarrow or another library that narwhals reads, as a pandas DataFrame.

    Names, categories, booleans and missing values are kept; a polars LazyFrame is collected.
    Categories without an order (polars.Categorical) are in alphabetical order.

    Parameters
    ----------
    value : object
        Anything but such a table is returned as it is.
    name : str, default "X"
        The argument that it is, for messages.
    ordered : bool, default True
        Whether rows must be in an order, because they go with those of other arguments. Relations
        of a database have none.

    Returns
    -------
    DataFrame or object

    Raises
    ------
    TypeError
        For a table that the installed narwhals does not read, and for a relation where rows must
        be in an order.
    """
    if not _is_table_of_others(value):
        return value
    import narwhals as nw

    try:
        table = nw.from_native(value)
    except (TypeError, ImportError):  # unknown, or newer than the narwhals that is installed
        raise TypeError(
            f"{name} is a table of {_kind(value)}, which is not read; pass "
            f"{name}.{_remedy(value)}, a pandas DataFrame"
        ) from None
    if isinstance(table, nw.LazyFrame):
        if ordered and not table.implementation.is_polars():
            raise TypeError(
                f"{name} is a table of {_kind(value)}, whose rows have no fixed order; pass "
                f"{name}.{_remedy(value)} of a sorted one, a pandas DataFrame, or "
                'l0path.fit("y ~ a + b", data) with a formula that takes all from one table'
            )
        table = table.collect()
    try:
        frame = table.to_pandas()
    except ModuleNotFoundError:  # polars makes tables of pandas by way of pyarrow
        return _column_by_column(table, name)
    if table.implementation.is_polars():
        for column, kind in table.schema.items():
            if kind == nw.Categorical:  # polars keeps these in the order of its own memory
                levels = sorted(frame[column].dropna().unique())
                frame[column] = frame[column].cat.set_categories(levels)
    return frame


def _column_by_column(table, name):
    """A narwhals table of numbers, booleans and texts as a pandas DataFrame, without pyarrow."""
    import narwhals as nw
    import pandas as pd

    for column, kind in table.schema.items():
        if not (kind.is_numeric() or kind in (nw.Boolean, nw.String)):
            raise ModuleNotFoundError(
                f"column {column!r} of {name} is {kind}, which is read with pyarrow: pip install "
                "pyarrow, or turn the column into numbers or texts"
            )
    return pd.DataFrame({column: table[column].to_list() for column in table.columns})


def _is_table_of_others(value):
    kind = type(value)
    if kind.__module__.partition(".")[0] in ("builtins", "numpy", "pandas", "scipy", "l0path"):
        return False
    has = set(dir(kind))
    lazy = {"columns", "collect"} <= has
    return "__dataframe__" in has or lazy or ("columns" in has and has & {"dtypes", "fetchall"})


def _kind(value):
    kind = type(value)
    return f"{kind.__module__.partition('.')[0].lstrip('_')} ({kind.__name__})"


def _remedy(value):
    return "to_pandas()" if "to_pandas" in dir(type(value)) else "df()"
