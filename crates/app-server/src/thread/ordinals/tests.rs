use std::ops::ControlFlow;

use super::*;

fn ordinals_of(lines: &[(&str, &str)]) -> Vec<u64> {
    let home = tempfile::tempdir().expect("a folder");
    let path = home.path().join("rollout.jsonl");
    let line = |(kind, payload): &(&str, &str)| {
        format!(
            "{{\"timestamp\":\"t\",\"type\":\"{kind}\",\"payload\":{{\"type\":\"{payload}\"}}}}\n"
        )
    };
    let text: String = lines.iter().map(line).collect();
    std::fs::write(&path, text).expect("a file");
    let (mut counter, mut found) = (LineOrdinals::default(), Vec::new());
    codex_rollout::scan(&path, |line| {
        found.push(counter.take(&line));
        ControlFlow::Continue(())
    })
    .expect("lines");
    found
}

const FIRST_TURN: [(&str, &str); 7] = [
    ("session_meta", ""),
    ("event_msg", "task_started"),
    ("response_item", "message"),
    ("response_item", "message"),
    ("turn_context", ""),
    ("response_item", "message"),
    ("event_msg", "user_message"),
];

#[test]
fn lines_are_counted_as_0_169_writes_them() {
    let mut lines = FIRST_TURN.to_vec();
    lines.extend([
        ("event_msg", "token_count"),
        ("event_msg", "agent_message"),
        ("response_item", "message"),
        ("event_msg", "token_count"),
        ("event_msg", "task_complete"),
        ("event_msg", "task_started"),
        ("turn_context", ""),
        ("response_item", "message"),
        ("event_msg", "user_message"),
    ]);
    let found = ordinals_of(&lines);
    assert_eq!(found[..7], [0, 1, 2, 3, 5, 7, 8]);
    assert_eq!(found[8..], [9, 10, 12, 13, 14, 15, 16, 17]);
}

#[test]
fn tokens_of_calls_are_counted_before_and_after_them() {
    let mut lines = FIRST_TURN.to_vec();
    lines.extend([
        ("event_msg", "token_count"),
        ("response_item", "function_call"),
        ("event_msg", "token_count"),
        ("event_msg", "exec_command_end"),
        ("response_item", "function_call_output"),
        ("event_msg", "token_count"),
        ("event_msg", "agent_message"),
        ("response_item", "message"),
        ("event_msg", "token_count"),
        ("event_msg", "task_complete"),
    ]);
    assert_eq!(
        ordinals_of(&lines)[8..],
        [9, 10, 11, 12, 13, 14, 15, 17, 18]
    );
}

#[test]
fn interrupted_turn_calls_do_not_count_for_the_next() {
    let mut lines = FIRST_TURN.to_vec();
    lines.extend([
        ("event_msg", "token_count"),
        ("response_item", "function_call"),
        ("event_msg", "token_count"),
        ("event_msg", "turn_aborted"),
        ("event_msg", "task_started"),
        ("turn_context", ""),
        ("response_item", "message"),
        ("event_msg", "user_message"),
        ("event_msg", "token_count"),
        ("event_msg", "agent_message"),
        ("response_item", "message"),
        ("event_msg", "token_count"),
        ("event_msg", "task_complete"),
    ]);
    let found = ordinals_of(&lines);
    let (answer, counted) = (found[17], found[18]);
    assert_eq!(counted - answer, 2);
}

#[test]
fn an_interrupted_request_counts_its_tokens() {
    let mut lines = FIRST_TURN.to_vec();
    lines.extend([
        ("event_msg", "token_count"),
        ("response_item", "message"),
        ("event_msg", "turn_aborted"),
    ]);
    assert_eq!(ordinals_of(&lines)[8..], [9, 11]);
}
