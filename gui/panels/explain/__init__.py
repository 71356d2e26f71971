"""Pictures that explain, each from the open file itself."""
