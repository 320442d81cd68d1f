"""Write the CSS of the page: `python -m shardlab.plot.templates`."""

from shardlab.plot.templates import sheet

print(sheet(), end="")
