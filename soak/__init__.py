"""gapfit under attack: `python -m soak`, or `make soak`.

Each file in `areas` is one way to attack. It offers CASES (how many at scale 1), LIMIT (seconds after which a
case hangs), FIGURE (what its worst figure is) and `run(job)`, which makes everything from the job's three
numbers: area, seed and case. `exact` judges objectives in long numbers, from their definitions; `rules` says
what every answer must keep to; `pool` runs cases in processes that may hang or die; `report` makes the table.
"""
