"""Tests of efr.wire."""
