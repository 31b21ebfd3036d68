"""Pure work on text: cutting, titles, redaction, diffs, and what a terminal may be shown.

Functions from values to values. No I/O, threads, clock or environment; any thread may call.
"""
