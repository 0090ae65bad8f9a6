"""What a learner is, without files and without scikit-learn: settings, classes, state, choice, scores, prediction."""
