"""Two steps side by side, and a step held against the bytes it may move."""

from collections import defaultdict

from shardlab.arguments import whole
from shardlab.count.records import columns, total
from shardlab.inspection.step import PARTS, Report, inspect_step
from shardlab.inspection.words import as_page, html_table

__all__ = ["assert_traffic", "changes", "compared_page", "comparison"]


def assert_traffic(f, args, expected, level=None):
    """Fail unless a step moves exactly these bytes over each mesh axis.

    f         function of arrays, jitted or not
    args      tuple of its arguments, as `inspect_step` takes them
    expected  bytes by mesh axis, such as {"X": 4096}, as `Report.volume` counts
              them; ("X", "Y") for what moves over both axes at once. Over
              axes that are not named nothing may move
    level     as in `inspect_step`
    returns   Report
    raises    AssertionError that says what moves instead, and where;
              ValueError that names args or expected, or what cannot be counted
    source    chapter 21
    """
    if not isinstance(args, tuple):
        raise ValueError(f"args must be a tuple, got {type(args).__name__}")
    wanted = _by_axes(expected)
    report = inspect_step(f, *args, level=level)
    strange = {a for axes in wanted for a in axes} - set(report.sizes)
    if strange:
        known = ", ".join(report.sizes) or "no axis of several devices"
        raise ValueError(
            f"expected names {', '.join(sorted(strange))}; the mesh has {known}"
        )
    moved = defaultdict(list)
    for c in report.moved:
        moved[frozenset(c.axes)].append(c)
    lines = []
    for axes in {**wanted, **moved}:
        want, got = wanted.get(axes, 0), total(moved[axes], "volume")
        if want != got:
            over = " and ".join(sorted(axes))
            lines.append(f"{over}: expected {want:,} bytes, counted {got:,}")
            lines += [f"    {line}" for line in _listed(moved[axes])]
    if lines:
        said = f"{report.name} does not move what was expected"
        raise AssertionError("\n".join([said, *lines]))
    return report


def _by_axes(expected):
    """Bytes by set of axes, or the error that says what was given."""
    if not isinstance(expected, dict):
        raise ValueError(
            f"expected must be a dict from mesh axis to bytes, got {expected!r}"
        )
    found = {}
    for axes, size in expected.items():
        names = (axes,) if isinstance(axes, str) else axes
        texts = isinstance(names, tuple) and names
        if not texts or not all(isinstance(n, str) for n in names):
            raise ValueError(
                f"expected must have mesh axes as keys, got {axes!r}"
            )
        if frozenset(names) in found:
            raise ValueError(f"expected names {', '.join(names)} twice")
        found[frozenset(names)] = whole(f"expected[{axes!r}]", size, 0)
    return found


def _listed(moved):
    """A line for each collective of each place, what moves most first."""
    at = defaultdict(list)
    for c in moved:
        at[c.kind, c.origin.part, c.origin.place].append(c)
    sizes = {key: total(group, "volume") for key, group in at.items()}
    rows = [
        (kind, part, _times(sum(c.times for c in at[key])))
        + (f"{sizes[key]:,} B", place)
        for key in sorted(sizes, key=sizes.get, reverse=True)
        for kind, part, place in [key]
    ]
    return columns(rows, left=len(rows[0])).splitlines() if rows else []


def _times(n):
    """How often something happens, in words."""
    return "once" if n == 1 else f"{n:,} times"


def changes(before, after):
    """What one step moves and multiplies less or more than another.

    before, after  Report
    returns  list of (what, before, after): volume in bytes by part, collective,
             axes and type, where it differs; then all bytes that move, FLOPs
             and bytes held of one device, in any case
    raises   ValueError that names what is no Report
    source   chapter 21
    """
    for name, report in (("before", before), ("after", after)):
        if not isinstance(report, Report):
            raise ValueError(f"{name} must be a Report, got {report!r}")
    groups = [defaultdict(list), defaultdict(list)]
    for group, report in zip(groups, (before, after), strict=True):
        for c in report.moved:
            key = (c.origin.part, c.kind, ", ".join(c.axes), c.origin.dtype)
            group[key].append(c)
    keys = sorted(
        {*groups[0], *groups[1]}, key=lambda k: (PARTS.index(k[0]), k)
    )
    rows = []
    for key in keys:
        sizes = [total(group[key], "volume") for group in groups]
        if sizes[0] != sizes[1]:
            rows.append((" ".join(key), *sizes))
    rows.append(("moved in all", before.volume(), after.volume()))
    rows.append(("FLOPs", before.flops(), after.flops()))
    rows.append(("held by arguments", before.held, after.held))
    return rows


def comparison(before, after):
    """Two steps as text: what moves otherwise, and the sums of both.

    before, after  Report
    returns  str: a line for each row of `changes`, in bytes but for FLOPs
    raises   ValueError that names what is no Report
    source   chapter 21
    """
    lines = [columns(_rows(before, after), left=1)]
    if before.level != after.level:
        lines.append(f"evidence: {before.level} before, {after.level} after")
    for name, report in (("before", before), ("after", after)):
        lines += [f"not known {name}: {gap}" for gap in report.gaps]
    return "\n".join(lines)


def compared_page(before, after):
    """The same as one page of HTML that needs nothing else.

    before, after  Report
    returns  str
    raises   ValueError that names what is no Report
    source   chapter 21
    """
    return as_page(after.name, [html_table(_rows(before, after))])


def _rows(before, after):
    """The rows of a comparison in words, its head first."""
    rows = [("", "before", "after", "change")]
    for what, *sizes in changes(before, after):
        rows.append((what, *(f"{n:,}" for n in sizes), _change(*sizes)))
    return rows


def _change(before, after):
    """A change in words: +12.5 %, new, gone, or none."""
    if before == after:
        return "same"
    if not before or not after:
        return "gone" if before else "new"
    return f"{100 * (after / before - 1):+.3g} %"
