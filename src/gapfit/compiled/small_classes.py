"""How samples answer at the scores of their classes: exponentials of all samples at once.

Shares below exp(-45) count as that: beside a whole they are less than one rounding.
"""

import math

from gapfit.compiled._jit import jit
from gapfit.compiled.exponentials import exponentiate


@jit(fast=True, inner=True)
def answer_classes(task, F, b, answers, top):
    """Write the shares of all classes, and return the risk; there is room for a number a sample."""
    n, m = F.shape
    for i in range(n):
        f, answer, truth = F[i], answers[i], int(task.y[i])
        own, highest = f[truth] + b[truth], 0.0
        for k in range(m):
            answer[k] = f[k] + b[k] - own
            highest = max(highest, answer[k])
        for k in range(m):
            answer[k] -= highest
        top[i] = highest
    exponentiate(answers.reshape(n * m))
    risk = 0.0
    for i in range(n):
        answer, truth, others = answers[i], int(task.y[i]), 0.0
        mine = answer[truth]
        answer[truth] = 0.0  # the others' shares may be too small to be seen beside it
        for k in range(m):
            others += answer[k]
        answer[truth] = mine
        total = mine + others
        for k in range(m):
            answer[k] /= total
        risk += task.p[i] * (top[i] + math.log(total) if top[i] > 0.0 else math.log1p(others))
    return risk
