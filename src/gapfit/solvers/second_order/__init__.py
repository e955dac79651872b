"""Newton steps: systems, products and line searches."""
