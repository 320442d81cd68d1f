"""Set 15 judges layouts by a best time that is written down: is it still so?"""

import pytest

from shardlab import plan
from shardlab.checks import set15


@pytest.mark.parametrize("name", set15.JOBS)
def test_the_best_that_question_6_allows_is_what_the_planner_finds(name):
    rows = plan.search(set15._job(name)).fitting
    allowed = [row for row in rows if not set15._refused(name, row.layout)]
    assert min(row.seconds for row in allowed) == pytest.approx(
        set15.BEST[name], rel=1e-4
    )


@pytest.mark.parametrize("name", set15.JOBS)
def test_some_but_few_layouts_pass_question_6(name):
    rows = plan.search(set15._job(name)).fitting
    allowed = [row for row in rows if not set15._refused(name, row.layout)]
    good = [r for r in allowed if r.seconds <= set15.WITHIN * set15.BEST[name]]
    assert 3 <= len(good) <= len(allowed) / 3


def test_the_rule_of_question_7_is_good_where_a_batch_is_large():
    asked = set15._run("llama-2-70b", 128)
    best = plan.search(asked).fitting[0]
    assert set15._by_rule(asked).seconds < 1.05 * best.seconds


def test_the_rule_of_question_7_says_where_it_has_no_plan():
    with pytest.raises(ValueError, match="16 replicas"):
        set15._by_rule(set15._run("llama-3-405b", 64))
