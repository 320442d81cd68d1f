"""Published runs: what is known of each, forecast and guessed."""

import re

import pytest

from shardlab import cost, models, plan
from shardlab.hw import A100
from shardlab.plan import runs
from shardlab.plan.held import layer_kept
from shardlab.plan.timing import stage_seconds, stream_seconds
from tests.each import each

NAMES = list(runs.RUNS)


@each("name", NAMES)
def test_a_run_is_legal_and_says_where_it_was_read(name):
    run = runs.RUNS[name]
    assert plan.why_not(runs.job_run(run), run.layout) == ""
    assert run.link.startswith("https://")
    assert re.search(r"20\d\d-\d\d-\d\d", run.source)
    assert run.printed
    assert run.assumed
    assert run.certain in (runs.PAPER, runs.SECOND)
    assert run.batch % run.sequence == 0


def test_published_seconds_are_those_of_the_printed_rate():
    # 162 of 312 TFLOP/s on 3,072 GPUs, as the table prints, is 502 PFLOP/s.
    run = runs.RUNS["megatron-1t"]
    flops = runs.model_flops(run.model, 2048, "full") * run.batch
    assert flops / run.seconds == pytest.approx(502e15, rel=0.01)
    # DeepSeek's Insights paper prints 19.926 s for a step of V3.
    assert runs.RUNS["deepseek-v3"].seconds == pytest.approx(19.926, rel=0.002)
    # PaLM, appendix B: 238.3 thousand tokens/s are an MFU of 46.2%.
    palm = runs.RUNS["palm-540b"]
    flops = runs.model_flops("palm-540b", 2048) * palm.batch
    mfu = cost.mfu(flops, palm.seconds, palm.chips, runs.chip("v4p"))
    assert mfu == pytest.approx(0.462, abs=0.005)


@each("name", NAMES)
def test_forecasts_lie_within_a_third_but_for_two(name):
    ratio = runs.forecast(name, roomy=True).seconds / runs.RUNS[name].seconds
    missed = name in ("deepseek-v3", "llama-3-405b, long")
    assert (abs(ratio - 1) > 1 / 3) == missed


def test_gradients_of_llama_are_scattered_once_a_step():
    for name in (n for n in NAMES if n.startswith("llama")):
        known = runs.forecast(name, roomy=True)
        once, often = (
            plan.evaluate(known.job, known.layout._replace(zero=zero)).seconds
            for zero in (1, 2)
        )
        assert known.seconds == once < often


def test_olmo_ran_on_half_of_the_network():
    olmo, llama = (
        runs.job_run(runs.RUNS[name]).chip
        for name in ("olmo-2-32b", "llama-3-405b, 16k")
    )
    assert 2 * olmo.dcn_bw == llama.dcn_bw
    assert olmo.flops == llama.flops


def test_nothing_that_hides_takes_longer():
    for name in NAMES:
        hidden = runs.forecast(name, "max", roomy=True).seconds
        assert hidden <= runs.forecast(name, roomy=True).seconds


def test_memory_serves_each_kept_array_five_times():
    job = runs.job_megatron(models.model("megatron-1.7b"), 1, 16, "none")
    layout = plan.Arrangement(microbatches=4)
    bytes_once = 24 * layer_kept(job.model, 2048, recompute="none")
    each = bytes_once * 16 * 2048 / 4 / A100.hbm_bw
    assert stream_seconds(job, layout) == pytest.approx((2 * each, 3 * each))
    again = runs.job_megatron(job.model, 1, 16)
    assert stream_seconds(again, layout)[1] == pytest.approx(5 * each)


def test_a_causal_mask_halves_the_scores_and_no_mfu():
    llama = runs.RUNS["llama-3-405b, 16k"]
    job = runs.job_run(llama, streams=False)
    masked = plan.Job(
        *(job.model, job.chip, job.topology, job.batch, job.sequence),
        efficiency=job.efficiency,
        overlap="none",
        causal=True,
    )
    flops = plan.forward_flops(job.model, llama.sequence)
    layers = flops["matmuls"] + flops["scores"]
    full, half = (stage_seconds(j, llama.layout)[0][0] for j in (job, masked))
    assert half / full == pytest.approx(1 - flops["scores"] / 2 / layers)


def test_guesses_use_the_tools_of_the_time():
    for row in runs.guesses("megatron-18b"):
        x = row.layout
        assert (x.zero, x.sp, x.cp) == (0, False, 1)
        assert x.schedule in ("none", "1f1b", "interleaved")
    seconds = [row.seconds for row in runs.guesses("megatron-18b")]
    assert seconds == sorted(seconds)
    assert runs.standing("olmo-2-32b")[0] == 7


@pytest.mark.parametrize("name", ["megatron", None, 3, []])
def test_an_unknown_run_is_refused(name):
    for function in (runs.forecast, runs.guesses, runs.standing):
        with pytest.raises(ValueError, match="name must be one of"):
            function(name)


@pytest.mark.parametrize("allowed", [3, "tp", ()])
def test_a_filter_is_a_function(allowed):
    job = runs.job_run(runs.RUNS["megatron-1.7b"])
    with pytest.raises(ValueError, match="allowed must be a function"):
        plan.search(job, allowed)


@pytest.mark.parametrize("name", ["causal", "streams"])
def test_flags_of_a_job_are_checked(name):
    with pytest.raises(ValueError, match=f"{name} must be one of"):
        plan.Job(models.model("llama-3-8b"), A100, (8,), 2**20, **{name: 2})
