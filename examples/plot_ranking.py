"""
Learning to rank
================

Documents have a relevance for a query, and what matters is the order within each query: how relevant the
first few are. ``Ranker`` learns that order. A regression on the relevance learns something else, and the
harder it is to compare queries, the more that hurts. In these made-up data every query has a level of its
own: an easy query is full of good documents, a hard one has few.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import scale

from gapfit import LinearRegressor, Ranker
from gapfit.losses import PairwiseRanking
from gapfit.ranking_metrics import ndcg_per_query

rng = np.random.default_rng(1)
queries, documents = 300, 20
qid = np.repeat(np.arange(queries), documents)
level = rng.normal(size=queries)[qid]  # how much there is to be found
quality = rng.normal(size=len(qid))
y = np.digitize(quality + level, [0.8, 2.2]).astype(float)
# one feature sees the quality and, the other way round, the level; one sees both together; three see nothing
X = scale(
    np.column_stack(
        [
            quality - 2 * level + 0.7 * rng.normal(size=len(qid)),
            quality + 2 * level + 1.5 * rng.normal(size=len(qid)),
            rng.normal(size=(len(qid), 3)),
        ]
    )
)
train, test = qid < 150, qid >= 150

# %%
# The same features and the same alpha, three losses. Each model is within 0.01 % of its optimum.

models = {
    "squared error": LinearRegressor(alpha=1e-3).fit(X[train], y[train]),
    "pairs": Ranker(loss=PairwiseRanking(), alpha=1e-3).fit(X[train], y[train], qid=qid[train]),
    "NDCG@10": Ranker(loss="ndcg", alpha=1e-3).fit(X[train], y[train], qid=qid[train]),
}
for name, model in models.items():
    assert model.converged_
    print(f"{name:14} weights {model.coef_.round(2)}")

# %%
# Test queries, sorted by how well each model answers them. A query without relevant documents has no NDCG.

figure, (left, right) = plt.subplots(1, 2, figsize=(11.5, 4.6), layout="constrained")
colours, marks = ("#999999", "#0072B2", "#D55E00"), ("o", "s", "^")
for (name, model), colour, mark in zip(models.items(), colours, marks, strict=True):
    scores = model.predict(X[test])
    ndcg = ndcg_per_query(y[test], scores, qid[test])
    ndcg = np.sort(ndcg[~np.isnan(ndcg)])
    left.plot(np.linspace(0, 1, len(ndcg)), ndcg, color=colour, lw=2, label=f"{name}: mean {ndcg.mean():.3f}")
    depth = [1, 2, 3, 5, 10, 20]
    means = [np.nanmean(ndcg_per_query(y[test], scores, qid[test], k)) for k in depth]
    right.plot(depth, means, color=colour, marker=mark, lw=2, label=name)
left.set(title="Each test query", xlabel="share of the queries", ylabel="NDCG@10")
right.set(title="The mean, at several depths", xlabel="k", ylabel="mean NDCG@k", xscale="log")
right.set_xticks(depth, labels=map(str, depth))
right.minorticks_off()
left.legend(loc="lower right", title="trained on")
figure.suptitle("What counts is the order within a query")
plt.show()

# %%
# The regression has to explain why some queries have more relevant documents than others, and gives weight
# to that. Pairs within a query never see it. These data were made to show the difference; where queries are
# alike, there is less of it. Nor does it matter here which of the two rankers is taken.
