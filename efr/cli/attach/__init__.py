"""`efr attach`: the hidden shell's screen in the user's terminal.

What a program there prints is passed on after a filter (`passing`), a snapshot is painted
(`paint`), the detach key is found in what is typed (`typed`), the terminal's own state is set and
given back (`window`), and one loop joins them with signals and the connection (`session`).
"""
