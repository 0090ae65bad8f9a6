"""The learners as scikit-learn estimators, and what estimators need around them."""
