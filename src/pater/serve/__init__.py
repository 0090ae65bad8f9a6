"""The service: predict now, learn when the label comes, lose nothing.

An engine owns the model and is the only one who changes it; a log keeps what must last; an ASGI application is the
face.
"""
