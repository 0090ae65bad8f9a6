"""How long tests of the service wait for what will surely come: a slow machine is no fault of the service."""

WAIT = 180.0  # seconds
