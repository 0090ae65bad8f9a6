"""The quality of the answers, the threshold at which the service decides, and reports on both."""
