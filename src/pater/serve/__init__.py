"""The service: predict now, learn when the label comes, lose nothing.

An engine owns the model and alone changes it; a log keeps what must last; an ASGI application is the interface.
"""
