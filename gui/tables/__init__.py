"""Qt item models of the big tables, and the view that shows them."""
