"""Model files: estimators, fitted or not, as data.

Loading one runs no code that the file chose: names are looked up among known classes and what they declare
(`schema`), every value is read as what it must be (`values`, `objects`, `fits`), every size is checked
(`container`), and nothing is unpickled. The format is on the page docs/model_files.md.
"""

import os
import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from reprlib import repr as show
from typing import Any

from gapfit.atomic import replacing
from gapfit.errors import ModelFileError, ModelVersionWarning
from gapfit.persistence import container
from gapfit.persistence.schema import describe, rebuild, steps_of

__all__ = ["load", "save"]


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Store an estimator in a file that `load` reads, in this version of gapfit and every later one.

    The file holds data and no code. It is complete or not there: it is written beside `path`, read back, and
    only then takes its place.

    Parameters
    ----------
    model : an estimator of gapfit, or of a class derived from one
        Fitted or not. Or a `Pipeline` of a `TableEncoder` and an estimator.
    path : str or path
        The file; one that is there is replaced.

    Raises
    ------
    TypeError
        If a parameter is code, such as a loss of your own. Predictions need only `coef_` and `intercept_`, so
        a copy with another value can be stored: ``save(copy(model).set_params(loss="hinge"), path)``.

    See Also
    --------
    load
    """
    header, arrays = describe(model)
    with replacing(path) as file:
        container.write(file, {"gapfit": _version(), **header}, arrays)
        with _naming(path, "this model cannot be stored: "):
            _load(file.name, [type(step) for step in steps_of(model)])


def load(path: str | os.PathLike[str], classes: Iterable[type] = ()) -> Any:
    """The estimator that `save` stored. Its predictions are the same to the last bit.

    Loading a file is safe wherever it comes from: no code in it is run, and what is damaged is refused. Still
    it may not be the model you think it is; a checksum is not a signature.

    Parameters
    ----------
    path : str or path
    classes : classes of estimators, default=()
        Those of your own that the file may hold. A file names its class, and no module is imported for it.

    Returns
    -------
    model : an estimator of the class that was stored

    Raises
    ------
    ModelFileError
        If it is not a model file, is damaged, or holds what this version of gapfit does not know.

    Warns
    -----
    ModelVersionWarning
        If a newer version of gapfit wrote it.

    See Also
    --------
    save
    """
    with _naming(path):
        return _load(path, classes)


def _load(path: str | os.PathLike[str], classes: Iterable[type]) -> Any:
    header, arrays = container.read(path)
    written, ours = header.pop("gapfit", None), _version()
    if _minor(written) > _minor(ours):
        name = show(header.get("class")).strip("'")
        warnings.warn(ModelVersionWarning(name, ours, written), stacklevel=3)
    return rebuild(header, arrays, classes)


def _minor(version: Any) -> tuple[int, ...]:
    """(major, minor) of a version; what comes after them changes no file."""
    found = re.match(r"([0-9]{1,6})\.([0-9]{1,6})(?![0-9])", version) if isinstance(version, str) else None
    if found is None:
        raise ModelFileError(f"{show(version)} is not a version of gapfit")
    return tuple(map(int, found.groups()))


def _version() -> str:
    from gapfit import __version__  # not at the top: the package is loaded after this module

    return __version__


@contextmanager
def _naming(path: str | os.PathLike[str], before: str = "") -> Iterator[None]:
    """Errors say which file they are about."""
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(before + error.reason, os.fspath(path)) from error
