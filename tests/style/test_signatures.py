"""A signature says every option: no `**` but where there is a reason."""

import ast

from tests.style.test_names import library, module_of, modules

NAMED = "the caller makes these names up"
STRATEGY = "options of the strategy, which looks them up and refuses by name"
POLICY = "what JAX tells a policy of an operation"
PLOTS = "for matplotlib, which refuses by name"
FIELDS = "fields of the class, which refuses others by name"

# Signatures with a `**`, and who says which names it may have.
HANDED_ON = {
    "agree.agree": NAMED,
    "arguments.takes": "arguments of the function that it guards",
    "checks.expression.replaced": "symbols of the formula; others are refused",
    "checks.expression.parse": "for SymPy, which refuses by name",
    "compiled.step": "axes of a mesh; one that is not stored is refused",
    "compiled.block": "axes of a mesh; one that is not stored is refused",
    "cost.network.within_reach": NAMED,
    "count.exported.Scope.within": FIELDS,
    "count.living.new": FIELDS,
    "foreign.counted": "axes of a mesh; one that is not stored is refused",
    "grading.judge.Graft.__init__": "for nbgrader's own class",
    "grading.judge.Judge.__init__": "for nbgrader's own class",
    "grading.worker.patiently": "arguments of the function that it calls",
    "plot.axes.panels": PLOTS,
    "plot.programs.programs": NAMED,
    "plot.templates.filled": "names in a template of ours",
    "plot.things.write": PLOTS,
    "strategies.block.both_passes": STRATEGY,
    "strategies.block.gradients": STRATEGY,
    "strategies.block.train": STRATEGY,
    "strategies.layer.forward": STRATEGY,
    "strategies.layer.gradients": STRATEGY,
    "strategies.layer.shapes": "arguments of the strategy, refused by name",
    "trace.write": NAMED,
    "transformer.mesh.kept": POLICY,
    "transformer.strategies.everything": POLICY,
    "transformer.strategies.products": POLICY,
}


def open_ended(text, listed):
    """The public functions and methods of a module that take a `**`."""
    for node in ast.parse(text).body:
        if getattr(node, "name", None) not in listed:
            continue
        inner = node.body if isinstance(node, ast.ClassDef) else ()
        for each in (node, *inner):
            if isinstance(each, ast.FunctionDef) and each.args.kwarg:
                own = [] if each is node else [each.name]
                yield ".".join([node.name, *own])


def test_a_signature_says_every_option():
    found = {
        f"{module_of(path)}.{name}".removeprefix("shardlab.")
        for path, text in library().items()
        for name in open_ended(text, modules()[module_of(path)].listed or ())
    }
    assert sorted(found) == sorted(HANDED_ON)


def test_functions_and_methods_are_both_looked_at():
    text = (
        "def one(**how): pass\n"
        "def _two(**how): pass\n"
        "class Three:\n"
        "    def four(self, **how): pass\n"
        "    def five(self, how): pass\n"
    )
    assert list(open_ended(text, ["one", "Three"])) == ["one", "Three.four"]
