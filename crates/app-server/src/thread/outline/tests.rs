//! A page of turns equals the same range of all turns, for random files.

use std::io::Write as _;

use bytes::Bytes;
use codex_projection::dialect::StoredForm;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::folder::OutlineFolder;
use super::*;
use crate::thread::history::SETTINGS_APPLIED;
use crate::thread::{Outlines, StoredHistory, TurnsShown, read_history, read_to_load};

fn form_with(ids: ItemIds) -> StoredForm {
    StoredForm::NEWEST.with_ids(ids)
}

/// A line of a generated file. Turns are identified by number; some ids do not exist.
#[derive(Clone, Debug)]
enum StoredLine {
    Begin,
    Complete(usize),
    Abort(Option<usize>),
    Say(&'static str),
    Answer(&'static str),
    Think,
    Thought,
    ThreadCommand(usize),
    Patch(usize),
    Plan(usize),
    StoredItem(usize),
    Search,
    Look,
    Compacted,
    ContextCompacted,
    Fail,
    Enter,
    Exit,
    RollBack(u32),
    Revert(usize),
    Tokens,
    Context,
    Settings,
    Replaced,
    Torn,
}

fn line() -> impl Strategy<Value = StoredLine> {
    let text = || prop_oneof![Just(""), Just(" "), Just("some }} \"text\"")];
    let turn = || 0_usize..8;
    prop_oneof![
        6 => Just(StoredLine::Begin),
        3 => turn().prop_map(StoredLine::Complete),
        1 => prop::option::of(turn()).prop_map(StoredLine::Abort),
        4 => text().prop_map(StoredLine::Say),
        4 => text().prop_map(StoredLine::Answer),
        2 => Just(StoredLine::Think),
        1 => Just(StoredLine::Thought),
        4 => turn().prop_map(StoredLine::ThreadCommand),
        1 => turn().prop_map(StoredLine::Patch),
        1 => turn().prop_map(StoredLine::Plan),
        1 => turn().prop_map(StoredLine::StoredItem),
        1 => Just(StoredLine::Search),
        1 => Just(StoredLine::Look),
        1 => Just(StoredLine::Compacted),
        1 => Just(StoredLine::ContextCompacted),
        1 => Just(StoredLine::Fail),
        1 => Just(StoredLine::Enter),
        1 => Just(StoredLine::Exit),
        1 => (0_u32..4).prop_map(StoredLine::RollBack),
        1 => turn().prop_map(StoredLine::Revert),
        1 => Just(StoredLine::Tokens),
        1 => Just(StoredLine::Context),
        1 => Just(StoredLine::Settings),
        1 => Just(StoredLine::Replaced),
        1 => Just(StoredLine::Torn),
    ]
}

/// The kind and payload of a line; `begun` is the number of turns so far.
fn content(line: &StoredLine, number: usize, begun: &mut usize) -> (&'static str, Value) {
    // The newest turn is the most frequent one.
    let turn = |back: usize| format!("turn-{}", begun.saturating_sub(back / 2));
    let call = format!("call-{}", number % 20);
    let event = match line {
        StoredLine::Begin => {
            *begun += 1;
            let id = format!("turn-{begun}");
            json!({"type": "task_started", "turn_id": id, "model_context_window": null})
        }
        StoredLine::Complete(back) => {
            json!({"type": "task_complete", "turn_id": turn(*back), "last_agent_message": null})
        }
        StoredLine::Abort(back) => {
            let id = back.map(turn);
            json!({"type": "turn_aborted", "turn_id": id, "reason": "interrupted"})
        }
        StoredLine::Say(text) => json!({"type": "user_message", "message": text, "images": []}),
        StoredLine::Answer(text) => json!({"type": "agent_message", "message": text}),
        StoredLine::Think => json!({"type": "agent_reasoning", "text": "so"}),
        StoredLine::ThreadCommand(back) => json!({"type": "exec_command_end", "call_id": call,
            "turn_id": turn(*back), "command": ["ls"], "cwd": "/", "parsed_cmd": [],
            "stdout": "", "stderr": "", "aggregated_output": "x", "exit_code": 0,
            "duration": {"secs": 0, "nanos": 1}, "formatted_output": "", "status": "completed"}),
        StoredLine::Patch(back) => json!({"type": "patch_apply_end", "call_id": call,
            "turn_id": turn(*back), "stdout": "", "stderr": "", "success": true,
            "changes": {}, "status": "completed"}),
        StoredLine::Plan(back) => stored_item(
            &turn(*back),
            json!({"type": "Plan", "id": call, "text": "p"}),
        ),
        StoredLine::StoredItem(back) => {
            let content = json!([{"type": "Text", "text": "said"}]);
            let item = json!({"type": "AgentMessage", "id": call, "content": content});
            stored_item(&turn(*back), item)
        }
        StoredLine::Search => json!({"type": "web_search_end", "call_id": call, "query": "q",
            "action": {"type": "search", "query": "q"}}),
        StoredLine::Look => json!({"type": "view_image_tool_call", "call_id": call, "path": "/a"}),
        StoredLine::ContextCompacted => json!({"type": "context_compacted"}),
        StoredLine::Fail => json!({"type": "error", "message": "m", "codex_error_info": "other"}),
        StoredLine::Enter => json!({"type": "entered_review_mode",
            "target": {"type": "uncommittedChanges"}, "user_facing_hint": "h"}),
        StoredLine::Exit => json!({"type": "exited_review_mode", "review_output": null}),
        StoredLine::Revert(back) => json!({"type": "thread_rolled_back", "num_turns": 1,
            "first_turn_id": turn(*back)}),
        StoredLine::RollBack(turns) => json!({"type": "thread_rolled_back", "num_turns": turns}),
        StoredLine::Tokens | StoredLine::Torn => json!({"type": "token_count", "info": null}),
        StoredLine::Settings => json!({"type": SETTINGS_APPLIED,
            "thread_settings": {"model": format!("changed-{number}"), "reasoning_effort": null}}),
        StoredLine::Context => {
            let policy = json!({"type": "danger-full-access"});
            let context = json!({"turn_id": turn(0), "cwd": "/", "approval_policy": "never",
                "sandbox_policy": policy, "model": format!("model-{number}"), "summary": "auto"});
            return ("turn_context", context);
        }
        StoredLine::Replaced => {
            let replaced = json!({"message": "m", "replacement_history": []});
            return ("compacted", replaced);
        }
        StoredLine::Compacted => return ("compacted", json!({"message": "m"})),
        StoredLine::Thought => {
            let content = json!([{"type": "reasoning_text", "text": "raw"}]);
            let thought = json!({"type": "reasoning", "summary": [], "content": content});
            return ("response_item", thought);
        }
    };
    ("event_msg", event)
}

fn stored_item(turn: &str, item: Value) -> Value {
    let thread = "0195f0a0-7b1c-7000-8000-000000000001";
    json!({"type": "item_completed", "thread_id": thread, "turn_id": turn, "item": item})
}

/// A file with these lines, sometimes with another member order.
fn file(lines: &[StoredLine]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let meta = r#"{"timestamp":"t","type":"session_meta","payload":{"id":"a","timestamp":"t","cwd":"/","originator":"o","cli_version":"1","model_provider":null,"base_instructions":null}}"#;
    writeln!(file, "{meta}").unwrap();
    let mut begun = 0;
    for (number, line) in lines.iter().enumerate() {
        let (kind, payload) = content(line, number, &mut begun);
        // The type comes first, as all programs write it.
        let members = payload.as_object().unwrap();
        let others = members.iter().filter(|(name, _)| *name != "type");
        let others: String = others
            .map(|(name, value)| format!(",\"{name}\":{value}"))
            .collect();
        let payload = match members.get("type") {
            Some(tag) => format!("{{\"type\":{tag}{others}}}"),
            None => payload.to_string(),
        };
        let at = format!("2026-03-01T10:{:02}:{:02}.000Z", number / 60, number % 60);
        let text = match number % 7 {
            3 => format!(r#"{{"payload":{payload},"type":"{kind}","timestamp":"{at}"}}"#),
            5 => format!(
                r#"{{"timestamp":"{at}","ordinal":{number},"type":"{kind}","payload":{payload}}}"#
            ),
            _ => format!(r#"{{"timestamp":"{at}","type":"{kind}","payload":{payload}}}"#),
        };
        let length = match line {
            StoredLine::Torn => text.len() - 5,
            _ => text.len(),
        };
        writeln!(file, "{}", &text[..length]).unwrap();
    }
    file
}

proptest! {
    #[test]
    fn pages_equal_their_range_of_all_turns(
        lines in prop::collection::vec(line(), 0..60),
        size in 1_usize..5,
    ) {
        let file = file(&lines);
        let made_beside = Outlines::default();
        let all = read_history(file.path(), form_with(ItemIds::Numbered), None, &made_beside).unwrap().turns;
        let written = all.put_into(Bytes::from_static(b"{\"turns\":[]}"));
        let all = all.into_vec();
        let expected = serde_json::to_string(&json!({"turns": all})).unwrap();
        prop_assert_eq!(written.parts().concat(), expected.into_bytes());
        let outlines = Outlines::default();
        let outline = outlines.get(file.path()).unwrap();
        let beside = made_beside.get(file.path()).unwrap();
        prop_assert_eq!(&outline.ranges, &beside.ranges);
        prop_assert_eq!(&outline.needed, &beside.needed);
        prop_assert_eq!((outline.preview, outline.last_line), (beside.preview, beside.last_line));
        let ids: Vec<&str> = all.iter().map(|turn| turn.id.as_str()).collect();
        prop_assert_eq!(outline.ids().collect::<Vec<_>>(), ids);
        for begin in 0..all.len() {
            let end = (begin + size).min(all.len());
            let page = outline.turns(begin..end, form_with(ItemIds::Numbered)).unwrap().into_vec();
            prop_assert_eq!(&page[..], &all[begin..end]);
        }
        prop_assert_eq!(outline.turns(0..all.len(), form_with(ItemIds::Numbered)).unwrap().into_vec(), all);
    }
}

proptest! {
    #[test]
    fn loading_the_selected_lines_loads_the_same(lines in prop::collection::vec(line(), 0..60)) {
        let file = file(&lines);
        let outlines = Outlines::default();
        let selection = outlines.get(file.path()).unwrap().lines_to_load();
        let load = |selection| {
            let (shown, ids) = (TurnsShown::WithoutTurns, form_with(ItemIds::Numbered));
            let loaded = read_to_load(file.path(), shown, ids, None, selection, &outlines);
            format!("{:?}", loaded.unwrap().0)
        };
        prop_assert_eq!(load(selection.as_ref()), load(None));
    }

    #[test]
    fn continued_and_stored_outlines_equal_new_ones(
        lines in prop::collection::vec(line(), 0..60),
        cuts in prop::collection::vec(0.0_f64..1.0, 0..4),
    ) {
        check_continued(&lines, &cuts);
    }
}

/// Writes the file up to each cut, a part of its length, and compares the outlines of what is there.
fn check_continued(lines: &[StoredLine], cuts: &[f64]) {
    let whole = std::fs::read(file(lines).path()).unwrap();
    let cuts = cuts.iter().map(|cut| (whole.len() as f64 * cut) as usize);
    let mut cuts: Vec<usize> = cuts.chain([whole.len()]).collect();
    cuts.sort_unstable();
    let home = tempfile::tempdir().unwrap();
    let folder = OutlineFolder::of_home(home.path());
    let path = home.path().join("rollout.jsonl");
    let (outlines, mut at) = (Outlines::default(), 0);
    for cut in cuts {
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.create(true).append(true).open(&path).unwrap();
        file.write_all(&whole[at..cut]).unwrap();
        at = cut;
        let continued = outlines.get(&path).unwrap();
        let new = Outlines::default().get(&path).unwrap();
        folder.write(&continued).unwrap();
        let stored = folder.read(&path).unwrap();
        for outline in [&*continued, &stored] {
            assert_eq!(&outline.ranges, &new.ranges);
            assert_eq!(&outline.needed, &new.needed);
            assert_eq!(outline.preview, new.preview);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn turns_that_were_stored_equal_new_ones(
        lines in prop::collection::vec(line(), 0..60),
        cuts in prop::collection::vec(0.0_f64..1.0, 1..4),
    ) {
        for ids in [form_with(ItemIds::Numbered), form_with(ItemIds::Streamed)] {
            check_stored(&lines, &cuts, ids);
        }
    }
}

/// What clients see of a thread.
fn shown(history: &StoredHistory) -> String {
    let turns = history
        .turns
        .put_into(Bytes::from_static(b"{\"turns\":[]}"));
    let turns = String::from_utf8(turns.parts().concat()).unwrap();
    let facts = (
        &history.meta,
        &history.preview,
        &history.model,
        &history.effort,
    );
    let more = (
        &history.limits,
        &history.changed_settings,
        history.is_interrupted,
    );
    format!("{turns} {facts:?} {more:?} {:?}", history.usage)
}

/// Writes the file up to each cut, and reads it with and without what was stored at earlier cuts.
fn check_stored(lines: &[StoredLine], cuts: &[f64], ids: StoredForm) {
    let whole = std::fs::read(file(lines).path()).unwrap();
    // The metadata is always there.
    let first = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let cuts = cuts
        .iter()
        .map(|cut| first + ((whole.len() - first) as f64 * cut) as usize);
    let mut cuts: Vec<usize> = cuts.chain([whole.len(), whole.len()]).collect();
    cuts.sort_unstable();
    let home = tempfile::tempdir().unwrap();
    let (path, mut at) = (home.path().join("rollout.jsonl"), 0);
    for cut in cuts {
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.create(true).append(true).open(&path).unwrap();
        file.write_all(&whole[at..cut]).unwrap();
        at = cut;
        let new = Outlines::default();
        let expected = shown(&read_history(&path, ids, None, &new).unwrap());
        // A new process each time: once to read the turns, and once to load the thread.
        for is_loaded in [false, true] {
            let outlines = Outlines::of_home(home.path());
            let found = if is_loaded {
                let with = TurnsShown::WithTurns;
                read_to_load(&path, with, ids, None, None, &outlines)
                    .unwrap()
                    .0
            } else {
                read_history(&path, ids, None, &outlines).unwrap()
            };
            assert_eq!(shown(&found), expected);
            outlines.wait_for_writer();
        }
    }
}

#[test]
fn stored_turns_are_used_only_for_their_source_file() {
    let lines = [StoredLine::Begin, StoredLine::Say("hi"), StoredLine::Begin];
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("rollout.jsonl");
    std::fs::copy(file(&lines).path(), &path).unwrap();
    let outlines = Outlines::of_home(home.path());
    let (ids, other_ids) = (form_with(ItemIds::Numbered), form_with(ItemIds::Streamed));
    read_history(&path, ids, None, &outlines).unwrap();
    outlines.wait_for_writer();
    let turns = |ids, running| {
        let outlines = Outlines::of_home(home.path());
        let turns = outlines.turns(&path, ids, running);
        outlines.wait_for_writer();
        turns
    };
    assert!(turns(ids, None).is_some());
    assert!(turns(ids, Some("turn-2")).is_some());
    // A turn that runs is added to, and other clients see other ids.
    assert!(turns(ids, Some("turn-1")).is_none());
    assert!(turns(other_ids, None).is_none());
    // A bit of the JSON.
    let stored = home.path().join("turns/rollout.turns");
    let bytes = std::fs::read(&stored).unwrap();
    let mut damaged = bytes.clone();
    *damaged.last_mut().unwrap() ^= 1;
    std::fs::write(&stored, damaged).unwrap();
    assert!(turns(ids, None).is_none());
    std::fs::write(&stored, bytes).unwrap();
    assert!(turns(ids, None).is_some());
    // A rollout that was changed in its middle and then added to.
    let text = std::fs::read_to_string(&path).unwrap();
    let changed = text.replace("\"hi\"", "\"ho\"");
    let added = changed.lines().last().unwrap().replace("turn-2", "turn-3");
    std::fs::write(&path, format!("{changed}{added}\n")).unwrap();
    assert!(turns(ids, None).is_none());
    std::fs::write(&path, format!("{text}{added}\n")).unwrap();
    assert!(turns(ids, None).is_some());
    outlines.forget(&path);
    assert!(!stored.exists());
}

#[test]
fn incomplete_token_count_is_read_when_complete() {
    let lines = [StoredLine::Begin, StoredLine::Tokens, StoredLine::Begin];
    let cuts: Vec<f64> = (0..100).map(|part| f64::from(part) / 100.0).collect();
    check_continued(&lines, &cuts);
}

#[test]
fn outline_of_a_rewritten_file_is_not_used() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("rollout.jsonl");
    let outlines = Outlines::default();
    for (lines, turns) in [(1, 1), (3, 3), (2, 2)] {
        let lines = vec![StoredLine::Begin; lines];
        std::fs::copy(file(&lines).path(), &path).unwrap();
        assert_eq!(outlines.get(&path).unwrap().ids().len(), turns);
    }
    let folder = OutlineFolder::of_home(home.path());
    folder.write(&outlines.get(&path).unwrap()).unwrap();
    let stored = home.path().join("outlines/rollout.outline");
    let mut bytes = std::fs::read(&stored).unwrap();
    assert!(folder.read(&path).is_some());
    bytes[20] ^= 1;
    std::fs::write(&stored, bytes).unwrap();
    assert!(folder.read(&path).is_none());
}

#[test]
fn an_outline_is_kept_until_its_file_changes() {
    let mut file = file(&[StoredLine::Begin, StoredLine::Say("hi")]);
    let outlines = Outlines::default();
    let first = outlines.get(file.path()).unwrap();
    assert!(std::sync::Arc::ptr_eq(
        &first,
        &outlines.get(file.path()).unwrap()
    ));
    writeln!(file, r#"{{"timestamp":"t","type":"event_msg","payload":{{"type":"task_started","turn_id":"n","model_context_window":null}}}}"#).unwrap();
    let second = outlines.get(file.path()).unwrap();
    assert_eq!((first.ids().len(), second.ids().len()), (1, 2));
    // The old outline still describes the earlier content.
    let turns = |outline: &Outline| {
        outline
            .turns(0..1, form_with(ItemIds::Numbered))
            .unwrap()
            .into_vec()
    };
    assert_eq!(turns(&first), turns(&second));
}
