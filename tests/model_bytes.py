"""Model files as bytes: good ones, taken apart and put together again by a second hand.

Nothing of gapfit.persistence is used to make a file here, but for the good ones to begin with.
"""

import hashlib
import json
import struct
import tempfile
from pathlib import Path

from corpus.write import models
from gapfit import save

MODELS = models()
START = 24  # of the header: after the magic, the format and two sizes


def _bytes_of(model):
    with tempfile.TemporaryDirectory() as folder:
        save(model, Path(folder) / "model")
        return (Path(folder) / "model").read_bytes()


GOOD = {name: _bytes_of(model) for name, model in MODELS.items()}


def cut(good):
    """The text of the header, and the data."""
    first = START + struct.unpack_from("<I", good, 12)[0]
    return bytearray(good[START:first].rstrip()), bytearray(good[first:-32])


def take_apart(good):
    """The header as JSON, and the data."""
    text, data = cut(good)
    return json.loads(text), data


def put_together(header, data, version=1, header_size=None, size=None):
    """A file whose sizes and checksum are right, unless they are given."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    text += b" " * (-(START + len(text)) % 64)
    header_size = len(text) if header_size is None else header_size
    size = START + len(text) + len(data) + 32 if size is None else size
    body = struct.pack("<8sIIQ", b"\x89gapfit\n", version, header_size, size) + text + bytes(data)
    return body + hashlib.sha256(body).digest()
