"""`Model`: one solution of a path."""


class Model:
    """One solution. Attributes: index k n_nonzero slice lambda0 lambda1 lambda2 support features groups intercept coef objective loss deviance_ratio lower_bound gap flags optimality."""

    def __init__(self, path, index):
        self.path, self.index = path, int(index)
        self._row = path._row(path.solutions[self.index])

    def __getattr__(self, name):
        row = self.__dict__.get("_row", {})
        if name in row:
            return row[name]
        raise AttributeError(f"Model has no attribute {name!r}; it has {', '.join(sorted(row))}")

    def __dir__(self):
        return sorted({*super().__dir__(), *self._row})

    @property
    def support(self):
        """Column indices, ascending."""
        return self.path.solutions[self.index].support.copy()

    @property
    def features(self):
        """Names of the chosen columns."""
        return [self.path.meta.names[j] for j in self.path.solutions[self.index].support]


    @property
    def groups(self):
        """Labels of the chosen groups, forced ones included; None without groups."""
        chosen = self.path.solutions[self.index].groups
        return None if chosen is None else [self.path.meta.groups.labels[g] for g in chosen]

    intercept = property(lambda self: float(self.path.solutions[self.index].intercept), doc="Intercept in the user's units.")
    coef = property(lambda self: self.path.coef(index=self.index), doc='Series: "(Intercept)" and the chosen columns, in the user\'s units.')

    def predict(self, X, type=None, *, offset=None):
        """See `Path.predict`."""
        return self.path.predict(X, index=self.index, type=type, offset=offset)

    def summary(self, X=None, y=None):
        """See `Path.summary`."""
        return self.path.summary(index=self.index, X=X, y=y)

    def refit(self, X=None, y=None, *, sample_weight=None, offset=None):
        """See `Path.refit`."""
        return self.path.refit(index=self.index, X=X, y=y, sample_weight=sample_weight, offset=offset)

    def alternatives(self, n=10, X=None, y=None):
        """See `Path.alternatives`."""
        return self.path.alternatives(index=self.index, n=n, X=X, y=y)

    def certify(self, **options):
        """See `Path.certify`; options: all but the selector."""
        return self.path.certify(index=self.index, **options)

    def score(self, X, y=None, *, sample_weight=None, offset=None):
        """See `Path.score`."""
        return self.path.score(X, y, index=self.index, sample_weight=sample_weight, offset=offset)

    def __repr__(self):
        shown = ", ".join(self.features[:6]) + (", ..." if len(self.features) > 6 else "")
        return f"<l0path.Model: k = {self.k}, loss {self.loss:.6g}, deviance ratio {self.deviance_ratio:.4f}, {self.optimality}; {shown or 'intercept only'}>"
