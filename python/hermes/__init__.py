"""The guest side of hermes-exec. Imported as _hermes_exec from a zip; see python/embed.go."""
