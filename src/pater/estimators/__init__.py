"""The scikit-learn face: every learner as an estimator, and what estimators need around them."""
