"""An error leaves an estimator as it was: nothing new, nothing changed, nothing gone."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from vmtl.estimators.all_or_nothing import all_or_nothing


def change(estimator: SimpleNamespace, error: type[BaseException] | None) -> None:
    with all_or_nothing(estimator):
        estimator.fitted_ = True
        estimator.alpha = 2
        del estimator.kept
        if error is not None:
            raise error("stop")


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])  # Ctrl-C is no Exception
def test_after_an_error_all_attributes_are_those_before(error: type[BaseException]) -> None:
    table = [1, 2]
    estimator = SimpleNamespace(alpha=1, kept=table)
    with pytest.raises(error, match="stop"):
        change(estimator, error)
    assert vars(estimator) == {"alpha": 1, "kept": table}
    assert estimator.kept is table


def test_without_one_all_changes_stay() -> None:
    estimator = SimpleNamespace(alpha=1, kept="x")
    change(estimator, None)
    assert vars(estimator) == {"alpha": 2, "fitted_": True}
