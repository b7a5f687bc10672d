"""How long does an iteration of the adversarial filter take? Its fits together against scikit-learn, one by one.

    python benchmarks/aflite_speed.py [--rows 28350] [--dimensions 384] [--classifiers 64] [--train-size 5000]

Random vectors with the spread of an encoder's, labels that a linear classifier tells right four times in five. Both
sides fit the same partitions with the same penalty, scikit-learn only the first few of them; seconds of the clock and
of the processor (which a busy machine disturbs less). Then a whole iteration of the filter, partitions and predictions
included.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from sklearn.linear_model import LogisticRegression

from paraconsist.studies.aflite import _partitions, aflite, fit_logistic
from paraconsist.studies.options import AfliteOptions


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=28_350)
    parser.add_argument("--dimensions", type=int, default=384)
    parser.add_argument("--classifiers", type=int, default=64)
    parser.add_argument("--train-size", type=int, default=5000)
    parser.add_argument("--compared", type=int, default=4, help="How many of them scikit-learn fits too.")
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(given.rows, given.dimensions)) * np.geomspace(1.5, 0.02, given.dimensions)
    score = rows @ rng.normal(size=given.dimensions)
    labels = (1.5 * score / score.std() + rng.logistic(size=given.rows) > 0).astype(int)
    options = AfliteOptions(given.classifiers, given.train_size, cutoff=10**9)
    chosen = _partitions(np.arange(given.rows), options, np.random.default_rng(0))

    clock, processor = time.perf_counter(), time.process_time()
    weights, converged = fit_logistic(rows, labels, chosen)
    ours = time.perf_counter() - clock, time.process_time() - processor
    clock, processor = time.perf_counter(), time.process_time()
    same = []
    for k in range(given.compared):
        model = LogisticRegression(max_iter=5000).fit(rows[chosen[:, k]], labels[chosen[:, k]])
        same.append(np.mean(model.predict(rows) == (rows @ weights[:-1, k] + weights[-1, k] > 0)))
    each = [
        spent / given.compared * given.classifiers
        for spent in (time.perf_counter() - clock, time.process_time() - processor)
    ]
    print(f"{given.classifiers} fits on {given.train_size:,} of {given.rows:,} rows x {given.dimensions}")
    print(f"  together      {ours[0]:7.1f} s   processor {ours[1]:7.1f} s   converged: {converged}")
    print(f"  one by one    {each[0]:7.1f} s   processor {each[1]:7.1f} s   (from {given.compared})")
    print(f"  ratio         {each[0] / ours[0]:7.1f}     processor {each[1] / ours[1]:7.1f}")
    print(f"  equal predictions: {100 * min(same):.3f} % of the rows at least")

    clock, processor = time.perf_counter(), time.process_time()
    found = aflite(rows, labels, options=options)
    print(
        f"one iteration of the filter: {time.perf_counter() - clock:.1f} s, processor "
        f"{time.process_time() - processor:.1f} s, held-out accuracy {100 * found.curve[0]['accuracy']:.1f} %"
    )


if __name__ == "__main__":
    main()
