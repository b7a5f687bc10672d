"""Intervals for measures over buckets: closed form and bootstrap, resampling buckets or groups, never rows.

Every measure here is a smooth function of *sums over resampling units*. A unit is a bucket, or a group of
buckets that are not independent (items made from one original). That gives both intervals without reading a
row again:

* closed form: the measure's gradient with respect to the sums gives each unit's influence (by the complex
  step, exact to rounding); the standard error is that of the units' mean influence, so cluster-robust, and
  for a plain mean over buckets exactly the t interval;
* bootstrap: units with equal sums are exchangeable, so a resample of N units is a multinomial draw of how
  often each *distinct* unit occurs. Same distribution as drawing buckets one by one, at a cost that depends
  on the number of distinct units only. Percentiles are taken at Hesterberg's expanded levels, which give
  small samples, and strata of few units, the width of a t interval (Hesterberg 2015, "What teachers should
  know about the bootstrap").

What an interval is for: an interval covers the *expectation of its estimator*. The plug-in estimators of
paraphrastic consistency and VAP are biased for the model's true value, so their intervals are intervals for
the plug-in expectation (what the same number of paraphrases per bucket would give on new buckets); those of
the unbiased estimators are intervals for the true value.
"""

from __future__ import annotations

from paraconsist.uncertainty.intervals import Intervals, intervals
from paraconsist.uncertainty.linearised import Estimate, design_effects, standard_errors
from paraconsist.uncertainty.resampling import bootstrap
from paraconsist.uncertainty.shares import boundary_interval, korn_graubard_interval, proportion_interval
from paraconsist.uncertainty.units import Units, distinct, group_units

__all__ = [
    "Estimate",
    "Intervals",
    "Units",
    "bootstrap",
    "boundary_interval",
    "design_effects",
    "distinct",
    "group_units",
    "intervals",
    "korn_graubard_interval",
    "proportion_interval",
    "standard_errors",
]
