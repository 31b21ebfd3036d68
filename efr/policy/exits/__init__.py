"""What of a line would leave the sandbox: the exits, told beforehand from its text.

Pure. The kernel holds what a line does; this reading only adds a question where the sandbox would
block. The story is `predict.exits_of`.
"""
