"""Data on disk in shards: Arrow files whose numbers are used as they lie there, and a manifest."""

from gapfit.shards.convert import shard
from gapfit.shards.source import Shards, open_shards
from gapfit.shards.writer import ShardWriter

__all__ = ["ShardWriter", "Shards", "open_shards", "shard"]
