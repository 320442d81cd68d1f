"""Whether two answers are two, or one in other words.

Answers are compared as syntax trees from which everything is taken that is
mere style: names, docstrings, annotations, the module that a function is
called from, the order of the sides of a sum, and variables used only once.
"""

import ast
import copy

from shardlab.authoring.mutants import COLLECTIVES, called

__all__ = ["differ"]

COMMUTATIVE = (ast.Add, ast.Mult, ast.BitAnd, ast.BitOr, ast.BitXor)
MIRRORED = {ast.Gt: ast.Lt, ast.GtE: ast.LtE}


def differ(a, b):
    """What two answers differ in, beside names and style.

    a, b     texts of answer cells
    returns  "the collectives", "their order", "the algorithm", or "" for
             answers that are one
    """
    first, second = _normal(a), _normal(b)
    used, other = _collectives(first), _collectives(second)
    if sorted(used) != sorted(other):
        return "the collectives"
    if used != other:
        return "their order"
    return "" if ast.dump(first) == ast.dump(second) else "the algorithm"


def _collectives(tree):
    """The collectives in a syntax tree as pairs (name, axes), in order."""
    found = []
    for node in _preorder(tree):
        if isinstance(node, ast.Call) and called(node) in COLLECTIVES:
            axes = [k.value for k in node.keywords if k.arg == "axis_name"]
            axes += node.args[1:2]
            found.append((called(node), *map(ast.unparse, axes)))
    return found


def _preorder(tree):
    """The nodes of a tree, what is computed first before what uses it."""
    for child in ast.iter_child_nodes(tree):
        yield from _preorder(child)
    yield tree


def _normal(text):
    """The syntax tree of an answer without what is mere style."""
    tree = ast.parse(text)
    tree = _Plain(_bound(tree)).visit(tree)
    while (shorter := _inlined(tree)) is not None:
        tree = shorter
    # Numbered once to have arguments in order, and again as they now stand.
    tree = _Renamed(_bound(tree)).visit(tree)
    tree = _Sorted().visit(tree)
    return _Renamed(_bound(tree)).visit(ast.fix_missing_locations(tree))


def _bound(tree):
    """The names that an answer gives itself."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
    return names


class _Plain(ast.NodeTransformer):
    """Takes docstrings, annotations, imports and modules' names away."""

    def __init__(self, own):
        self.own = own

    def visit_Import(self, node):
        """Where a function comes from makes no difference."""

    visit_ImportFrom = visit_Import

    def visit_FunctionDef(self, node):
        """A function without docstring and return annotation."""
        if ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        node.returns = None
        return self.generic_visit(node)

    def visit_arg(self, node):
        """An argument without annotation."""
        node.annotation = None
        return node

    def visit_Attribute(self, node):
        """`psum` for `jax.lax.psum`: the function of a module by itself."""
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and root.id not in self.own:
            return ast.Name(node.attr, ast.Load())
        return self.generic_visit(node)

    def visit_AugAssign(self, node):
        """`x = x + y` for `x += y`."""
        self.generic_visit(node)
        read = copy.deepcopy(node.target)
        read.ctx = ast.Load()
        return ast.Assign([node.target], ast.BinOp(read, node.op, node.value))

    def visit_AnnAssign(self, node):
        """An assignment without annotation."""
        self.generic_visit(node)
        return node.value and ast.Assign([node.target], node.value)


def _inlined(tree):
    """The tree with one variable that is used once put where it is used.

    returns  a syntax tree, or None if there is no such variable
    """
    count = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            store = isinstance(node.ctx, ast.Store)
            key = (node.id, store)
            count[key] = count.get(key, 0) + 1
    for block in _blocks(tree):
        for place, step in enumerate(block[:-1]):
            name = _assigned(step)
            once = count.get((name, True)) == count.get((name, False)) == 1
            following = ast.walk(block[place + 1])
            if once and any(getattr(n, "id", None) == name for n in following):
                put = _Put(name, step.value)
                block[place : place + 2] = [put.visit(block[place + 1])]
                return tree
    return None


def _blocks(tree):
    """The lists of statements in a tree."""
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                yield block


def _assigned(step):
    """The one name that a statement assigns, or None."""
    if isinstance(step, ast.Assign) and len(step.targets) == 1:
        return getattr(step.targets[0], "id", None)
    return None


class _Put(ast.NodeTransformer):
    """Puts an expression in the place of a name."""

    def __init__(self, name, value):
        self.name, self.value = name, value

    def visit_Name(self, node):
        """The expression, where the name is."""
        return self.value if node.id == self.name else node


class _Sorted(ast.NodeTransformer):
    """Puts what may stand in any order into one order."""

    def visit_BinOp(self, node):
        """The sides of a sum or product, whatever their names."""
        self.generic_visit(node)
        if isinstance(node.op, COMMUTATIVE):
            sides = sorted((node.left, node.right), key=ast.dump)
            node.left, node.right = sorted(sides, key=_anonymous)
        return node

    def visit_Compare(self, node):
        """`a < b` for `b > a`."""
        self.generic_visit(node)
        mirrored = MIRRORED.get(type(node.ops[0]))
        if len(node.ops) == 1 and mirrored:
            left, right = node.comparators[0], node.left
            return ast.Compare(left, [mirrored()], [right])
        return node

    def visit_Call(self, node):
        """Keywords by their names."""
        self.generic_visit(node)
        node.keywords.sort(key=lambda keyword: keyword.arg or "")
        return node


def _anonymous(node):
    """The shape of a tree as text, all names alike."""
    copied = copy.deepcopy(node)
    for inner in ast.walk(copied):
        if isinstance(inner, ast.Name):
            inner.id = "name"
    return ast.dump(copied)


class _Renamed(ast.NodeTransformer):
    """Numbers an answer's own names in the order in which they appear."""

    def __init__(self, own):
        self.own, self.numbers = own, {}

    def number(self, name):
        """What takes the place of a name."""
        if name not in self.own:
            return name
        return self.numbers.setdefault(name, f"name{len(self.numbers)}")

    def visit_Name(self, node):
        """A numbered name."""
        return ast.Name(self.number(node.id), node.ctx)

    def visit_arg(self, node):
        """A numbered argument."""
        return ast.arg(self.number(node.arg))

    def visit_FunctionDef(self, node):
        """A function of a numbered name."""
        node.name = self.number(node.name)
        return self.generic_visit(node)

    visit_ClassDef = visit_FunctionDef
