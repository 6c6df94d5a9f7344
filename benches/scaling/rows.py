"""The option that names rows of a benchmark."""

import argparse


def add_only(parser, rows):
    """Adds `--only ROW,...`, which is all rows by default."""

    def parse(text):
        names = text.split(",")
        unknown = [name for name in names if name not in rows]
        if unknown:
            raise argparse.ArgumentTypeError(f"no row {', '.join(unknown)}; there are {', '.join(rows)}")
        return names

    parser.add_argument("--only", type=parse, default=list(rows), metavar="ROW,...", help=", ".join(rows))
