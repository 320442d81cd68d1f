"""python -m shardlab.count MODULE:FUNCTION, a step of your own."""

from shardlab.inspection.command import main

if __name__ == "__main__":
    raise SystemExit(main())
