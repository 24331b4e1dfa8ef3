"""Paths over lambda0: points by coordinate descent, checks over all columns, sizes filled."""
