"""The model file: its container, its codec, and the safe writing of files."""
