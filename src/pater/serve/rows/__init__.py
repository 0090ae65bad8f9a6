"""The rows of requests: JSON and Arrow to batches, and as the log keeps them."""
