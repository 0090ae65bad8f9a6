"""What is done to columns before a model sees them."""
