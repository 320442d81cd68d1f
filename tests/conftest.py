"""What all tests share: eight simulated devices and repeatable examples."""

import os

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["JAX_NUM_CPU_DEVICES"] = "8"

from hypothesis import settings  # noqa: E402

# Examples are drawn from a fixed seed: a red test is red again tomorrow. No
# deadline: two test workers share two cores, and time is never a verdict.
settings.register_profile(
    "book", derandomize=True, deadline=None, max_examples=60
)
settings.load_profile("book")
