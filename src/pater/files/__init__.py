"""The model file: its container, its codec, and how files are written so that nothing is lost."""
