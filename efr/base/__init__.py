"""What every room stands on: roots, clock, ids, files, cancellation, logging."""
