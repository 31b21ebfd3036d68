"""efr: an AI agent that lives in the user's zsh. docs/architecture.md describes the rooms."""
