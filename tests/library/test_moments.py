"""Memory over a program's run, held to the peak and to small cases."""

import jax
import jax.numpy as jnp
import pytest

from shardlab.count.flops import flops
from shardlab.count.living import alive
from shardlab.count.moments import Moment, moments

B, D, F, L = 16, 8, 24, 3


def shape(*size):
    return jax.ShapeDtypeStruct(size, "float32")


def layer(x, W):
    return x + jnp.tanh(x @ W[0]) @ W[1]


def loss(W, x, layer):
    for each in W:
        x = layer(x, each)
    return (x**2).sum()


WEIGHTS = [[shape(D, F), shape(F, D)] for _ in range(L)]


def run_of(layer):
    step = jax.grad(lambda W, x: loss(W, x, layer))
    return moments(step, WEIGHTS, shape(B, D))


@pytest.mark.parametrize("layer", [layer, jax.checkpoint(layer)])
def test_C5_1_weights_stay_and_gradients_take_the_place_of_activations(layer):
    run = run_of(layer)
    given = 4 * (L * 2 * D * F + B * D)
    assert {moment.weights for moment in run} == {given}
    gradients = [moment.gradients for moment in run]
    assert gradients == sorted(gradients)
    assert gradients[0] == 0
    assert gradients[-1] == 4 * L * 2 * D * F
    assert run[-1].activations == 0


def test_recomputation_lowers_the_peak_of_activations():
    kept = max(m.activations for m in run_of(layer))
    twice = max(m.activations for m in run_of(jax.checkpoint(layer)))
    assert twice < kept
    assert twice >= 4 * L * B * D  # the inputs of all layers


def test_the_peak_is_that_of_alive_where_arguments_are_used_to_the_end():
    def f(x, y):
        z = jnp.sin(x) @ y
        return jnp.cos(z) @ y + x

    x, y = jnp.ones((6, 4)), jnp.ones((4, 4))
    run = moments(f, x, y)
    assert max(moment.total for moment in run) == alive(f, x, y).live


def test_a_result_counts_as_a_gradient():
    run = moments(lambda x: 2 * x, jnp.ones(5))
    assert run[-1] == Moment(20, 20, 0)


def test_what_is_no_function_is_refused():
    with pytest.raises(ValueError, match="`f`.*got 3"):
        moments(3, jnp.ones(2))


def test_flops_grow_to_those_of_the_whole_program():
    step = jax.value_and_grad(lambda W, x: loss(W, x, layer))
    given = WEIGHTS, shape(B, D)
    done = [moment.flops for moment in moments(step, *given)]
    assert done == sorted(done)
    assert done[0] == 0
    assert done[-1] == flops(step, *given)
