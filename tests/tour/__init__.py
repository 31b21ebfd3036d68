"""`make run` as a person meets it."""
