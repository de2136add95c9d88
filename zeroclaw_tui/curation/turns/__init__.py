"""What ZeroClaw recorded of its turns, held against what is predicted of them."""
