"""The rows of requests: read from JSON and Arrow into batches, and written as the log keeps them."""
