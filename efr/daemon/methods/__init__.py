"""The methods of the protocol: one module per family, one function per method.

A method takes the rooms, its decoded params and the call, and returns its result, a stream or
`LATER`; it raises what its rooms raise. Deciding is the rooms' business.
"""
