"""Bars of `progress=True`: on stderr, widgets in notebooks that have ipywidgets (tqdm.auto);
silent, and tqdm not imported, when nobody asked for them.
"""

import warnings


class Bar:
    """A bar of `total` units (None: a line of text), or, with show=False, nothing. A context
    manager: whatever ends the block closes the bar.
    """

    def __init__(self, show, desc, total=None, unit="it", **more):
        self.bar = None
        if show:
            with warnings.catch_warnings():
                warnings.simplefilter(
                    "ignore"
                )  # tqdm warns of a notebook without ipywidgets, and shows text
                from tqdm.auto import tqdm

                self.bar = tqdm(
                    desc=desc,
                    total=total,
                    unit=unit,
                    **({} if total is not None else {"bar_format": "{desc}: {elapsed}{postfix}"}),
                    miniters=0,
                    **more,
                )

    def update(self, count=1):
        """Record that `count` units are done."""
        if self.bar is not None and count:
            self.bar.update(count)

    def shorten(self, count):
        """Record that `count` units will not be needed."""
        if self.bar is not None and count:
            self.bar.total -= count
            self.bar.refresh()

    def say(self, text):
        """A text beside the bar, at most ten times a second."""
        if self.bar is not None:
            self.bar.set_postfix_str(text, refresh=False)
            self.bar.update(0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.bar is not None:
            self.bar.refresh()  # the last text
            self.bar.close()
