"""Formulas as MathML, set when the page is built; the browser draws them."""

from sphinx.errors import ExtensionError

from shardlab.grading.mathml import mathml


def visit_inline(writer, node):
    """Write a formula within a line."""
    from docutils.nodes import SkipNode

    writer.body.append(f'<span class="math">{_set(node, False)}</span>')
    raise SkipNode


def visit_block(writer, node):
    """Write a formula in a line of its own, with its number if it has one."""
    from docutils.nodes import SkipNode

    names = "".join(f' id="{name}"' for name in node["ids"][:1])
    writer.body.append(f'<div class="math"{names}>')
    if node["number"]:
        number = f"({node['number']})"
        writer.body.append(f'<span class="eqno">{number}')
        writer.add_permalink_ref(node, "Link to this equation")
        writer.body.append("</span>")
    writer.body.append(_set(node, True) + "</div>\n")
    raise SkipNode


def _set(node, block):
    """The MathML of a node; a formula that cannot be set ends the build."""
    try:
        return mathml(node.astext(), block)
    except ValueError as error:
        raise ExtensionError(f"{node.source}, {node.line}: {error}") from None


def setup(app):
    """Sphinx calls this when it loads the extension."""
    app.add_html_math_renderer(
        "mathml", (visit_inline, None), (visit_block, None)
    )
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
