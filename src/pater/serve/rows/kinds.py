"""The kinds of rows that a request brings and the log keeps: lines in the shape of /v1/learn, or a stream of Arrow."""

JSON, ARROW = "json", "arrow"
