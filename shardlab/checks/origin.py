"""Where in a student's notebook an error arose."""

import linecache


def told(error, names):
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
    names    the variables of the notebook, as in `told`
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
