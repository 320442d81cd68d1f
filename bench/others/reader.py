"""Another reader of the module that XLA's partitioner leaves.

It shares nothing with `shardlab.count`, so that the two can be compared: it
goes by the types of results, adds up what a computation does before it asks
how often it runs, and takes the one number in a loop's condition for its
length.
"""

import re
import tempfile
from collections import Counter
from math import prod
from pathlib import Path

__all__ = ["partitioned_text", "read"]

KINDS = {
    "all-gather": ("all_gather", 1, 1),
    "all-reduce": ("all_reduce", 2, 1),
    "reduce-scatter": ("reduce_scatter", 1, "N"),
    "all-to-all": ("all_to_all", 0.25, "N"),
    "collective-permute": ("permute", 1, 1),
}
HEAD = re.compile(r"^(ENTRY )?%?(\S+) \(.*\{$")
LINE = re.compile(r"^(?:ROOT )?%(\S+) = (.*?[\])}]) ([a-z\-]+)\((.*)$")
SIZES = {
    **{"f32": 4, "s32": 4, "u32": 4, "pred": 1, "bf16": 2, "f16": 2, "u8": 1},
    **{"s8": 1, "f64": 8, "s64": 8, "u64": 8, "c64": 8},
}


def _arrays(types):
    """Kind and number of elements of each array of a result."""
    found = re.findall(r"(\w+)\[([\d,]*)\]", types)
    return [(k, prod(int(n) for n in d.split(",") if n)) for k, d in found]


def _bytes(types):
    """Bytes of a result."""
    return sum(SIZES[kind] * n for kind, n in _arrays(types))


def read(text):
    """Volume by collective, and FLOPs, of a module that XLA has partitioned."""
    calls, own, entry, name = {}, {}, None, None
    shapes, ends = {}, {}
    for line in map(str.strip, text.splitlines()):
        if head := HEAD.match(line):
            name = head[2]
            calls[name], own[name] = [], Counter()
            entry = name if head[1] else entry
        if not (found := LINE.match(line)) or name is None:
            continue
        result, types, op, rest = found.groups()
        shapes[result] = types
        if op == "while":
            body = re.search(r"body=%?([\w.\-]+)", rest)[1]
            test = re.search(r"condition=%?([\w.\-]+)", rest)[1]
            calls[name].append((body, test))
        elif op == "constant" and types.startswith("s32[]"):
            ends.setdefault(name, []).append(int(rest.split(")")[0]))
        elif op in ("fusion", "call"):
            inner = re.search(r"(?:calls|to_apply)=%?([\w.\-]+)", rest)[1]
            calls[name].append((inner, 1))
        elif op == "conditional":
            one = re.search(
                r"(?:branch_computations=\{|true_computation=)%?([\w.\-]+)",
                rest,
            )[1]
            calls[name].append((one, 1))
        elif op == "dot":
            left = re.match(r"%([\w.\-]+)", rest)[1]
            dims = re.search(r"\[([\d,]*)\]", shapes[left])[1].split(",")
            along = re.search(r"lhs_contracting_dims=\{([\d,]*)\}", rest)[1]
            terms = prod(int(dims[int(d)]) for d in along.split(",") if d)
            own[name]["FLOPs"] += 2 * sum(n for _, n in _arrays(types)) * terms
        elif op in KINDS:
            kind, weight, each = KINDS[op]
            N = _group_size(rest)
            whole = _bytes(types) * (N if each == "N" else 1)
            if N != 1:
                own[name][kind] += weight * whole
    found = Counter()

    def add(name, times):
        for key, size in own[name].items():
            found[key] += times * size
        for inner, turns in calls[name]:
            if isinstance(turns, str):
                (turns,) = ends[turns]
            add(inner, times * turns)

    add(entry, 1)
    return {key: size for key, size in found.items() if size}


def _group_size(rest):
    """Devices of a group; of a permute only that it has more than one."""
    if "source_target_pairs" in rest:
        return 2
    if iota := re.search(r"replica_groups=\[\d+,(\d+)\]<=", rest):
        return int(iota[1])
    if mesh := re.search(r"replica_groups=mesh\[(.*?)\].*?\{(.*?)\}", rest):
        sizes = dict(re.findall(r"'(\w+)'=(\d+)", mesh[1]))
        parts = re.findall(r"'(\w+)'(?::\(\d+\)(\d+))?", mesh[2])
        return prod(int(part or sizes[name]) for name, part in parts)
    return len(re.search(r"replica_groups=\{\{([\d,]*)\}", rest)[1].split(","))


def partitioned_text(step, args):
    """What the partitioner leaves of a step, as text."""
    with tempfile.TemporaryDirectory() as folder:
        options = {
            "xla_dump_to": folder,
            "xla_dump_hlo_pass_re": "spmd-partitioning",
        }
        step.lower(*args).compile(compiler_options=options)
        found = list(Path(folder).glob("*after_spmd-partitioning*.txt"))
        if not found:  # no result depends on an argument: for one device
            return "ENTRY %main () -> () {"
        (path,) = found
        return path.read_text(encoding="utf-8")
