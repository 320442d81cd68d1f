"""The list of system calls, read as the program that runs containers does."""

import json
import struct

from shardlab.grading import calls
from tests.each import each

PROFILE = json.loads(calls.PROFILE.read_text())


def names(machine="x86_64", kernel=(6, 1)):
    """The calls that some rule allows."""
    rules = calls.rules(PROFILE, machine, kernel)
    return {name for name, action, *_ in rules if action == "SCMP_ACT_ALLOW"}


def test_what_is_not_listed_is_refused():
    assert PROFILE["defaultAction"] == "SCMP_ACT_ERRNO"


@each(
    "call",
    ["mount", "unshare", "setns", "bpf", "keyctl", "clone3", "io_uring_setup"],
)
def test_what_takes_a_capability_is_not_there(call):
    assert call not in names()


def test_a_machine_has_its_own_calls():
    assert "arch_prctl" in names("x86_64")
    assert "arch_prctl" not in names("aarch64")
    assert "arm_fadvise64_64" in names("aarch64")
    assert "arm_fadvise64_64" not in names("x86_64")


def test_an_old_kernel_has_fewer_calls():
    assert names(kernel=(4, 8)) - names(kernel=(4, 7)) == set(calls.BARRED)


def test_namespaces_are_masked_out_of_clone():
    tests = [
        tests
        for name, _, _, tests in calls.rules(PROFILE, "x86_64", (6, 1))
        if name == "clone"
    ]
    # CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
    mask = 0x20000 | 0x2000000 | 0x4000000 | 0x8000000
    mask |= 0x10000000 | 0x20000000 | 0x40000000
    assert tests == [[{"index": 0, "value": mask, "op": "SCMP_CMP_MASKED_EQ"}]]


def test_the_filter_is_a_program_for_this_machine():
    program = calls.filter_program()
    steps = list(struct.iter_unpack("HBBI", program))
    assert steps[0] == (0x20, 0, 0, 4)  # looks at the machine first
    assert 100 < len(steps) < 4096  # what the kernel takes at most
    killed, refused, allowed = 0x80000000, 0x50001, 0x7FFF0000
    given = {value for code, _, _, value in steps if code == 0x06}
    # clone3 is said not to exist, so that the C library takes clone.
    assert given == {killed, refused, allowed, 0x50000 | 38}
