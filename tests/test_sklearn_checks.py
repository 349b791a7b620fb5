"""scikit-learn's own checks, for every estimator in the table, with no expected failure."""

from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.estimators import CLASSIFIERS, TRANSFORMERS


@parametrize_with_checks([*CLASSIFIERS, *TRANSFORMERS])
def test_scikit_learn_check(estimator, check):
    check(estimator)
