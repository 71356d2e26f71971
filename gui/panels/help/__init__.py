"""Help: what words mean, keys, first steps, and what this program is."""
