import numpy as np, pytest
from sklearn.utils.estimator_checks import parametrize_with_checks
import l0path
FOUR = [l0path.L0Regressor(), l0path.L0Classifier(), l0path.L0RegressorCV(), l0path.L0ClassifierCV()]
@pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")
@parametrize_with_checks(FOUR)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
