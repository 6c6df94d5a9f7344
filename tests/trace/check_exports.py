#!/usr/bin/env python3
"""Holds the exports of bundles against what they claim to be.

    check_exports.py --codex BIN BUNDLE ...

perfetto: the JSON trace event format, of which it uses complete events, metadata and flows; the slices of a track nest or
are apart, and flows end in slices. otlp-json: parsed by `opentelemetry-proto`, attribute names looked up in
`opentelemetry-semantic-conventions`; where these packages are missing it says so and passes.
"""

import argparse
import base64
import collections
import importlib
import json
import pkgutil
import subprocess
import sys
import tempfile

METADATA = {"process_name", "process_sort_index", "thread_name", "thread_sort_index"}


def check_perfetto(trace):
    tracks, flows = collections.defaultdict(list), collections.defaultdict(list)
    for event in trace["traceEvents"]:
        assert isinstance(event["pid"], int) and isinstance(event["tid"], int) and isinstance(event["name"], str), event
        if event["ph"] == "M":
            assert event["name"] in METADATA and isinstance(event["args"], dict), event
        elif event["ph"] == "X":
            assert event["dur"] >= 0 and isinstance(event["cat"], str) and isinstance(event["args"], dict), event
            tracks[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
        else:
            assert event["ph"] in ("s", "f") and (event["ph"] == "s" or event["bp"] == "e"), event
            flows[event["cat"], event["id"]].append(event)
    for slices in tracks.values():
        open_ends = []
        for start, end in sorted(slices, key=lambda slice: (slice[0], -slice[1])):
            while open_ends and open_ends[-1] <= start:
                open_ends.pop()
            assert not open_ends or end <= open_ends[-1], "slices of a track overlap"
            open_ends.append(end)
    for ends in flows.values():
        assert sorted(end["ph"] for end in ends) == ["f", "s"], ends
        for end in ends:
            assert any(a <= end["ts"] <= b for a, b in tracks[end["pid"], end["tid"]]), end


def known_names():
    names = set()
    for package in ("opentelemetry.semconv.attributes", "opentelemetry.semconv._incubating.attributes"):
        package = importlib.import_module(package)
        for module in pkgutil.iter_modules(package.__path__):
            values = vars(importlib.import_module(package.__name__ + "." + module.name))
            names.update(value for name, value in values.items() if name.isupper() and isinstance(value, str))
    return names


def as_protobuf(value):
    """Ids are hexadecimal in OTLP/JSON and base64 in what the protobuf library reads."""
    if isinstance(value, dict):
        ids = ("traceId", "spanId", "parentSpanId")
        return {k: base64.b64encode(bytes.fromhex(v)).decode() if k in ids else as_protobuf(v) for k, v in value.items()}
    return [as_protobuf(v) for v in value] if isinstance(value, list) else value


def check_otlp(export, names):
    from google.protobuf import json_format
    from opentelemetry.proto.collector.trace.v1 import trace_service_pb2

    request = json_format.ParseDict(as_protobuf(export), trace_service_pb2.ExportTraceServiceRequest())
    spans = [span for resource in request.resource_spans for scope in resource.scope_spans for span in scope.spans]
    ids = {span.span_id for span in spans}
    assert len(ids) == len(spans), "span ids repeat"
    for span in spans:
        assert len(span.trace_id) == 16 and len(span.span_id) == 8, span.name
        assert not span.parent_span_id or span.parent_span_id in ids, span.name
        assert span.start_time_unix_nano <= span.end_time_unix_nano, span.name
        for attribute in span.attributes:
            own = attribute.key.startswith("codex.")
            assert own or attribute.key in names, "no convention has " + attribute.key


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--codex", required=True)
    parser.add_argument("bundles", nargs="+")
    options = parser.parse_args()
    try:
        importlib.import_module("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
        names = known_names()
    except ImportError as missing:
        print("otlp-json is not checked:", missing)
        names = None
    for bundle in options.bundles:
        for form in ("perfetto", "otlp-json"):
            with tempfile.NamedTemporaryFile() as out:
                subprocess.run([options.codex, "debug", "trace-export", bundle, "--format", form, "-o", out.name],
                               check=True, stdout=subprocess.DEVNULL)
                with open(out.name, encoding="utf-8") as f:
                    export = json.load(f)
            if form == "perfetto":
                check_perfetto(export)
            elif names:
                check_otlp(export, names)
        print("good", bundle)


if __name__ == "__main__":
    sys.exit(main())
