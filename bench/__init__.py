"""Measurements. Each number stands beside a yardstick of the same run, on the same machine."""
