"""scikit-learn's callbacks, told of every certified step of a fit."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from gapfit._types import Slope
from gapfit.solution import Progress

Attributes = Callable[[Slope, Any], dict[str, Any]]  # the fitted attributes, if the fit ended at (w, b)


class Steps:
    """Opens a task for each step of `solve` and closes it with the point that the step reached.

    Called with the progress of a fit, it answers whether a callback asks to stop.
    """

    def __init__(self, estimator: Any, context: Any, data: dict[str, Any], attributes: Attributes) -> None:
        self.estimator, self.context, self.data, self.attributes = estimator, context, data, attributes
        self.stop = False
        self.task = self._begin()

    def __call__(self, progress: Progress) -> bool:
        self.task.progress = progress  # for callbacks that know gapfit
        self.stop |= self.task.call_on_fit_task_end(
            estimator=self.estimator,
            **self.data,
            reconstruction_attributes=lambda: self.attributes(progress.w, progress.intercept),
        )
        self.task = self._begin()
        return self.stop

    def close(self) -> None:
        """End the task that was opened for a step that did not come."""
        self.task.call_on_fit_task_end(estimator=self.estimator)

    def _begin(self) -> Any:
        task = self.context.subcontext(task_name="step")
        return task.call_on_fit_task_begin(estimator=self.estimator, **self.data)


@contextmanager
def told(
    estimator: Any, context: Any, data: Callable[[], dict[str, Any]], attributes: Attributes, *, alone: bool
) -> Iterator[list[Steps]]:
    """The callbacks of `solve` that tell scikit-learn's of each step; none if the estimator has none.

    A problem that is not alone is a task of its own.
    """
    if not getattr(estimator, "_skl_callbacks", None):
        yield []
        return
    if not alone:
        context = context.subcontext(task_name="part", max_subtasks=None)
        context.call_on_fit_task_begin(estimator=estimator)
    steps = Steps(estimator, context, data(), attributes)
    yield [steps]
    steps.close()
    if not alone:
        context.call_on_fit_task_end(estimator=estimator)
