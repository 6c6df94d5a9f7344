//! The page of a session that still runs.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use codex_rollout_trace::BundleFollower;
use codex_trace_view::{Budget, LiveView, Prices};
use serde_json::{Value, json};

use crate::support::Bundle;
use crate::view::{data, page};

const NAMES: [&str; 9] = [
    "agents",
    "cells_and_compaction",
    "engine_mixed",
    "engine_shell",
    "engine_short",
    "one_turn",
    "schema_two_messages",
    "schema_two_tools",
    "tools_and_terminals",
];

/// Elements with names in place of places in lists, so that lists of any order can be compared.
fn named(data: &Value) -> BTreeSet<String> {
    let list = |name: &str| data[name].as_array().unwrap();
    let name_in = |name: &str, place: &Value| {
        let element = &list(name)[usize::try_from(place.as_u64().unwrap()).unwrap()];
        json!([element["kind"], element["id"]])
    };
    let names_in = |name: &str, places: &Value| -> Value {
        let places = places.as_array().into_iter().flatten();
        places.map(|place| name_in(name, place)).collect()
    };
    let mut all = BTreeSet::new();
    for (at, span) in list("spans").iter().enumerate() {
        let mut span = span.clone();
        if span["prompt"].is_object() {
            span["prompt"] = names_in("items", &prompt_of(list("spans"), at));
        }
        span["response"] = names_in("items", &span["response"]);
        for place in ["thread", "parent"] {
            if span[place].is_u64() {
                span[place] = name_in("spans", &span[place]);
            }
        }
        for payload in span["payloads"].as_array_mut().into_iter().flatten() {
            payload[1] = name_in("payloads", &payload[1]);
        }
        let members = span.as_object_mut().unwrap();
        members.remove("lane");
        if members.contains_key("open") {
            members.remove("end");
        }
        all.insert(format!("span {span}"));
    }
    for item in list("items") {
        let mut item = item.clone();
        for part in item["parts"].as_array_mut().unwrap() {
            if part["payload"].is_u64() {
                part["payload"] = name_in("payloads", &part["payload"]);
            }
        }
        all.insert(format!("item {item}"));
    }
    for edge in list("edges") {
        let mut edge = edge.clone();
        for place in ["source", "target"] {
            edge[place] = name_in("spans", &edge[place]);
        }
        edge["items"] = names_in("items", &edge["items"]);
        edge["payloads"] = names_in("payloads", &edge["payloads"]);
        all.insert(format!("edge {edge}"));
    }
    for compaction in list("compactions") {
        let mut compaction = compaction.clone();
        for side in ["before", "after"] {
            compaction[side] = names_in("items", &compaction[side]);
        }
        all.insert(format!("compaction {compaction}"));
    }
    for name in ["payloads", "notices"] {
        all.extend(list(name).iter().map(|element| format!("{name} {element}")));
    }
    for name in ["trace", "start", "end", "totals", "quiet_hooks"] {
        all.insert(format!("{name} {}", data[name]));
    }
    all
}

/// The items of a prompt, through the prompts that it goes on from.
fn prompt_of(spans: &[Value], at: usize) -> Value {
    let prompt = &spans[at]["prompt"];
    let mut items = match prompt["base"].as_u64() {
        Some(base) => prompt_of(spans, usize::try_from(base).unwrap()),
        None => json!([]),
    };
    let items = items.as_array_mut().unwrap();
    items.truncate(usize::try_from(prompt["keep"].as_u64().unwrap()).unwrap());
    items.extend(prompt["add"].as_array().unwrap().iter().cloned());
    items.drain(..).collect()
}

/// A browser: the page that it got first, and what it was sent since.
struct Browser(Value);

impl Browser {
    fn apply(&mut self, changes: &str) -> usize {
        let changes: Value = serde_json::from_str(changes).unwrap();
        for (name, value) in changes["head"].as_object().unwrap() {
            self.0[name] = value.clone();
        }
        let mut sent = 0;
        for (name, list) in changes["lists"].as_object().unwrap() {
            let elements = self.0[name].as_array_mut().unwrap();
            let length = usize::try_from(list["length"].as_u64().unwrap()).unwrap();
            elements.resize(length, Value::Null);
            for changed in list["changed"].as_array().unwrap() {
                let place = usize::try_from(changed[0].as_u64().unwrap()).unwrap();
                elements[place] = changed[1].clone();
                sent += 1;
            }
        }
        sent
    }

    fn version(&self) -> u64 {
        self.0["version"].as_u64().unwrap()
    }
}

fn append(log: &Path, text: &str) {
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(log)
        .unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

/// Gives the log to a follower bit by bit. Returns what a browser has in the end.
fn followed(bundle: &Bundle, lines_at_once: usize) -> Value {
    let path = bundle.path().join("trace.jsonl");
    let log = fs::read_to_string(&path).unwrap();
    fs::remove_file(&path).unwrap();
    let mut follower = BundleFollower::open(bundle.path()).unwrap();
    follower.track();
    let mut view = LiveView::new(bundle.path(), String::new(), Prices::new());
    view.update(&mut follower).unwrap();
    let mut page = Vec::new();
    view.write_page(&mut page).unwrap();
    let mut browser = Browser(data(&String::from_utf8(page).unwrap()));
    let lines: Vec<&str> = log.split_inclusive('\n').collect();
    for lines in lines.chunks(lines_at_once) {
        append(&path, &lines.concat());
        if follower.poll().unwrap() {
            view.update(&mut follower).unwrap();
            browser.apply(&view.changes(browser.version()).unwrap());
        }
    }
    let reduction = follower.finish().unwrap();
    view.finish(&reduction.trace, &reduction.problems).unwrap();
    browser.apply(&view.changes(browser.version()).unwrap());
    browser.0
}

#[test]
fn live_page_ends_equal_to_a_whole_page() {
    for name in NAMES {
        for lines_at_once in [1, 3, usize::MAX] {
            let bundle = Bundle::unpack(name);
            let live = named(&followed(&bundle, lines_at_once));
            let whole = named(&data(&page(&bundle, Budget::default())));
            let more: Vec<_> = live.difference(&whole).collect();
            let missing: Vec<_> = whole.difference(&live).collect();
            assert!(
                more.is_empty() && missing.is_empty(),
                "{name}, {lines_at_once} at once: {more:#?} in place of {missing:#?}"
            );
        }
    }
}

/// What an update sends does not grow with what was sent before.
#[test]
fn live_update_sends_new_rows() {
    let bundle = Bundle::unpack("one_turn");
    let path = bundle.path().join("trace.jsonl");
    let log = fs::read_to_string(&path).unwrap();
    let of_turn = |line: &&str| line.contains("turn_1");
    let turn: Vec<&str> = log.lines().filter(of_turn).collect();
    let head: Vec<&str> = log.lines().filter(|line| !of_turn(line)).take(2).collect();
    fs::write(&path, format!("{}\n", head.join("\n"))).unwrap();
    let mut follower = BundleFollower::open(bundle.path()).unwrap();
    follower.track();
    let mut view = LiveView::new(bundle.path(), String::new(), Prices::new());
    let mut sent = Vec::new();
    for number in 0..40 {
        let before = view.version();
        let renamed = |line: &&str| {
            let line = line.replace("turn_1", &format!("turn_{number}"));
            line.replace("\"i1\"", &format!("\"i{number}\"")) + "\n"
        };
        append(&path, &turn.iter().map(renamed).collect::<String>());
        follower.poll().unwrap();
        view.update(&mut follower).unwrap();
        let mut browser = Browser(json!({
            "spans": [], "items": [], "edges": [], "payloads": [], "notices": [], "compactions": [],
            "problems": [],
        }));
        sent.push(browser.apply(&view.changes(before).unwrap()));
    }
    assert!(sent[1] > 0 && sent[39] <= sent[1] + 1, "{sent:?}");
}
