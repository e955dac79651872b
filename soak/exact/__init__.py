"""The judge: J(w, b) from its mathematical definition, in numbers of 600 bits, without gapfit's code."""
