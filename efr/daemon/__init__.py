"""The doors of the daemon: composition root, method table, subscriptions, signals, start and stop."""
