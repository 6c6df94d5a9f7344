"""Checks models that datamodel-code-generator made: they can be imported, and it added no number to a name, but where no title can
give one.

Usage: models.py MODULE BUNDLE
"""

import importlib
import inspect
import json
import re
import sys

sys.path.insert(0, ".")
module = importlib.import_module(sys.argv[1])
with open(sys.argv[2], encoding="utf-8") as file:
    bundle = json.load(file)


def titles(schema):
    """The names that the bundle gives."""
    if isinstance(schema, dict):
        if isinstance(schema.get("title"), str):
            yield schema["title"]
        for value in schema.values():
            yield from titles(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from titles(value)


# Alternatives within members that all hold: the generator multiplies them out, and counts what it gets.
MULTIPLIED = ("AnyGeneratedImage", "GeneratedImageThreadItem")

given = {re.sub(r"\W", "", name) for name in [*bundle["definitions"], *titles(bundle)]}
made = [name for name, value in inspect.getmembers(module, inspect.isclass) if value.__module__ == module.__name__]
is_multiplied = lambda name: name.rstrip("0123456789") in MULTIPLIED
numbered = [name for name in made if re.search(r"\d$", name) and name not in given and not is_multiplied(name)]
if numbered:
    sys.exit(f"names with numbers: {', '.join(numbered)}")
