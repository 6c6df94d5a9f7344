"""Checks models that datamodel-code-generator made: they can be imported, and no name is a number that it added.

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


given = {re.sub(r"\W", "", name) for name in [*bundle["definitions"], *titles(bundle)]}
made = [name for name, value in inspect.getmembers(module, inspect.isclass) if value.__module__ == module.__name__]
numbered = [name for name in made if re.search(r"\d$", name) and name not in given]
if numbered:
    sys.exit(f"names with numbers: {', '.join(numbered)}")
