"""The guest side of hermes-exec. Imported as _hermes_exec; see python/embed.go."""
