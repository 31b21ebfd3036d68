"""The settings file: its declared schema, defaults and loading. Starts no threads."""
