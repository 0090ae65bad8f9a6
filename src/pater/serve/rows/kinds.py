"""The forms in which requests bring rows and the log keeps them: JSON lines, as /v1/learn takes, or an Arrow stream."""

JSON, ARROW = "json", "arrow"
