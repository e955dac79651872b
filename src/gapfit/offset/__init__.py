"""Eliminating unpenalised offsets: an exact minimum over b, and a minorant that does not depend on b."""

from gapfit.offset.reserve import Reserve as Reserve
from gapfit.offset.reserve import reserve_of as reserve_of
from gapfit.offset.several import Balanced as Balanced
from gapfit.offset.several import best_offsets as best_offsets
from gapfit.offset.several import minimise_offsets as minimise_offsets
from gapfit.offset.several import threshold_bounds as threshold_bounds
from gapfit.offset.single import Tangent as Tangent
from gapfit.offset.single import minimise_offset as minimise_offset
from gapfit.offset.single import offset_interval as offset_interval
from gapfit.offset.single import tangent as tangent
