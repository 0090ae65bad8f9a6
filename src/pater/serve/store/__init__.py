"""Persistent state: the state directory, its log and the thread that writes to it."""
