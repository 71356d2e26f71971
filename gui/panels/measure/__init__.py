"""Measuring: a run against a server, drawn over the plan. Import from the modules."""
