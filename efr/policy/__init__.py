"""The permission engine: what a tool call needs, what the mode allows, and why.

Pure: values in, values out. Nothing here looks at a disk, a clock or the environment; what it must
know about the machine comes in a `Place`. The story is `engine.decide`.
"""
