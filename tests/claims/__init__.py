"""Random small problems, their true optima over all supports, and what a path says of them.

`instances` makes the problems, `optima` solves them for every support at once and never imports the
package, `check` compares. One problem again: `python -m claims SEED`, with the checkout and its
folder tests in PYTHONPATH.
"""
