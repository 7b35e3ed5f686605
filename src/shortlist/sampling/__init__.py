"""All that draws: the source of bits, and one module for each kind of exact draw that mechanisms are made of."""
