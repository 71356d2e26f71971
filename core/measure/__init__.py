"""Measuring a server that runs a model: find it, sweep its depths, and say how fast it wrote."""
