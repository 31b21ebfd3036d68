"""What a command line may touch: a lenient split, the paths it names, and hints.

Pure and total: a reading that is unsure names one thing too many. What may run is decided on the
strict reading in `efr.policy.reader`.
"""
