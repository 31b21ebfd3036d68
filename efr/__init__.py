"""efr: an AI agent that lives in the user's zsh. The rooms below are described in docs/architecture.md."""
