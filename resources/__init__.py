"""Data that ships with the program; read with ``importlib.resources.files("resources")``."""
