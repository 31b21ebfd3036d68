"""One module per command, one function per command: a `Run` in, an exit code out."""
