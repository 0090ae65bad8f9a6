"""From bytes to batches of rows: libsvm, VW, CSV and Arrow, plain, compressed or piped."""
