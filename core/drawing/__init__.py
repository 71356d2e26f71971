"""What pictures share, on the screen and on paper: colours, and the marks of an axis."""
