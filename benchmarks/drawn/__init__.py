"""Problems drawn from a seed, and the race on them: see scan.py."""
