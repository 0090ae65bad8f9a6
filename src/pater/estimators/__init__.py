"""The learners as scikit-learn estimators, and what they need around them."""
