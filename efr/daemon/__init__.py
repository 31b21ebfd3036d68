"""The doors of the daemon: composition root, methods, subscriptions, signals, start and stop."""
