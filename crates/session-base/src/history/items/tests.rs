use codex_protocol::{ContentItem, FunctionCallOutputBody, TruncationMode};
use proptest::prelude::*;

use super::*;

const POLICY: TruncationPolicy = TruncationPolicy {
    mode: TruncationMode::Bytes,
    limit: 1000,
};

fn call(id: &str) -> ResponseItem {
    ResponseItem::FunctionCall {
        name: "tool".to_owned(),
        namespace: None,
        arguments: "{}".to_owned(),
        call_id: id.to_owned(),
        id: None,
    }
}

fn output(id: &str) -> ResponseItem {
    ResponseItem::FunctionCallOutput {
        call_id: id.to_owned(),
        output: FunctionCallOutputBody::Text("done".into()),
    }
}

fn custom_call(id: &str) -> ResponseItem {
    ResponseItem::CustomToolCall {
        status: None,
        call_id: id.to_owned(),
        name: "tool".to_owned(),
        input: String::new(),
        id: None,
    }
}

fn message(role: &str, text: &str) -> ResponseItem {
    ResponseItem::Message {
        role: role.to_owned(),
        content: vec![ContentItem::InputText {
            text: text.to_owned(),
        }],
        end_turn: None,
        phase: None,
        id: None,
    }
}

fn image() -> ResponseItem {
    ResponseItem::Message {
        role: "user".to_owned(),
        content: vec![ContentItem::InputImage {
            file_id: None,
            image_url: "data:x".to_owned(),
            detail: None,
        }],
        end_turn: None,
        phase: None,
        id: None,
    }
}

fn reasoning() -> ResponseItem {
    let encrypted = "x".repeat(2000);
    serde_json::from_value(serde_json::json!({
        "type": "reasoning", "summary": [], "encrypted_content": encrypted
    }))
    .unwrap()
}

fn snapshot() -> ResponseItem {
    serde_json::from_value(serde_json::json!({
        "type": "ghost_snapshot",
        "ghost_commit": {"id": "a", "parent": null, "preexisting_untracked_files": [], "preexisting_untracked_dirs": []}
    }))
    .unwrap()
}

fn history(items: Vec<ResponseItem>) -> History {
    let mut history = History::default();
    for item in items {
        history.record(item, POLICY);
    }
    history
}

/// Every call has exactly one output after it, and every output one call before it.
fn assert_well_formed(prompt: &Prompt) {
    let mut open: HashMap<(bool, String), usize> = HashMap::new();
    for item in prompt.items() {
        let item: serde_json::Value = serde_json::from_str(item.json).unwrap();
        let key = |custom| {
            (
                custom,
                item["call_id"].as_str().unwrap_or_default().to_owned(),
            )
        };
        match item["type"].as_str().unwrap() {
            "function_call" => *open.entry(key(false)).or_default() += 1,
            "custom_tool_call" => *open.entry(key(true)).or_default() += 1,
            kind @ ("function_call_output" | "custom_tool_call_output") => {
                let waiting = open
                    .entry(key(kind == "custom_tool_call_output"))
                    .or_default();
                assert!(*waiting > 0, "an output without its call");
                *waiting -= 1;
            }
            _ => {}
        }
    }
    assert!(
        open.values().all(|waiting| *waiting == 0),
        "a call without its output"
    );
}

fn json_of(prompt: &Prompt, index: usize) -> String {
    prompt.items().nth(index).unwrap().json.to_owned()
}

/// An updated history equals one that is built at once from the same items.
fn assert_kept_up_to_date(history: &mut History) {
    let mut anew = History::default();
    anew.replace(history.items_from(0));
    assert_eq!(history.open, anew.open);
    assert_eq!(
        history.past_reasoning_tokens(),
        anew.past_reasoning_tokens()
    );
    assert_eq!(history.sums.with_images, anew.sums.with_images);
    let json = |prompt: &Prompt| {
        let mut text = Vec::new();
        prompt.write_json(&mut text);
        String::from_utf8(text).unwrap()
    };
    assert_eq!(json(&history.prompt), json(&anew.prompt));
}

#[test]
fn a_call_without_output_gets_one_right_behind_it() {
    let mut history = history(vec![
        call("a"),
        message("assistant", "hm"),
        call("b"),
        output("b"),
    ]);
    let prompt = history.prompt(true);
    assert_eq!(prompt.len(), 5);
    assert!(json_of(&prompt, 1).contains("aborted"));
    assert_well_formed(&prompt);
}

#[test]
fn an_output_without_call_stays_out() {
    let mut history = history(vec![output("a"), custom_call("b"), output("b")]);
    let prompt = history.prompt(true);
    assert_well_formed(&prompt);
    assert_eq!(prompt.len(), 2);
}

#[test]
fn rolling_back_takes_the_context_with_it() {
    let context = "<environment_context></environment_context>";
    let mut history = history(vec![
        message(
            "developer",
            "<permissions instructions>x</permissions instructions>",
        ),
        message("user", context),
        message("user", "one"),
        message("assistant", "1"),
        message("user", context),
        message("user", "two"),
    ]);
    assert!(history.roll_back(1).lost_context);
    assert_eq!(history.len(), 4);
    assert!(history.roll_back(9).lost_context);
    assert_eq!(history.len(), 0);
}

#[test]
fn a_model_that_cannot_see_gets_words_for_images() {
    let mut history = history(vec![image()]);
    assert!(json_of(&history.prompt(true), 0).contains("data:x"));
    assert!(json_of(&history.prompt(false), 0).contains(NO_IMAGES));
}

#[derive(Clone, Debug)]
enum HistoryStep {
    Record(ResponseItem),
    RollBack(usize),
    Truncate(usize),
    DropImages,
    Prompt,
}

fn step() -> impl Strategy<Value = HistoryStep> {
    let id = "[abc]";
    prop_oneof![
        id.prop_map(|id| HistoryStep::Record(call(&id))),
        id.prop_map(|id| HistoryStep::Record(output(&id))),
        id.prop_map(|id| HistoryStep::Record(custom_call(&id))),
        Just(HistoryStep::Record(message("user", "hi"))),
        Just(HistoryStep::Record(message("assistant", "ho"))),
        Just(HistoryStep::Record(reasoning())),
        Just(HistoryStep::Record(image())),
        Just(HistoryStep::Record(snapshot())),
        (0usize..3).prop_map(HistoryStep::RollBack),
        (0usize..20).prop_map(HistoryStep::Truncate),
        Just(HistoryStep::DropImages),
        Just(HistoryStep::Prompt),
    ]
}

proptest! {
    #[test]
    fn calls_and_outputs_always_pair_up(steps in prop::collection::vec(step(), 0..40)) {
        let mut history = History::default();
        for step in steps {
            match step {
                HistoryStep::Record(item) => { history.record(item, POLICY); }
                HistoryStep::RollBack(turns) => { history.roll_back(turns); }
                HistoryStep::Truncate(length) => history.truncate(length),
                HistoryStep::DropImages => { history.drop_newest_tool_images(); }
                HistoryStep::Prompt => assert_well_formed(&history.prompt(true)),
            }
            assert_kept_up_to_date(&mut history);
        }
        assert_well_formed(&history.prompt(true));
    }
}
