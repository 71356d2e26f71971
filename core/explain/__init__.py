"""What pictures explain: from the open file itself, never from an example."""
