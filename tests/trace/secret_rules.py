#!/usr/bin/env python3
"""Makes crates/trace-view/src/redact/rules/gitleaks.json of a gitleaks configuration.

    secret_rules.py gitleaks.toml

Kept of a rule: its name, its expression, its keywords and the least entropy of what it finds. Left out are rules that go by the
path of a file alone, and the generic one, which needs a list of words that are no secrets.
"""

import json
import os
import sys
import tomllib

LEFT_OUT = {"generic-api-key", "pkcs12-file", "kubernetes-secret-yaml"}
RULES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../crates/trace-view/src/redact/rules/gitleaks.json")


def main():
    with open(sys.argv[1], "rb") as f:
        rules = tomllib.load(f)["rules"]
    kept = [{"id": rule["id"], "regex": rule["regex"], "keywords": rule["keywords"], "entropy": rule.get("entropy", 0)}
            for rule in rules if rule["id"] not in LEFT_OUT]
    with open(RULES, "w", encoding="utf-8") as f:
        f.write("[\n" + ",\n".join(json.dumps(rule) for rule in kept) + "\n]\n")


if __name__ == "__main__":
    main()
