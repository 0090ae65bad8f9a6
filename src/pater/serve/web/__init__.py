"""The interface of the service: HTTP, access control, and a page for people."""
