"""The only way in which a check touches an answer.

In JupyterLab and in the author's run the answer is found in this kernel; a
grader puts another `place` here. Only plain data comes back.
"""

import sys

import jax
import numpy as np

from shardlab.check import NotAnswered, WrongAnswer
from shardlab.grading import plain


class ThisKernel:
    """Where answers are found when the checks run beside them.

    names  the notebook's variables by name; those of this kernel if None
    """

    def __init__(self, names=None):
        self.names = names

    def look_up(self, name):
        """The object that the notebook calls `name`."""
        names = self.names
        if names is None:
            names = vars(sys.modules["__main__"])
        found = names.get(name, ...)
        if found is ...:
            raise NotAnswered(f"{name} has no answer yet")
        return found

    def value(self, name):
        """The encoded value of a variable."""
        return encoded(name, self.look_up(name))

    def call(self, name, arguments):
        """The encoded result of a function of the notebook."""
        return encoded(f"{name}(...)", self.result(name, arguments))

    def blocks(self, name, arguments):
        """The encoded blocks, by device number, of an array it returns."""
        array = self.result(name, arguments)
        if not isinstance(array, jax.Array):
            raise WrongAnswer(
                f"{name} must return a JAX array, got {type(array).__name__}"
            )
        shards = array.addressable_shards
        held = {shard.device.id: np.asarray(shard.data) for shard in shards}
        return encoded(f"{name}(...)", held)

    def result(self, name, arguments):
        """What the function `name` returns for decoded `arguments`."""
        function = self.look_up(name)
        if not callable(function):
            raise WrongAnswer(f"{name} must be a function, got {function!r}")
        result = function(*plain.decode(arguments))
        if result is None or result is ...:
            raise NotAnswered(f"{name} returns nothing yet")
        return result


def encoded(asked, value):
    """`plain.encode(value)`; what does not cross becomes a WrongAnswer."""
    try:
        return plain.encode(value)
    except ValueError as error:
        raise WrongAnswer(f"{asked}: {error}") from None


place = ThisKernel()


def value(name):
    """The plain value of the student's variable `name`.

    raises   NotAnswered when there is none, WrongAnswer when it is not plain
    """
    return plain.decode(place.value(name))


def call(name, *arguments):
    """What the student's function `name` returns, as plain data.

    name       the student's function
    arguments  plain data; tuples arrive as lists
    raises     NotAnswered when it returns nothing, WrongAnswer when what it
               returns is not plain, or what the function raises
    """
    return plain.decode(place.call(name, plain.encode(list(arguments))))


def blocks(name, *arguments):
    """What each device holds of the array that a function returns.

    name       the student's function
    arguments  plain data
    returns    dict: device number -> numpy array, the device's block
    raises     as `call`
    """
    return plain.decode(place.blocks(name, plain.encode(list(arguments))))
