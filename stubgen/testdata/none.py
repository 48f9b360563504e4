__all__ = [
    "TransportError",
    "aio",
    "json_parse",
    "retry",
    "shell_quote",
]
