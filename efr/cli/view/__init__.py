"""A running turn at a terminal, in a pipe, or as JSON lines.

`turn` folds events and drafts into rows and knows no terminal; `screen`, `keyboard` and `signals`
own one part of the terminal each; `session` is the loop that waits on all of them.
"""
