"""The system calls that a sandbox may make: a list that others maintain.

The list is the one that is put around containers (`seccomp/default.json`),
read for a process without any capability; libseccomp makes the kernel's
filter from it. Two things are narrower here: no process looks into another,
and the families of sockets are four.
"""

import functools
import json
import os
import re
import tempfile
from pathlib import Path

__all__ = ["BARRED", "PROFILE", "filter_program", "rules"]

PROFILE = Path(__file__).parent / "seccomp" / "default.json"
# A container may trace its own processes; a submission has no reason to.
BARRED = ("ptrace", "process_vm_readv", "process_vm_writev")
# Unix, both internets, and netlink, which asks for the interfaces. Namespaces
# of networks do not hold others, such as those to the machine below.
FAMILIES = (1, 2, 10, 16)
# What the kernel calls a machine where the profile calls it otherwise.
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def rules(profile, machine, kernel):
    """The rules of a profile for a process that has no capability.

    profile  dict as in `seccomp/default.json`
    machine  what `uname -m` says, such as "x86_64"
    kernel   version of the kernel, such as (6, 1)
    returns  list of tuples: name of a call, name of an action, the error that
             it gives or None, list of conditions on its arguments (dicts)
    """
    machine = ARCHITECTURES.get(machine, machine)

    def applies(rule):
        needed, barring = rule.get("includes", {}), rule.get("excludes", {})
        oldest = [int(n) for n in needed.get("minKernel", "0").split(".")]
        return (
            "caps" not in needed
            and machine in needed.get("arches", [machine])
            and kernel >= tuple(oldest)
            and machine not in barring.get("arches", [])
        )

    return [
        (name, rule["action"], rule.get("errnoRet"), rule.get("args", []))
        for rule in filter(applies, profile["syscalls"])
        for name in rule["names"]
    ]


@functools.cache
def filter_program():
    """The filter in instructions of the kernel's packet filter (BPF).

    returns  bytes, eight for each instruction
    raises   OSError if libseccomp is missing or refuses a rule
    """
    try:
        import pyseccomp
    except (ImportError, RuntimeError) as error:
        raise OSError(f"libseccomp cannot be loaded: {error}") from None

    def action(name, error):
        if name == "SCMP_ACT_ERRNO":
            return pyseccomp.ERRNO(error)
        return getattr(pyseccomp, name.removeprefix("SCMP_ACT_"))

    def condition(index, op, value, valueTwo=0):
        # Under a mask, `value` is the mask and `valueTwo` what must be left.
        operator = getattr(pyseccomp, op.removeprefix("SCMP_CMP_"))
        return pyseccomp.Arg(index, operator, value, valueTwo)

    profile = json.loads(PROFILE.read_text())
    refusal = profile["defaultErrnoRet"]
    made = pyseccomp.SyscallFilter(action(profile["defaultAction"], refusal))
    # A program of another machine's calls, such as 32-bit ones.
    made.set_attr(pyseccomp.Attr.ACT_BADARCH, pyseccomp.KILL_PROCESS)
    system = os.uname()
    kernel = tuple(int(n) for n in re.findall(r"\d+", system.release)[:2])
    for name, verdict, error, tests in rules(profile, system.machine, kernel):
        number = pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, name)
        # A call that this machine does not have is numbered below zero.
        if number >= 0 and name not in (*BARRED, "socket"):
            arguments = [condition(**test) for test in tests]
            made.add_rule(action(verdict, error), number, *arguments)
    for family in FAMILIES:
        allowed = pyseccomp.Arg(0, pyseccomp.EQ, family)
        made.add_rule(pyseccomp.ALLOW, "socket", allowed)
    with tempfile.TemporaryFile() as file:
        made.export_bpf(file)
        file.seek(0)
        return file.read()
