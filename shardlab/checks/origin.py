"""Where in a student's notebook an error arose."""

import dis
import linecache
import reprlib

__all__ = ["can_return", "error_in_words", "message", "place", "short"]


def error_in_words(error, names):
    """An error of the student's code in words, with its place.

    error    the exception
    names    the variables of the notebook, the dict in which its cells ran
    returns  str, such as "TypeError: add got incompatible shapes for
             broadcasting: (6, 10), (6, 2), in line 6 of your cell:
             out = out + x"
    """
    kind, words = type(error).__name__[:100], message(error)
    where = place(error, names)
    said = f"{kind}: {words}" if words else kind
    return f"{said.rstrip('.')}, {where}" if where else said


def place(error, names):
    """The last line of the notebook that led to an error, in words.

    error    the exception
    names    the variables of the notebook, as in `error_in_words`
    returns  str, such as "in line 6 of your cell: out = out + x"; "" when no
             line of the notebook took part
    """
    last, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_globals is names:
            last = trace
        trace = trace.tb_next
    if last is None:
        return ""
    code = linecache.getline(last.tb_frame.f_code.co_filename, last.tb_lineno)
    where = f"in line {last.tb_lineno} of your cell"
    return f"{where}: {code.strip()[:80]}" if code.strip() else where


def message(error, most=150):
    """The first `most` characters of an error; "" when it cannot say any."""
    try:
        words = " ".join(str(error).split())
    except Exception:  # an answer may raise errors of its own making
        return ""
    return f"{words[:most]} [...]" if len(words) > most else words


def can_return(function):
    """Whether some return of a function gives anything but None.

    A stub has none, nor has a function whose author forgot the return.
    """
    code = getattr(function, "__code__", None)
    if code is None:
        return False
    before = None
    for step in dis.get_instructions(code):
        if step.opname == "RETURN_CONST" and step.argval not in (None, ...):
            return True
        if step.opname == "RETURN_VALUE":
            constant = before.opname == "LOAD_CONST" and not step.is_jump_target
            if not constant or before.argval not in (None, ...):
                return True
        before = step
    return False


def short(value):
    """An argument for a message, in a few characters."""
    brief = reprlib.Repr()
    brief.maxother = brief.maxstring = brief.maxlong = 24
    brief.maxlist = brief.maxdict = brief.maxtuple = 4
    return brief.repr(value)
