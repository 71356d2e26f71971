"""A plan held against what llama.cpp itself says: its log, its dry run, and how it ended."""
