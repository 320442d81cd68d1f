"""Shows the page of one edited chapter: without execution in seconds."""

import argparse
import sys
import webbrowser

from tools import notebooks, page


def main(arguments=None):
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.preview", description=__doc__
    )
    parser.add_argument("chapter", help="the chapter's number, such as 01")
    parser.add_argument(
        "--execute", action="store_true", help="run the notebook first"
    )
    parser.add_argument(
        "--no-open", action="store_true", help="do not open a browser"
    )
    options = parser.parse_args(arguments)
    chosen = ["--chapter", options.chapter]
    if notebooks.main(chosen + ([] if options.execute else ["--no-execute"])):
        return 1
    if page.build() is None:
        return 1
    pages = [
        page.ROOT / "_build/html" / target.parent.name / f"{target.stem}.html"
        for source, target in notebooks.sources(options.chapter)
        if source.parent.name == "chapters"
    ]
    for path in pages:
        print(path.as_uri())
        if not options.no_open:
            webbrowser.open(path.as_uri())
    return 0


if __name__ == "__main__":
    sys.exit(main())
