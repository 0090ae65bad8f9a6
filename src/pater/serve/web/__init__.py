"""The face of the service: HTTP, who may pass, and a page for people."""
