"""What `auto` decides by."""
