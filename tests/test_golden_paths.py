"""Supports, objectives and lower bounds of sixty fits stay what they were (golden_paths.py)."""

import golden_paths
import pytest

KEPT = golden_paths.kept()


def test_the_stored_paths_are_those_of_the_table():
    assert list(KEPT) == list(golden_paths.cases())


@pytest.mark.parametrize("name", list(KEPT))
def test_a_path_is_the_stored_one(name):
    assert not golden_paths.differences(name, golden_paths.result(name), KEPT[name])


def test_a_difference_is_found():
    row = [2, [3, 5], 1.0, 0.9]
    for other in ([2, [3, 6], 1.0, 0.9], [2, [3, 5], 1.001, 0.9], [2, [3, 5], 1.0, 0.8]):
        assert golden_paths.differences("x", [other], [row])
    assert golden_paths.differences("x", [], [row])
    assert not golden_paths.differences("x", [row], [row])
