"""How long tests of the service wait for what will surely come: a slow machine is not the service's fault."""

WAIT = 180.0  # seconds
