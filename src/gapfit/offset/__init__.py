"""Eliminating unpenalised offsets: an exact minimum over b, and a minorant that does not depend on b."""

from gapfit.offset.reserve import Reserve, reserve_of
from gapfit.offset.several import Balanced, best_offsets, minimise_offsets, threshold_bounds, where_least
from gapfit.offset.single import Tangent, minimise_offset, offset_interval, tangent

__all__ = ["Balanced", "Reserve", "Tangent", "best_offsets", "minimise_offset", "minimise_offsets"]
__all__ += ["offset_interval", "reserve_of", "tangent", "threshold_bounds", "where_least"]
