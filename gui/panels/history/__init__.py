"""Earlier measurements. Import from the modules."""
