"""Which of scikit-learn's checks do not apply, and why; and the law of rounded Laplace noise."""

import numpy as np

UNFIT = {
    "check_classifiers_classes": "the classes are public parameters, and are not read from private labels",
    "check_classifiers_regression_target": "what labels there are is private, so that no error tells it",
    "check_supervised_y_no_nan": "what labels there are is private, so that no error tells it",
    "check_classifier_not_supporting_multiclass": "what labels there are is private, so that no error tells it",
    "check_dtype_object": "a cell that is no number counts for nothing, so that no error tells of it",
    "check_fit_idempotent": "two fits have two noises",
    "check_supervised_y_2d": "two fits have two noises",
    "check_classifier_data_not_an_array": "two fits have two noises",
}


def rounded_laplace(scale, far):
    """Chances of below -far, -far, .., far - 1, and above."""
    ends = np.arange(-far, far + 1) - 0.5
    tails = np.exp(-np.abs(ends) / scale) / 2
    return np.diff(np.concatenate([[0.0], np.where(ends < 0, tails, 1 - tails), [1.0]]))
