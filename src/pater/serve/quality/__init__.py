"""How good the answers were, where the service decides, and what is told of both."""
