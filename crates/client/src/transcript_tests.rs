use serde_json::{Value, json};

use super::*;

fn notification(method: &str, params: Value) -> ServerNotification {
    let params = serde_json::value::to_raw_value(&params).unwrap();
    ServerNotification::read(method, Some(&params)).unwrap()
}

/// The transcript of these notifications.
fn shown(notifications: &[(&str, Value)]) -> String {
    let mut transcript = Transcript::new(Vec::new(), Style::Plain, 80);
    for (method, params) in notifications {
        let mut params = params.clone();
        params["threadId"] = json!("t");
        params["turnId"] = json!("u");
        transcript
            .on_notification(&notification(method, params))
            .unwrap();
    }
    String::from_utf8(transcript.into_inner()).unwrap()
}

fn command(status: &str, output: Option<&str>, exit_code: Option<i32>) -> Value {
    json!({ "item": { "type": "commandExecution", "id": "c", "command": "/bin/bash -lc 'ls; pwd'",
        "cwd": "/", "processId": null, "status": status, "commandActions": [],
        "aggregatedOutput": output, "exitCode": exit_code, "durationMs": exit_code.map(|_| 12) } })
}

#[test]
fn a_message_is_printed_once_however_it_comes() {
    let message = json!({ "item": { "type": "agentMessage", "id": "m", "text": "Hello there.",
                                    "phase": null, "memoryCitation": null } });
    let expected = "Codex\n  Hello there.\n";
    let delta = |delta: &str| {
        (
            "item/agentMessage/delta",
            json!({ "itemId": "m", "delta": delta }),
        )
    };
    let whole = ("item/completed", message);
    assert_eq!(
        shown(&[delta("Hel"), delta("lo there."), whole.clone()]),
        expected
    );
    assert_eq!(shown(&[whole]), expected);
}

#[test]
fn command_shows_script_output_and_end() {
    let expected = "Command\n  $ ls; pwd\n  | a\n  | b\n  exit code 2 after 12 ms\n";
    let started = ("item/started", command("inProgress", None, None));
    let ended = ("item/completed", command("failed", Some("a\nb"), Some(2)));
    let delta = |delta: &str| {
        let params = json!({ "itemId": "c", "delta": delta });
        ("item/commandExecution/outputDelta", params)
    };
    let streamed = [started.clone(), delta("a"), delta("\nb"), ended.clone()];
    assert_eq!(shown(&streamed), expected);
    assert_eq!(shown(&[started, ended]), expected);
}

#[test]
fn long_output_is_truncated_and_marked() {
    let output: String = (0..1000).map(|number| format!("{number}\n")).collect();
    let text = shown(&[(
        "item/completed",
        command("completed", Some(&output), Some(0)),
    )]);
    assert!(text.contains("| 23\n  (976 more lines)\n  done"), "{text}");
}

#[test]
fn a_patch_shows_its_diff() {
    let item = json!({ "item": { "type": "fileChange", "id": "p", "status": "inProgress",
        "changes": [{ "path": "a.txt", "kind": { "type": "update", "move_path": null },
                      "diff": "@@ -1 +1 @@\n-a\n+b\n" },
                    { "path": "b.txt", "kind": { "type": "add" }, "diff": "new\n" }] } });
    let expected = "Patch  a.txt\n  @@ -1 +1 @@\n  -a\n  +b\n\nNew file  b.txt\n  +new\n";
    assert_eq!(shown(&[("item/started", item)]), expected);
}

#[test]
fn command_output_has_no_terminal_sequences() {
    let text = shown(&[(
        "item/completed",
        command("completed", Some("\x1b[2Jx"), Some(0)),
    )]);
    assert!(!text.contains('\x1b'), "{text:?}");
}

#[test]
fn wait_for_model_is_shown_without_running_tool() {
    let after = |seconds: &[u64], style: Style, running: bool| {
        let mut transcript = Transcript::new(Vec::new(), style, 80);
        let mut params = command("inProgress", None, None);
        params["threadId"] = json!("t");
        params["turnId"] = json!("u");
        if running {
            let started = notification("item/started", params.clone());
            transcript.on_notification(&started).unwrap();
        }
        for seconds in seconds {
            let silence = Duration::from_secs(*seconds);
            transcript.waiting(silence).unwrap();
        }
        transcript
            .on_notification(&notification("item/completed", params))
            .unwrap();
        String::from_utf8(transcript.into_inner()).unwrap()
    };
    let end = "Command\n  $ ls; pwd\n";
    let on_pipe = after(&[1, 14, 15, 16, 59, 60, 61, 120], Style::Plain, false);
    let told =
        ["15", "60", "120"].map(|seconds| format!("  (waiting for the model, {seconds} s)\n"));
    assert!(on_pipe.starts_with(&told.concat()), "{on_pipe}");
    let on_terminal = after(&[1, 2, 3, 4], Style::Colour, false);
    let gone = on_terminal.matches("\r\x1b[K").count();
    let shown = on_terminal.matches("waiting for the model, ").count();
    assert_eq!((shown, gone), (2, 2), "{on_terminal:?}");
    assert!(after(&[15, 60], Style::Plain, true).starts_with(end));
}
