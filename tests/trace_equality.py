#!/usr/bin/env python3
"""Holds our trace reducer against the reference's.

    trace_equality.py --ours BIN [--reference BIN] [--schema 1|2|3] [--recorder BIN] [--random N] [--varied N [--kind KIND]] [--keep DIR] [NAME ...]

Sessions are recorded with the recorder (the reference unless said otherwise) and random bundles are made up; each
bundle is reduced by both, ours strictly, and the two states must be equal with sorted keys. Where the reference
fails, ours must fail too with --strict, and must give a state and say what is wrong without it.

BIN is a `codex` that knows `debug trace-reduce`. The reference, release
0.140.0 for schema 1, 0.169.0 for schema 2 and 0.171.0 for schema 3, is looked for in $CODEX_TRACE_REFERENCE too; where it is missing this says so and passes.
Python 3.10 or later, standard library only. Exit status 0: all equal, or skipped.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "trace"))
import random_bundles  # noqa: E402
import recorder  # noqa: E402
import varied  # noqa: E402

# Sessions that the reference rejects, whoever recorded them.
REJECTED = {"image_in_output", "mcp"}
# Those whose recordings by the reference it rejects itself.
# (an agent of an earlier process, a review in the thread itself, a bad call of `write_stdin`).
OWN_REJECTED = {"agent_resumed", "bad_write_stdin", "review_inline", "review_first", "review_detached", "review_broken"}


class Reducer:
    def __init__(self, binary, home):
        self.binary, self.env = binary, {"PATH": os.environ["PATH"], "HOME": home, "CODEX_HOME": home}

    def reduce(self, bundle, output, *options):
        command = [self.binary, "debug", "trace-reduce"]
        done = subprocess.run([*command, bundle, "-o", output, *options], env=self.env, capture_output=True, text=True, timeout=600)
        state = None
        if os.path.exists(output):
            with open(output, encoding="utf-8") as f:
                state = json.load(f)
            os.unlink(output)
        return done, state


def compare(reference, ours, bundle, scratch):
    """What differs, or none; and whether the reference reduced the bundle."""
    output = os.path.join(scratch, "state.json")
    theirs, expected = reference.reduce(bundle, output)
    strict, state = ours.reduce(bundle, output, "--strict")
    lenient, repaired = ours.reduce(bundle, output)
    if repaired is None:
        return "lenient replay failed: " + lenient.stderr[-300:], expected is not None
    if theirs.returncode == 101:
        return None, False          # it panicked: nothing to be equal to
    if (expected is None) != (state is None):
        return "the reference says %r, we say %r" % (theirs.stderr[-300:], strict.stderr[-300:]), expected is not None
    if expected is None:
        return None, False
    if json.dumps(expected, sort_keys=True) != json.dumps(state, sort_keys=True):
        return "the states differ: " + first_difference(expected, state), True
    if state != repaired:
        return "lenient replay differs from strict", True
    return None, True


def first_difference(left, right, path=""):
    if isinstance(left, dict) and isinstance(right, dict):
        for key in sorted(set(left) | set(right)):
            if left.get(key) != right.get(key):
                return first_difference(left.get(key), right.get(key), "%s/%s" % (path, key))
    return "%s: %s, ours %s" % (path, json.dumps(left)[:300], json.dumps(right)[:300])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ours", required=True)
    parser.add_argument("--reference", default=os.environ.get("CODEX_TRACE_REFERENCE", ""))
    parser.add_argument("--recorder", help="record with this codex instead of the reference")
    parser.add_argument("--random", type=int, default=200, metavar="N", help="how many random bundles")
    parser.add_argument("--schema", type=int, default=1, choices=(1, 2, 3), help="the version of random bundles and of what we record")
    parser.add_argument("--varied", type=int, default=0, metavar="N", help="record this many more sessions, put together at random")
    parser.add_argument("--kind", help="the kind of these sessions, for example `cells`")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", help="keep the recorded bundles here")
    parser.add_argument("names", nargs="*", help="only these sessions")
    options = parser.parse_args()
    if not os.access(options.reference, os.X_OK) or os.path.isdir(options.reference):
        print("skipped: no reference binary (--reference or $CODEX_TRACE_REFERENCE)")
        return 0
    scratch = tempfile.mkdtemp(prefix="trace-equality-")
    counts = {"equal": 0, "rejected": 0, "failed": 0}

    def judge(name, bundle):
        problem, reduced = compare(reference, ours, bundle, scratch)
        counts["failed" if problem else "equal" if reduced else "rejected"] += 1
        return problem, reduced

    try:
        reference, ours = Reducer(os.path.abspath(options.reference), scratch), Reducer(os.path.abspath(options.ours), scratch)
        sessions = [*recorder.sessions(options.schema)]
        seeds = range(options.seed, options.seed + options.varied)
        for name, session in sessions + [("varied-%d" % seed, varied.session(seed, options.schema, options.kind)) for seed in seeds]:
            if options.names and name not in options.names:
                continue
            folder = os.path.join(options.keep or scratch, name)
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder)
            trouble = recorder.record(os.path.abspath(options.recorder or options.reference), session, folder, options.schema)
            if trouble:
                print("FAILED %s: not recorded: %s" % (name, trouble))
                counts["failed"] += 1
            for bundle in sorted(os.listdir(folder)):
                problem, reduced = judge(name, os.path.join(folder, bundle))
                allowed = REJECTED if options.recorder else REJECTED | OWN_REJECTED
                if not reduced and name not in allowed and not name.startswith("varied") and not problem:
                    problem = "the reference rejects it"
                    counts["failed"] += 1
                verdict = "FAILED" if problem else "equal " if reduced else "rejected by both"
                print("%s %s %s" % (verdict, name, problem or ""), flush=True)
        # Random bundles have a file for each payload, as those of schema 3 do not.
        for number in range(0 if options.names or options.schema == 3 else options.random):
            seed = options.seed + number
            bundle = os.path.join(scratch, "random")
            oddity = (0.0, 0.002, 0.02)[number % 3] / (4 if options.schema == 2 else 1)
            random_bundles.make(bundle, seed, events=(40, 80, 160)[number % 3], oddity=oddity, schema=options.schema)
            problem, _ = judge("random", bundle)
            if problem:
                print("FAILED random bundle %d: %s" % (seed, problem), flush=True)
            shutil.rmtree(bundle)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print("%(equal)d equal, %(rejected)d rejected by both, %(failed)d failed" % counts)
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
