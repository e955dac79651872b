"""A model as data and back: what a class declares is what a file may hold, and nothing else."""

from collections.abc import Iterable, Mapping
from dataclasses import Field
from inspect import signature
from reprlib import repr as show
from typing import Any

from sklearn.pipeline import Pipeline

from gapfit.declaration import attributes, parameters
from gapfit.errors import ModelFileError
from gapfit.persistence import values
from gapfit.persistence.container import need
from gapfit.persistence.values import NOWHERE, Kind, Shelf

Classes = Mapping[str, type]

# What no file holds: the state of a warm start, callbacks, and requests for metadata. They belong to the
# program that fits, and their names begin with an underscore. Nor does it hold parameters that are NOWHERE:
# a file from elsewhere shall name no path here.


def known_classes(more: Iterable[type] = ()) -> Classes:
    """The estimators of gapfit by their names, and more that the caller vouches for."""
    from gapfit import estimators  # not at the top: they declare themselves in terms of this package

    ours: dict[str, type] = {name: getattr(estimators, name) for name in estimators.__all__}
    theirs = {one.__name__: one for one in more}
    for name in theirs.keys() & ours.keys():
        if theirs[name] is not ours[name]:
            raise TypeError(f"{name} is a class of gapfit; give your own another name")
    return ours | theirs


def _parameter_kinds(cls: type) -> dict[str, Kind]:
    """How the parameters of the constructor are stored; those that nobody declared are plain."""
    known = {name: one.metadata["form"] for name, one in parameters(cls).items()}
    kinds = {name: known.get(name) or values.PLAIN for name in signature(cls).parameters}
    return {name: kind for name, kind in kinds.items() if kind is not NOWHERE}


def _transformers() -> Classes:
    """What may come before an estimator in a pipeline."""
    from gapfit.tables import TableEncoder

    return {"TableEncoder": TableEncoder}


def steps_of(model: Any) -> list[Any]:
    """The parts of a pipeline, or the model itself."""
    return [step for _, step in model.steps] if type(model) is Pipeline else [model]


def describe(model: Any) -> tuple[dict[str, Any], list[Any]]:
    """The model as a header and arrays. TypeError names what cannot be stored."""
    shelf = Shelf()
    if type(model) is Pipeline:
        steps = [[name, _described(step, shelf)] for name, step in model.steps]
        return {"class": "Pipeline", "steps": steps}, shelf.arrays
    return _described(model, shelf), shelf.arrays


def _described(model: Any, shelf: Shelf) -> dict[str, Any]:
    cls, name = type(model), type(model).__name__
    if not hasattr(cls, "_check_stored"):
        raise TypeError(f"a model file holds an estimator of gapfit, not {name}; use joblib for that")
    known_classes([cls])
    kinds, declared = _parameter_kinds(cls), attributes(cls)
    given = {key: value for key, value in model.get_params(deep=False).items() if key in kinds}
    written = {key: _write_parameter(cls, key, value, kinds[key], shelf) for key, value in given.items()}
    held = model.__getstate__()
    for key in held:
        if key not in declared and key not in signature(cls).parameters and not key.startswith("_"):
            raise TypeError(f"{key} is not an attribute of {name}, and a model file has no place for it")
    there = {key: one for key, one in declared.items() if key in held}  # in this order: equal bytes
    fitted = {_key(key): _write_attribute(key, held[key], there[key], shelf) for key in there}
    return {"class": name, "parameters": written, "fitted": fitted or None}


def _write_parameter(cls: type, name: str, value: Any, kind: Kind, shelf: Shelf) -> Any:
    try:
        return kind.write(value, shelf)
    except TypeError as error:
        one = parameters(cls).get(name)
        needed = one.metadata["needed"] if one is not None else ""
        if needed:
            raise TypeError(
                f"parameter {name}={value!r} cannot be stored ({error}): a model file holds data and no "
                f"code, and predictions need the {name}. {needed}"
            ) from error
        raise TypeError(
            f"parameter {name}={value!r} cannot be stored ({error}): a model file holds data and no code. "
            f"Predictions do not need it: save(copy(model).set_params({name}=...), path) stores a copy with "
            "another value, and joblib stores it all"
        ) from error


def _write_attribute(name: str, value: Any, one: Field[Any], shelf: Shelf) -> Any:
    try:
        return one.metadata["form"].write(value, shelf)
    except TypeError as error:
        raise TypeError(f"attribute {name} cannot be stored: {error}; joblib stores it all") from error


def rebuild(header: dict[str, Any], arrays: list[Any], classes: Iterable[type] = ()) -> Any:
    """The model, if everything in the header is something that its class declares."""
    transformers = _transformers()
    shelf = Shelf(arrays)
    known = known_classes(one for one in classes if one not in transformers.values())
    if header.get("class") == "Pipeline":
        (_, steps) = values.fields(header, "class", "steps")
        need(isinstance(steps, list) and len(steps) > 0, "a pipeline has steps")
        model = Pipeline([_read_step(step, {**known, **transformers}, shelf) for step in steps])
        need(len(model.named_steps) == len(steps), "two steps have the same name")
        need(hasattr(model.steps[-1][1], "predict"), "the last step does not predict")
    else:
        model = _rebuilt(header, known, shelf)
    need(all(array is None for array in shelf.arrays), "there are arrays that nothing uses")
    return model


def _read_step(step: Any, known: Classes, shelf: Shelf) -> tuple[str, Any]:
    need(isinstance(step, list) and len(step) == 2 and isinstance(step[0], str), "a step is no step")
    return step[0], _rebuilt(step[1], known, shelf)


def _rebuilt(header: Any, known: Classes, shelf: Shelf) -> Any:
    name, written, fitted = values.fields(header, "class", "parameters", "fitted")
    need(
        isinstance(name, str) and name in known,
        f"{show(name)} is none of {', '.join(known)}; name one of your own: load(path, classes=[...])",
    )
    cls = known[name]
    model = cls(**_read_all("parameter", written, _parameter_kinds(cls), shelf))
    if fitted is not None:
        kinds = {key: one.metadata["form"] for key, one in attributes(cls).items()}
        found = _read_all("attribute", fitted, {_key(key): kind for key, kind in kinds.items()}, shelf)
        asked = {_key(key) for key, one in attributes(cls).items() if not one.metadata["optional"]}
        missing = asked - found.keys()
        need(not missing, f"{', '.join(sorted(missing))} is missing")
        cls._check_stored(found)  # type: ignore[attr-defined]  # every estimator has it
        for key in kinds:
            if _key(key) in found:
                setattr(model, key, found[_key(key)])
        if hasattr(model, "_restore"):
            model._restore()
    return model


def _read_all(what: str, found: Any, kinds: dict[str, Kind], shelf: Shelf) -> dict[str, Any]:
    need(isinstance(found, dict), f"there is no object of {what}s")
    result = {}
    for name, value in found.items():
        need(name in kinds, f"{what} {show(name)} is unknown")
        try:
            result[name] = kinds[name].read(value, shelf)
        except (TypeError, ValueError) as error:
            raise ModelFileError(f"{what} {name}: {error}") from error
    return result


def _key(attribute: str) -> str:
    """The name in a file, which shall not depend on what is private today."""
    return attribute.removeprefix("_")
