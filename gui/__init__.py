"""The window. It draws plans and changes choices; it computes nothing of its own."""
