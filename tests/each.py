"""Many cheap cases as one test, which says every case that fails.

What `pytest.mark.parametrize` makes of a case is collected by every worker, set
up, and reported from process to process: more work than what most cases do.
"""

import functools
import inspect

import pytest

__all__ = ["each"]

FAULTS = (Exception, BaseExceptionGroup, pytest.fail.Exception)


def each(names, cases):
    """Decorates a test that is called with every case, within one test.

    `names` and `cases` are those of `pytest.mark.parametrize`; several of both
    multiply. A case that fails stops no other: all that failed are raised
    together. Fixtures are set up once, so a case sees what those before it did.
    """
    names = names.split(",") if isinstance(names, str) else list(names)
    cases = [_values(case, len(names)) for case in cases]
    assert cases, f"no case of {', '.join(names)}"

    def decorated(test):
        signature = inspect.signature(test)
        fixtures = dict(signature.parameters)
        for name in names:
            del fixtures[name]

        @functools.wraps(test)
        def of_all(**given):
            failed = []
            for values in cases:
                case = dict(zip(names, values, strict=True))
                try:
                    test(**given, **case)
                except FAULTS as error:
                    error.add_note(f"case: {case}"[:400])
                    failed.append(error)
            if len(failed) == 1:
                raise failed[0]
            if failed:
                words = f"{len(failed)} of {len(cases)} cases failed"
                raise BaseExceptionGroup(words, failed)

        of_all.__signature__ = signature.replace(parameters=fixtures.values())
        return of_all

    return decorated


def _values(case, count):
    """The values of a case, which may be a `pytest.param` without marks."""
    if hasattr(case, "marks"):
        assert not case.marks, f"a mark is for a test of its own: {case}"
        return case.values
    return (case,) if count == 1 else case
