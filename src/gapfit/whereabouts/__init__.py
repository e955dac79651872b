"""Where the optimum is, by what one fit or several have proved: asked, not caring which theorem answers.

`Optima` is what is known of one problem at all alphas. Its answers have `score_bounds`, as a `Ball` has.
"""

from gapfit.whereabouts.answers import Answer, Hull, Nowhere, Overlap
from gapfit.whereabouts.balls import Balls
from gapfit.whereabouts.newton import NewtonCertificate
from gapfit.whereabouts.optima import Optima

__all__ = ["Answer", "Balls", "Hull", "NewtonCertificate", "Nowhere", "Optima", "Overlap"]
