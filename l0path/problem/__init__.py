"""The problem that is minimised: losses and their conjugates, penalties, groups, the data and the
problem.
"""
