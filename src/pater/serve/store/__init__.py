"""What must last: the state directory, its log and the thread that writes it."""
