"""The `efr` command: arguments in, protocol calls out, answers as text. Decides nothing itself.

Imports `base`, `wire`, `client`, `config` and `text` alone. Runs on the main thread of its own
process; nothing here starts a thread.
"""
