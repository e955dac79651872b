"""A report on a model: one HTML page with all that is known of it, which needs nothing else."""

from gapfit.report.facts import facts_of
from gapfit.report.page import page

__all__ = ["facts_of", "page"]
