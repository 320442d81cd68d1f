"""Mutants: a solution with one small damage each.

The damages are the mistakes that the book warns of: a collective forgotten, a
sum where a mean belongs, another axis, a state left whole, a ring that turns
the other way, a boundary off by one. A check that lets one pass is too weak,
or the mutant is right.
"""

import ast
import copy

__all__ = ["COLLECTIVES", "called", "mutants"]

OPERATIONS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
}
COMPARISONS = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
}
AXES = {"X": "Y", "Y": "X", "Z": "X"}
CALLS = {
    "min": "max",
    "max": "min",
    "sum": "max",
    "prod": "sum",
    "psum": "pmean",
    "pmean": "psum",
    "pmax": "pmin",
    "pmin": "pmax",
}
# The same where the function belongs to a module or an array.
METHODS = {"sum": "mean", "mean": "sum"}
COLLECTIVES = (
    "psum",
    "pmean",
    "pmax",
    "pmin",
    "all_gather",
    "psum_scatter",
    "all_to_all",
    "ppermute",
    "pshuffle",
)
# Over which axes first makes no difference to these.
SUMS = ("psum", "pmean", "pmax", "pmin")
# Keywords that number a dimension, and those whose change alters no result.
DIMENSIONS = (
    "axis",
    "scatter_dimension",
    "split_axis",
    "concat_axis",
    "dimension",
)
UNSEEN = (
    "check_vma",
    "check_rep",
    "unroll",
    "name",
    "integer",
    "positive",
    "real",
)


def mutants(text, program=False):
    """Every version of a solution with one place damaged.

    text     the text of an answer cell
    program  whether the collectives themselves are judged: then there are
             mutants too that give the same numbers and send more bytes
    returns  list of (what was damaged, damaged text), all of them different
             from the solution and from each other
    """
    counter = _Damage(program=program)
    counter.visit(ast.parse(text))
    found = {ast.unparse(ast.parse(text)): None}
    for target in range(counter.count):
        damage = _Damage(target, program)
        tree = ast.fix_missing_locations(damage.visit(ast.parse(text)))
        found.setdefault(ast.unparse(tree), damage.done)
    return _numbered((words, body) for body, words in found.items() if words)


def _numbered(pairs):
    """The pairs (words, text), words that come again with a number."""
    seen, named = {}, []
    for words, body in pairs:
        seen[words] = seen.get(words, 0) + 1
        again = f" ({seen[words]})" if seen[words] > 1 else ""
        named.append((words + again, body))
    return named


class _Damage(ast.NodeTransformer):
    """Visits a syntax tree and damages the one place numbered `target`.

    target   which damage to do, counted in the order of the visit; None only
             counts
    program  whether to make those that only send more bytes
    done     the damage that was done, in words
    """

    def __init__(self, target=None, program=False):
        self.target, self.count, self.done = target, 0, None
        self.program, self.unordered = program, set()

    def offer(self, node, variants):
        """`node`, or the variant whose turn it is.

        variants  pairs (words, function that makes the damaged node)
        """
        for words, make in variants:
            if self.count == self.target:
                self.done = f"line {node.lineno}: {words}"
                self.count += 1
                return ast.copy_location(make(copy.deepcopy(node)), node)
            self.count += 1
        return node

    def visit_BinOp(self, node):
        """Drop either side, do another operation, or divide twice."""
        self.generic_visit(node)
        written = f"`{ast.unparse(node)}`"
        variants = [
            (f"{written} loses its left side", lambda n: n.right),
            (f"{written} loses its right side", lambda n: n.left),
        ]
        if other := OPERATIONS.get(type(node.op)):
            words = f"{written} with another operation"
            variants.append((words, lambda n: _replaced(n, op=other())))
        if isinstance(node.op, ast.Div):
            words = f"{written} divides twice"
            variants.append((words, _divided_twice))
        return self.offer(node, variants)

    def visit_AugAssign(self, node):
        """Leave the statement out, or do another operation."""
        self.generic_visit(node)
        written = f"`{ast.unparse(node)}`"
        variants = [(f"{written} is left out", lambda n: ast.Pass())]
        if other := OPERATIONS.get(type(node.op)):
            words = f"{written} with another operation"
            variants.append((words, lambda n: _replaced(n, op=other())))
        return self.offer(node, variants)

    def visit_UnaryOp(self, node):
        """Drop a minus, unless it makes a negative number."""
        self.generic_visit(node)
        minus = isinstance(node.op, ast.USub)
        if not minus or isinstance(node.operand, ast.Constant):
            return node
        words = f"`{ast.unparse(node)}` loses its sign"
        return self.offer(node, [(words, lambda n: n.operand)])

    def visit_Compare(self, node):
        """Turn a comparison into its opposite, or shift its boundary."""
        self.generic_visit(node)
        variants = [
            (
                f"`{ast.unparse(node)}` with {new.__name__}",
                lambda n, new=new: _replaced(n, ops=[new(), *n.ops[1:]]),
            )
            for new in COMPARISONS.get(type(node.ops[0]), ())
        ]
        return self.offer(node, variants)

    def visit_Constant(self, node):
        """Swap mesh axes, take numbers one further, turn True into False."""
        value = node.value
        if isinstance(value, str) and value in AXES:
            words = f"axis {value} becomes {AXES[value]}"
            make = (words, lambda n: _replaced(n, value=AXES[value]))
            none = (f"axis {value} is removed", lambda n: ast.Constant(None))
            return self.offer(node, [make, none])
        if type(value) is bool:
            words = f"{value} becomes {not value}"
            make = (words, lambda n: _replaced(n, value=not value))
            return self.offer(node, [make])
        if type(value) in (int, float):
            words = f"{value} becomes {value + 1}"
            make = (words, lambda n: _replaced(n, value=value + 1))
            return self.offer(node, [make])
        return node

    def visit_keyword(self, node):
        """Take a dimension one back; leave alone what alters no result."""
        if node.arg in UNSEEN:
            return node
        self.generic_visit(node)
        number = getattr(node.value, "value", None)
        if node.arg not in DIMENSIONS or type(number) is not int or number < 1:
            return node
        node.lineno = node.value.lineno
        words = f"{node.arg}={number} becomes {number - 1}"
        new = ast.Constant(number - 1)
        return self.offer(node, [(words, lambda n: _replaced(n, value=new))])

    def visit_Call(self, node):
        """Reverse arguments; damage a known function or a collective."""
        if called(node) in SUMS and (where := _argument(node, 1, "axis_name")):
            self.unordered.add(_fetch(where))
        self.generic_visit(node)
        variants = []
        if len(node.args) > 1:
            words = f"`{ast.unparse(node)}` with its arguments reversed"
            variants.append((words, lambda n: _replaced(n, args=n.args[::-1])))
        name = called(node)
        if name in CALLS:
            words = f"{name} becomes {CALLS[name]}"
            variants.append((words, lambda n: _renamed(n, CALLS[name])))
        if name in METHODS and isinstance(node.func, ast.Attribute):
            words = f"`{ast.unparse(node)}` becomes a {METHODS[name]}"
            variants.append((words, lambda n: _renamed(n, METHODS[name])))
        if name == "range" and node.args:
            variants += _range_damages(node)
        if name in COLLECTIVES and node.args:
            variants += _collective_damages(node, name, self.program)
        return self.offer(node, variants)

    def visit_Tuple(self, node):
        """Reverse the entries."""
        self.generic_visit(node)
        if len(node.elts) < 2 or not isinstance(node.ctx, ast.Load):
            return node
        if node in self.unordered:
            return node
        words = f"`{ast.unparse(node)}` is reversed"
        make = (words, lambda n: _replaced(n, elts=n.elts[::-1]))
        return self.offer(node, [make])

    def visit_Return(self, node):
        """Return nothing."""
        self.generic_visit(node)
        words = f"`{ast.unparse(node)}` returns nothing"
        return self.offer(node, [(words, lambda n: _replaced(n, value=None))])


def called(node):
    """The last part of the name of the function that is called."""
    return getattr(node.func, "id", getattr(node.func, "attr", None))


def _replaced(node, **fields):
    """`node` with some of its fields set."""
    for name, value in fields.items():
        setattr(node, name, value)
    return node


def _renamed(node, name):
    """A call of another function, in the same module if it has one."""
    if isinstance(node.func, ast.Attribute):
        node.func.attr = name
    else:
        node.func.id = name
    return node


def _divided_twice(node):
    """a / b / b for a / b: a scale that is applied once too often."""
    return ast.BinOp(node, ast.Div(), copy.deepcopy(node.right))


def _one_less(node):
    """A number less one."""
    return ast.BinOp(node, ast.Sub(), ast.Constant(1))


def _range_damages(node):
    """A range that ends one too soon, and one that starts one too late."""
    written = f"`{ast.unparse(node)}`"
    last = min(len(node.args), 2) - 1

    def short(n):
        n.args[last] = _one_less(n.args[last])
        return n

    def late(n):
        if len(n.args) == 1:
            return _replaced(n, args=[ast.Constant(1), *n.args])
        n.args[0] = ast.BinOp(n.args[0], ast.Add(), ast.Constant(1))
        return n

    return [
        (f"{written} ends one too soon", short),
        (f"{written} starts one too late", late),
    ]


def _argument(node, place, *names):
    """Where a call holds an argument: (list, index), or None.

    node     the call
    place    its position
    names    what it is called as a keyword
    """
    if place < len(node.args):
        return node.args, place
    for keyword in node.keywords:
        if keyword.arg in names:
            return keyword, "value"
    return None


def _fetch(where):
    """The node at a place that `_argument` found."""
    holder, key = where
    return holder[key] if isinstance(holder, list) else holder.value


def _store(where, new):
    """Put another node at a place that `_argument` found."""
    holder, key = where
    if isinstance(holder, list):
        holder[key] = new
    else:
        holder.value = new


def _collective_damages(node, name, program):
    """The damages of one collective: dropped, unscattered, turned around."""
    line = f"`{ast.unparse(node)}`"
    variants = [(f"{line} is dropped", lambda n: n.args[0])]
    if name == "psum_scatter":
        variants.append((f"{line} leaves the sum whole", _whole_sum))
    if name == "ppermute" and _argument(node, 2, "perm"):
        variants += [
            (f"{line} sends the other way", lambda n: _rerouted(n, "b, a")),
            (f"{line} sends to itself", lambda n: _rerouted(n, "a, a")),
        ]
    if name == "all_to_all" and _argument(node, 3, "concat_axis"):
        words = f"{line} with split_axis and concat_axis swapped"
        variants.append((words, _swapped_dimensions))
    if program and isinstance(node.func, ast.Attribute):
        variants += _wasteful(node, name, line)
    return variants


def _whole_sum(node):
    """psum for psum_scatter: every device keeps the whole."""
    kept = [k for k in node.keywords if k.arg == "axis_index_groups"]
    return _replaced(_renamed(node, "psum"), args=node.args[:2], keywords=kept)


def _rerouted(node, pair):
    """A ppermute whose pairs (a, b) are other ones."""
    where = _argument(node, 2, "perm")
    new = _expression(f"[({pair}) for a, b in pairs]")
    new.generators[0].iter = _fetch(where)
    _store(where, new)
    return node


def _swapped_dimensions(node):
    """An all_to_all that cuts where it should join."""
    split = _argument(node, 2, "split_axis")
    join = _argument(node, 3, "concat_axis")
    a, b = _fetch(split), _fetch(join)
    _store(split, b)
    _store(join, a)
    return node


def _wasteful(node, name, line):
    """Damages that leave every number as it is and send more bytes."""
    module = ast.unparse(node.func.value)
    if _argument(node, 1, "axis_name") is None:
        return []
    axis = ast.unparse(_fetch(_argument(node, 1, "axis_name")))
    # Gathered, and all but its own part thrown away again.
    gathered = (
        f"{module}.all_gather(RESULT, {axis})[{module}.axis_index({axis})]"
    )
    variants = [(f"{line} is gathered for nothing", _inside(gathered))]
    if name == "psum":
        words = f"{line} gathers what it adds"
        summed = f"{module}.all_gather(FIRST, {axis}).sum(0)"
        variants.append((words, _inside(summed)))
    return variants


def _inside(template):
    """A function that puts a call into a text.

    template  RESULT stands for the call, FIRST for its first argument
    """

    def make(node):
        parts = {"RESULT": node, "FIRST": node.args[0]}
        return _Filling(parts).visit(_expression(template))

    return make


class _Filling(ast.NodeTransformer):
    """Puts syntax trees in the place of names."""

    def __init__(self, parts):
        self.parts = parts

    def visit_Name(self, node):
        """The tree that a name stands for."""
        return self.parts.get(node.id, node)


def _expression(text):
    """The syntax tree of one expression."""
    return ast.parse(text, mode="eval").body
