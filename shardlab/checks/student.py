"""The only way in which a check touches an answer.

In JupyterLab and in the author's run the answer is found in this kernel; a
grader puts another `place` here. Only plain data comes back.
"""

import contextlib
import os
import sys

import jax

from shardlab.checks import origin, plain, seeds
from shardlab.checks.question import NotAnswered, OneLine, WrongAnswer

__all__ = [
    "KINDS",
    "ThisKernel",
    "asking",
    "blocks",
    "call",
    "expression",
    "place",
    "program",
    "types",
    "value",
]


class ThisKernel:
    """Where answers are found when the checks run beside them.

    names  the notebook's variables by name; those of this kernel if None
    """

    def __init__(self, names=None):
        self.names = names

    def look_up(self, name):
        """The object that the notebook calls `name`."""
        found = self.variables().get(name, ...)
        if found is ...:
            raise NotAnswered(f"{name} has no answer yet")
        return found

    def variables(self):
        """The notebook's variables by name."""
        if self.names is None:
            return vars(sys.modules["__main__"])
        return self.names

    def ask(self, kind, name, arguments):
        """The encoded answer to one question of a check.

        kind       one of KINDS
        name       the notebook's name for what is asked
        arguments  encoded
        raises     NotAnswered; WrongAnswer, also for what the notebook raises
        """
        if kind not in KINDS:
            raise ValueError(f"kind must be one of {KINDS}, got {kind!r}")
        return getattr(self, kind)(name, plain.decode(arguments))

    def value(self, name, arguments):
        """The encoded value of a variable."""
        return _encoded(name, self.look_up(name))

    def call(self, name, arguments):
        """The encoded result of a function of the notebook."""
        return _encoded(f"{name}(...)", self.result(name, arguments))

    def blocks(self, name, arguments):
        """How an array that it returns lies, encoded."""
        from shardlab.checks import layout

        array = self.result(name, arguments)
        if not isinstance(array, jax.Array):
            raise WrongAnswer(
                f"{name} must return a JAX array, got {type(array).__name__}"
            )
        try:
            said = layout.described(array)
        except WrongAnswer as error:
            raise WrongAnswer(f"{name}: {error}") from None
        return _encoded(f"{name}(...)", said)

    def expression(self, name, arguments):
        """The encoded text of a variable that holds a formula."""
        from shardlab.checks import expression

        found = self.look_up(name)
        if found is None:
            raise NotAnswered(f"{name} has no answer yet")
        try:
            return _encoded(name, expression.text(found))
        except ValueError as error:
            raise WrongAnswer(f"{name}: {error}") from None

    def program(self, name, arguments):
        """The encoded bytes of a function that was exported by JAX."""
        from shardlab.checks import program

        exported = program.export(
            self.function(name), arguments, self.variables()
        )
        return _encoded(name, exported)

    def types(self, name, arguments):
        """The encoded types that JAX prints for a function's operations."""
        from shardlab.checks import program

        printed = program.types(
            self.function(name), arguments, self.variables()
        )
        return _encoded(name, printed)

    def execute(self, question, seconds=None):
        """What the executor makes of an exported program."""
        from shardlab.checks import executor

        return executor.answer(question)

    def function(self, name):
        """The function that the notebook calls `name`."""
        function = self.look_up(name)
        if not callable(function):
            raise WrongAnswer(f"{name} must be a function, got {function!r}")
        return function

    def result(self, name, arguments):
        """What the function `name` returns for decoded `arguments`."""
        function = self.function(name)
        try:
            result = function(*arguments)
        except OneLine:
            raise
        except Exception as error:
            said = origin.error_in_words(error, self.variables())
            raise WrongAnswer(f"{name} stops with {said}") from None
        if result is None or result is ...:
            if origin.can_return(function):
                given = ", ".join(map(origin.short, arguments))
                raise WrongAnswer(
                    f"{name}({given}) returned None: one way through it ends "
                    "without a return; what should it return here?"
                )
            raise NotAnswered(f"{name} returns nothing yet")
        return result


def _encoded(asked, value):
    """`plain.encode(value)`; what does not cross becomes a WrongAnswer."""
    try:
        return plain.encode(value)
    except ValueError as error:
        raise WrongAnswer(f"{asked}: {error}") from None


KINDS = ("value", "call", "blocks", "expression", "program", "types")
place = ThisKernel()


@contextlib.contextmanager
def asking(other, seed):
    """Within it, checks ask the place `other`, and draw from `seed`.

    other    what answers, such as ThisKernel
    seed     a whole number; `question.draw` takes it
    """
    global place
    before, mesh = place, jax.sharding.get_mesh()
    seeded = os.environ.get(seeds.VARIABLE)
    place = other
    os.environ[seeds.VARIABLE] = str(seed)
    try:
        yield
    finally:
        place = before
        jax.set_mesh(mesh)  # an answer may have set one of its own
        os.environ.pop(seeds.VARIABLE)
        if seeded is not None:
            os.environ[seeds.VARIABLE] = seeded


def _ask(kind, name, *arguments):
    """The decoded answer of the place where the notebook is."""
    return plain.decode(place.ask(kind, name, plain.encode(list(arguments))))


def value(name):
    """The plain value of the student's variable `name`.

    raises   NotAnswered when there is none, WrongAnswer when it is not plain
    """
    return _ask("value", name)


def call(name, *arguments):
    """What the student's function `name` returns, as plain data.

    name       the student's function
    arguments  plain data; tuples arrive as lists
    raises     NotAnswered when it returns nothing, WrongAnswer when what it
               returns is not plain, and when the function raises an error
    """
    return _ask("call", name, *arguments)


def blocks(name, *arguments):
    """What each device holds of the array that a function returns.

    The student's process says the numbers, the mesh and the spec; the blocks
    are those that JAX, asked here, gives to each device.

    name       the student's function
    arguments  plain data
    returns    dict: device number -> numpy array, the device's block
    raises     as `call`
    """
    from shardlab.checks import layout

    try:
        return layout.blocks(_ask("blocks", name, *arguments))
    except layout.WrongAnswer as error:
        raise WrongAnswer(f"{name}: {error}") from None


def expression(name):
    """The text of the formula that the student's variable `name` holds.

    name     a SymPy expression, a number, or text
    returns  str; `shardlab.checks.expression` parses it, and never runs it
    raises   as `value`
    """
    text = _ask("expression", name)
    if not isinstance(text, str):
        raise WrongAnswer(f"{name} must hold a formula")
    from shardlab.checks import expression

    expression.refill(text)
    return text


def program(name, request):
    """The student's function `name`, exported: what is judged is what runs.

    name     a function of arrays
    request  what it is called with, from `shardlab.checks.program.request`
    returns  shardlab.checks.program.Program
    raises   NotAnswered when there is no function, WrongAnswer when JAX cannot
             export it
    """
    from shardlab.checks.program import Program

    exported = plain.decode(place.ask("program", name, plain.encode(request)))
    if not isinstance(exported, bytes):
        raise WrongAnswer(f"{name} could not be exported")
    return Program(exported, request, place, name)


def types(name, request):
    """What JAX prints of the student's function, held against its program.

    For questions in the style of explicit shardings: their exported programs
    hold constraints, and the collectives are the compiler's choice.

    name     a function of arrays
    request  as `program` takes it, with explicit=True
    returns  list of lists: an operation's name and the types of its results,
             such as ["reshard", "float32[16@X,64]{U:Y}"]
    raises   as `program`, and WrongAnswer when a resharding that is printed is
             not in the exported program
    """
    printed = plain.decode(place.ask("types", name, plain.encode(request)))
    if not _is_printed(printed):
        raise WrongAnswer(f"{name} has no types")
    return program(name, request).types(printed)


def _is_printed(types):
    """Whether this is a list of lists of text, as `types` returns."""
    return isinstance(types, list) and all(
        isinstance(line, list) and all(isinstance(word, str) for word in line)
        for line in types
    )
