"""Types that several methods and events share, one module per subject (protocol: shared types)."""
