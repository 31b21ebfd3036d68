"""Turns against a real local model server. Opt-in: `make test-local-model`."""
