"""The estimators: variational multi-task learning behind the scikit-learn contract."""

from vmtl.estimators.classifier import MultiTaskClassifier
from vmtl.estimators.regressor import MultiTaskRegressor

__all__ = ["MultiTaskClassifier", "MultiTaskRegressor"]
