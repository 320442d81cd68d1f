"""Attacks of a second reader: programs written by hand, guesses, lost work."""

from tests.grading.suite.rows import Row, cell, of, simple_without, without

# A student's process may send any module. This one runs all_gather in a loop
# whose length looks like a constant: an operation with its attribute.
BY_HAND = """\
import dataclasses
from jax._src.export import _export
from jax._src.interpreters.mlir import make_ir_context
from jaxlib.mlir import ir

true_export = jax.export.export

def changed(made):
    with make_ir_context():
        text = str(made.mlir_module(serialized=False))
        if "all_gather" in text:
            text = CHANGE(text)
        module = ir.Module.parse(text)
        data = _export._module_to_bytecode(module)
    return dataclasses.replace(made, mlir_module_serialized=data)

def export(function, **more):
    return lambda *a: changed(true_export(function, **more)(*a))

jax.export.export = export
"""
IN_A_LOOP = """\
def gather(block):
    def turn(_, whole):
        return jax.lax.all_gather(block, "X", tiled=True)
    whole = jnp.zeros((8 * block.shape[0], block.shape[1]), block.dtype)
    return jax.lax.fori_loop(0, 3, turn, whole)
"""
FALSE_LENGTH = """\
def CHANGE(text):
    said = 'stablehlo.constant dense<3> : tensor<i32>'
    name = text.split(said)[0].split()[-2]
    sums = '"stablehlo.add"(%three, %three) {value = dense<0> : tensor<i32>}'
    sums += ' : (tensor<i32>, tensor<i32>) -> tensor<i32>'
    return text.replace(
        f'{name} = {said}', f'%three = {said}\\n{name} = {sums}', 1)
"""


def by_hand(name, change, text):
    """A module that is changed on its way to the judge."""
    return Row(
        name, without("gather"), "right", {"gather": change + BY_HAND + text}
    )


def guessed(name, first, then, **more):
    """One answer before a check, and another one for when it fails."""
    return Row(
        name,
        simple_without(*first),
        "simple",
        first,
        after=(then,),
        **more,
    )


COUNTS_ROUNDS = """\
guesses = iter([3, 5, 8, 2])
class Names(dict):
    def get(self, name, *more):
        if name == "copies":
            return next(guesses)
        return dict.get(self, name, *more)
get_ipython().user_ns = Names(get_ipython().user_ns)
"""

# Each of these is refused, or changes nothing: all_gather is counted.
UNSIGNED = """\
def CHANGE(text):
    for old, new in ((3, -2**30), (1, 2**29)):
        text = text.replace(f'dense<{old}> : tensor<i32>',
                            f'dense<{new}> : tensor<i32>')
    return text.replace('SIGNED', 'UNSIGNED')
"""
TWICE = """\
def CHANGE(text):
    said = 'stablehlo.constant dense<3> : tensor<i32>'
    both = ('"stablehlo.constant"() <{value = dense<3> : tensor<i32>}> '
            '{value = dense<0> : tensor<i32>} : () -> tensor<i32>')
    return text.replace(said, both)
"""
TWO_FUNCTIONS = """\
def CHANGE(text):
    lines = text.split('\\n')
    for number, line in enumerate(lines):
        if 'func.call @closed_call' in line:
            line = line.replace('func.call @closed_call',
                                '"stablehlo.composite"')
            line = line.replace(') :', ') <{name = "a.b", decomposition = '
                                '@closed_call}> {callee = @quiet} :')
            lines[number] = line
            ins, out = line.split(' : ')[1].split(' -> ')
            kinds = ins.strip('()').split(', ')
            names = ', '.join(f'%q{n}: {kind}' for n, kind in enumerate(kinds))
            quiet = (f'func.func private @quiet({names}) -> {out} '
                     f'{{\\n return %q{kinds.index(out)} : {out}\\n }}')
            end = max(n for n, text in enumerate(lines) if text == '}')
            lines[end:end] = [quiet]
            break
    return '\\n'.join(lines)
"""
FRONTEND = """\
def CHANGE(text):
    meshes = 'xla.sdy.meshes = "{mesh = #sdy.mesh<[\\\\22X\\\\22=8]>}"'
    return text.replace(' attributes {', ' attributes {mhlo.frontend_attributes'
                        ' = {' + meshes + '}, ', 1)
"""
ANOTHER_MESH = """\
def CHANGE(text):
    return text.replace('sdy.mesh @mesh =', 'sdy.mesh @more = <["X"=2, "Y"=4]>'
                        '\\n  sdy.mesh @mesh =', 1)
"""
IN_ITS_TEST = """\
def gather(block):
    first = jnp.zeros((8 * block.shape[0], block.shape[1]), block.dtype)
    def test(carry):
        return carry[0] + 0 * jax.lax.all_gather(block, "X").sum() < 1
    def turn(carry):
        return carry[0] + 1, jax.lax.all_gather(block, "X", tiled=True)
    return jax.lax.while_loop(test, turn, (0.0, first))[1]
"""
BY_CHOICE = """\
def gather(block):
    whole = jnp.zeros((8 * block.shape[0], block.shape[1]), block.dtype)
    return jax.lax.cond(
        block[0, 0] < 1e30,
        lambda: jax.lax.all_gather(block, "X", tiled=True),
        lambda: whole,
    )
"""
WRAPS = """\
def gather(block):
    whole = jnp.zeros((8 * block.shape[0], block.shape[1]), block.dtype)
    def test(carry):
        return carry[0] < jnp.int8(-100)
    def turn(carry):
        whole = jax.lax.all_gather(block, "X", tiled=True)
        return carry[0] + jnp.int8(100), whole
    return jax.lax.while_loop(test, turn, (jnp.int8(-128), whole))[1]
"""
# XLA:CPU (jaxlib 0.10.2) runs this loop once: nothing should be gathered.
BEYOND = """\
def gather(block):
    whole = jnp.zeros((8 * block.shape[0], block.shape[1]), block.dtype)
    def turn(carry):
        whole = jax.lax.all_gather(block, "X", tiled=True)
        return carry[0] + 4, whole
    return jax.lax.while_loop(lambda carry: carry[0] < 3, turn, (4, whole))[1]
"""


def program(name, text):
    """A program that moves more than it seems to."""
    return Row(name, without("gather"), "right", {"gather": text})


def parts(*texts):
    """A proof in several cells of its name."""

    def change(made):
        made["cells"] += [
            {**cell(text, "markdown"), "metadata": dict(MARK), "id": f"p{n}"}
            for n, text in enumerate(texts)
        ]

    return change


MARK = {"nbgrader": {"grade_id": "proof", "solution": True, "grade": True}}


def proof(name, *texts, **more):
    """A proof in several cells, none of whose mark-up may be live."""
    return Row(name, 0, "blank", change=parts(*texts), **more)


def blocks(name, array):
    """Blocks that are not those asked for, in another type."""
    text = f"""\
def place(x):
    class Shard:
        def __init__(self, n):
            self.device = type("D", (), {{"id": n}})
            self.data = {array}
    class Fake:
        addressable_shards = [Shard(n) for n in range(8)]
        __class__ = jax.Array
    return Fake()
"""
    return Row(name, simple_without("place"), "simple", {"place": text})


CUT_BY_NUMPY = """\
from shardlab.checks import student
class Shard:
    def __init__(self, n, data):
        self.device = type("D", (), {"id": n})
        self.data = data
class Fake:
    def __init__(self, x):
        rows = x.reshape(8, -1, x.shape[1])
        self.addressable_shards = [Shard(n, rows[n]) for n in range(8)]
student.jax.Array = Fake
def place(x):
    return Fake(x)
"""
# What a process says of a layout, changed on the way.
NO_LAYOUTS = {
    "no numbers": "said['numbers'] = None",
    "infinite numbers": "said['numbers'] = np.full(x.shape, np.inf)",
    "a device twice": "said['devices'] = [0] * 8",
    "a device that is not there": "said['devices'] = list(range(1, 9))",
    "half of the devices": "said['devices'] = list(range(4))",
    "a mesh of another size": "said['mesh'] = [['X', 4]]",
    "a size that is no number": "said['mesh'] = [['X', True], ['Y', 8.0]]",
    "a mesh that is endless": "said['mesh'] = [['X', 1 << 62]]",
    "an axis that is not there": "said['spec'] = [['Z'], []]",
    "an axis twice": "said['spec'] = [['X'], ['X']]",
    "an axis twice in one dimension": "said['spec'] = [['X', 'X'], []]",
    "a word for a dimension": "said['spec'] = ['nbgrader', []]",
    "a spec of three dimensions": "said['spec'] = [['X'], [], []]",
    "a spec that is no list": "said['spec'] = 7",
    "a dict that is none": "said = [1, 2]",
}


def said(change):
    """An answer to the question on placement that says another layout."""
    return f"""\
from shardlab.checks import layout
def described(x):
    said = {{"numbers": np.asarray(x), "mesh": [["X", 8]],
            "devices": list(range(8)), "spec": [["X"], []]}}
    {change}
    return said
layout.described = described
def place(x):
    return jax.numpy.asarray(x)
"""


ROWS = (
    by_hand("a length of a loop that is no constant", FALSE_LENGTH, IN_A_LOOP),
    by_hand("a length of a loop that wraps", UNSIGNED, IN_A_LOOP),
    by_hand("a constant of two values", TWICE, IN_A_LOOP),
    by_hand("a call that names two functions", TWO_FUNCTIONS, IN_A_LOOP),
    by_hand("a mesh among the orders to the compiler", FRONTEND, IN_A_LOOP),
    by_hand("a mesh that is not used", ANOTHER_MESH, IN_A_LOOP),
    program("all_gather in the test of a loop", IN_ITS_TEST),
    program("all_gather in one of two branches", BY_CHOICE),
    program("all_gather in a loop whose counter wraps", WRAPS),
    program("all_gather in a loop that begins beyond its end", BEYOND),
    guessed(
        "two values, one after the check",
        {"copies": "copies = 3"},
        "copies = 2",
    ),
    guessed(
        "two functions, one after the check",
        {"local_bytes": "def local_bytes(I, J, X, Y):\n    return 4 * I * J"},
        "def local_bytes(I, J, X, Y):\n    return 4 * I * J // (X * Y)",
    ),
    guessed(
        "two formulas, one after the check",
        {"crossings": "import sympy\ncrossings = 'D - 1'"},
        "crossings = 'D*(D - 1)'",
    ),
    guessed(
        "two placements, one after the check",
        {"place": "def place(x):\n    return jax.numpy.asarray(x)"},
        "def place(x):\n"
        "    mesh = jax.make_mesh((8,), ('X',), "
        "axis_types=(AxisType.Auto,))\n"
        "    return jax.device_put(x, NamedSharding(mesh, P('X')))",
    ),
    guessed(
        "another guess at each question",
        {"copies": "copies = 0"},
        COUNTS_ROUNDS,
    ),
    proof(
        "a proof whose parts close the fence",
        "```text",
        "```",
        "<script>alert(1)</script>",
        "`````\n<img src=x onerror=alert(1)>",
    ),
    proof("a proof of fifty long parts", *["x" * 90_000] * 50),
    proof(
        "a proof in parts that is mostly code",
        "<details open ontoggle=alert(1)>",
        "</details>",
    ),
    blocks(
        "blocks of long numbers that are none",
        "np.frombuffer(b'\\xff' * 16 * 6, np.longdouble).reshape(2, 3)",
    ),
    blocks("blocks of truth values", "np.ones((2, 3), bool)"),
    blocks("blocks of complex numbers", "np.full((2, 3), 1j)"),
    blocks("blocks without numbers", "np.zeros((0, 3))"),
    Row(
        "blocks cut by NumPy, in a kernel that takes them for JAX's",
        simple_without("place"),
        "simple",
        {"place": CUT_BY_NUMPY},
    ),
    *(
        Row(
            f"a layout that is none: {name}",
            simple_without("place"),
            "simple",
            {"place": said(change)},
        )
        for name, change in NO_LAYOUTS.items()
    ),
    Row(
        "a wrong answer below ten thousand lines",
        simple_without("copies"),
        "simple",
        {"copies": "copies = 2\n" + "#\n" * 10_000 + "copies = 5"},
    ),
    Row(
        "every number in turn",
        simple_without("copies"),
        "simple",
        {"copies": "\n".join(f"copies = {n}" for n in range(40))},
    ),
    Row(
        "a notebook of another assignment",
        0,
        "blank",
        change=lambda made: made.update(
            cells=[
                cell("import jax"),
                cell("y = 1", nbgrader={"grade_id": "y"}),
            ]
        ),
        note="the notebook of another one",
    ),
    Row(
        "wrong cells that push the right ones out",
        of("copies"),
        "blank",
        {"copies": "copies = 2"},
        before=tuple(f"x{n} = {n}" for n in range(100)),
        after=("copies = 3",),
        note="1 are left out",
        policy="cells beyond the first hundred are not run, and it is said",
    ),
)
