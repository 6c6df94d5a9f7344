//! The exporters.

use std::collections::{BTreeMap, BTreeSet};

use codex_trace_view::{Contents, SEMANTIC_CONVENTIONS, write_otlp, write_perfetto};
use serde_json::Value;

use crate::support::{Bundle, NAMES};

fn perfetto(bundle: &Bundle) -> String {
    let mut out = Vec::new();
    write_perfetto(&bundle.reduce(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn otlp(bundle: &Bundle) -> String {
    otlp_with(bundle, Contents::Omit)
}

fn otlp_with(bundle: &Bundle, contents: Contents) -> String {
    let mut out = Vec::new();
    write_otlp(&bundle.reduce(), bundle.path(), contents, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// The attributes of a span.
fn attributes(span: &Value) -> BTreeMap<&str, &str> {
    let list = span["attributes"].as_array().unwrap().iter();
    let text = |value: &'static str| move |one: &&Value| one["value"][value].is_string();
    list.filter(text("stringValue"))
        .map(|one| {
            let key = one["key"].as_str().unwrap();
            (key, one["value"]["stringValue"].as_str().unwrap())
        })
        .collect()
}

fn spans(otlp: &str) -> Vec<Value> {
    let request: Value = serde_json::from_str(otlp).unwrap();
    let spans = &request["resourceSpans"][0]["scopeSpans"][0]["spans"];
    spans.as_array().unwrap().clone()
}

#[test]
fn one_turn_for_perfetto() {
    insta::assert_snapshot!(perfetto(&Bundle::unpack("one_turn")));
}

#[test]
fn one_turn_for_opentelemetry() {
    insta::assert_snapshot!(otlp(&Bundle::unpack("one_turn")));
}

/// On one track slices do not cross, and every flow has two ends inside a slice.
#[test]
fn perfetto_can_draw_every_event() {
    for name in NAMES {
        let bundle = Bundle::unpack(name);
        let trace: Value = serde_json::from_str(&perfetto(&bundle)).unwrap();
        let events = trace["traceEvents"].as_array().unwrap();
        let mut tracks: BTreeMap<(u64, u64), Vec<(i64, i64)>> = BTreeMap::new();
        let track = |event: &Value| {
            (
                event["pid"].as_u64().unwrap(),
                event["tid"].as_u64().unwrap(),
            )
        };
        for event in events.iter().filter(|event| event["ph"] == "X") {
            let start = event["ts"].as_i64().unwrap();
            let end = start + event["dur"].as_i64().unwrap();
            tracks.entry(track(event)).or_default().push((start, end));
        }
        for slices in tracks.values_mut() {
            slices.sort_unstable();
            // A slice of no length is drawn with one microsecond.
            let apart = |pair: &[(i64, i64)]| pair[0].1 <= pair[1].0 + 1;
            assert!(slices.windows(2).all(apart), "{name}: {slices:?}");
        }
        let mut flows: BTreeMap<u64, BTreeSet<&str>> = BTreeMap::new();
        for event in events.iter().filter(|event| event["bp"] == "e") {
            let at = event["ts"].as_i64().unwrap();
            let inside = |(start, end): &(i64, i64)| (*start..=*end).contains(&at);
            assert!(tracks[&track(event)].iter().any(inside), "{name}: {event}");
            let ends = flows.entry(event["id"].as_u64().unwrap()).or_default();
            ends.insert(event["ph"].as_str().unwrap());
        }
        assert_eq!(
            flows.len(),
            bundle.reduce().trace.interaction_edges.len(),
            "{name}"
        );
        assert!(flows.values().all(|ends| ends.len() == 2), "{name}");
    }
}

/// Ids have their lengths and are unique, parents and links lead somewhere, and all is the same the next time.
#[test]
fn opentelemetry_spans_hold_together() {
    for name in NAMES {
        let bundle = Bundle::unpack(name);
        let text = otlp(&bundle);
        assert_eq!(text, otlp(&bundle), "{name}");
        assert!(text.contains(&format!("/schemas/{SEMANTIC_CONVENTIONS}")));
        let spans = spans(&text);
        let id = |span: &Value| span["spanId"].as_str().unwrap().to_owned();
        let ids: BTreeSet<String> = spans.iter().map(id).collect();
        assert_eq!(ids.len(), spans.len(), "{name}");
        assert!(ids.iter().all(|id| id.len() == 16));
        for span in &spans {
            assert_eq!(span["traceId"].as_str().unwrap().len(), 32);
            let parent = span["parentSpanId"].as_str().unwrap();
            assert!(parent.is_empty() || ids.contains(parent), "{name}: {span}");
            for link in span["links"].as_array().unwrap() {
                assert!(ids.contains(&id(link)), "{name}: {span}");
            }
        }
        let roots = spans.iter().filter(|span| span["parentSpanId"] == "");
        assert_eq!(roots.count(), 1, "{name}");
    }
}

#[test]
fn export_has_inference_errors_and_bundle_damage() {
    let bundle = Bundle::unpack("engine_mixed");
    let error = "stream closed before response.completed";
    assert!(perfetto(&bundle).contains(error));
    let text = otlp(&bundle);
    let failed = spans(&text);
    let failed = failed.iter().find(|span| {
        span["status"]["message"]
            .as_str()
            .is_some_and(|text| text.contains(error))
    });
    assert_eq!(failed.unwrap()["status"]["code"], 2);
    assert!(!text.contains("codex.trace.damaged"));

    let payload = bundle.path().join("payloads/3.json");
    let half = std::fs::read(&payload).unwrap();
    std::fs::write(&payload, &half[..half.len() / 2]).unwrap();
    assert!(otlp(&bundle).contains("codex.trace.damaged"));
    assert!(perfetto(&bundle).contains("\"damaged\":true"));
}

/// Backends that group by kind show all of a session; without contents none of it is exported.
#[test]
fn spans_have_kinds_and_agents_input_and_output() {
    for name in NAMES {
        let bundle = Bundle::unpack(name);
        let text = otlp_with(&bundle, Contents::Include);
        for span in &spans(&text) {
            let attributes = attributes(span);
            let kind = attributes["openinference.span.kind"];
            assert!(
                ["AGENT", "LLM", "TOOL", "CHAIN"].contains(&kind),
                "{name}: {span}"
            );
            for member in ["gen_ai.output.messages", "gen_ai.input.messages"] {
                if let Some(messages) = attributes.get(member) {
                    let messages: Vec<Value> = serde_json::from_str(messages).unwrap();
                    let is_output = member == "gen_ai.output.messages";
                    assert!(
                        messages
                            .iter()
                            .all(|message| !is_output || message["finish_reason"].is_string())
                    );
                }
            }
        }
        let plain = otlp(&bundle);
        for member in ["input.value", "output.value", "gen_ai.system_instructions"] {
            assert!(!plain.contains(member), "{name}: {member}");
        }
        assert!(plain.contains("service.version"));
    }
    let bundle = Bundle::unpack("one_turn");
    let text = otlp_with(&bundle, Contents::Include);
    let all = spans(&text);
    let root = all.iter().find(|span| span["parentSpanId"] == "").unwrap();
    let root = attributes(root);
    assert_eq!(root["gen_ai.operation.name"], "invoke_agent");
    assert!(!root["input.value"].is_empty() && !root["output.value"].is_empty());
}

#[test]
fn failed_tools_have_their_message_and_compactions_are_events() {
    let bundle = Bundle::unpack("engine_mixed");
    let all = spans(&otlp_with(&bundle, Contents::Include));
    let is_failed_tool = |span: &&Value| {
        attributes(span).get("gen_ai.operation.name") == Some(&"execute_tool")
            && span["status"]["code"] == 2
    };
    let mut failed = all.iter().filter(is_failed_tool).peekable();
    assert!(failed.peek().is_some());
    assert!(failed.all(|span| {
        let message = span["status"]["message"].as_str();
        message.is_some_and(|message| !message.is_empty() && message.len() <= 1600)
    }));
    let bundle = Bundle::unpack("cells_and_compaction");
    let all = spans(&otlp(&bundle));
    let events: Vec<&Value> = all
        .iter()
        .flat_map(|span| span["events"].as_array().unwrap())
        .collect();
    let compactions = events
        .iter()
        .filter(|event| event["name"] == "codex.compaction");
    let trace = bundle.reduce().trace;
    assert_eq!(compactions.count(), trace.compactions.len());
    assert!(!trace.compactions.is_empty());
}
