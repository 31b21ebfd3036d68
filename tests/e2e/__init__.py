"""The whole road: a real zsh with the plugin, the real command, daemon, store and hidden shell."""
