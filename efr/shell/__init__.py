"""The hidden shell: one interactive zsh per conversation, its marks, screen and input waits."""
