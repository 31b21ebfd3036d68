"""The 55 kinds of events, one module per family (protocol: events)."""
