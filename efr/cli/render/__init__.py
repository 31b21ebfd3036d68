"""Values to rows of a terminal: styled spans, Markdown, calls, cards, rows of status.

Pure: no terminal, clock, environment or file. `paint` alone knows escape codes.
"""
