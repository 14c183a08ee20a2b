"""A small trained transformer whose heads can be tested by changing them."""
