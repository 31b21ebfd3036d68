"""The permission engine: what a tool call needs, what the mode allows, and why.

Pure: values in, values out. Nothing here looks at a disk, a clock or the environment; what it must
know about the machine comes in a `Place` and in `Facts`. The story is `engine.decide`: it judges
paths (`path_findings`), the line and the network (`command_findings`), exits of the sandbox
(`exits`), and full mode (`full`), by rules (`rules`, `rows`, `matching`). A line is read twice:
strictly for what may run (`reader`, `words`, `syntax_tree`, `structure`), leniently for what it may
touch (`lines`).
"""
