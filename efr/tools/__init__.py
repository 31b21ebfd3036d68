"""What the model can call: each tool declares what one call needs, and runs it.

Declaring is pure and comes first; whether the call may run is the permission engine's answer, asked
in the agent. A tool is reached through the registry alone.
"""
