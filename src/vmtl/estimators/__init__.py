"""The estimators: variational multi-task learning behind the scikit-learn contract."""

from vmtl.estimators.classifier import MultiTaskClassifier
from vmtl.estimators.regressor import MultiTaskRegressor

#: Either of the two, for annotations.
MultiTaskEstimator = MultiTaskClassifier | MultiTaskRegressor

__all__ = ["MultiTaskClassifier", "MultiTaskRegressor"]
