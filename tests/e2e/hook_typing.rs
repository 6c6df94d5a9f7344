//! Hooks and text that a model types into a running command.

use codex_test_support::ModelServer;
use serde_json::{Value, json};

use crate::hooks::{Hooked, answer_with, calls, home_with, hook};

/// Objects to a call whose input has these words, and writes all inputs to a file.
fn objects_to(words: &str) -> String {
    format!(
        "tee -a input | grep -q '{words}' && echo '{{\"decision\":\"block\",\"reason\":\"no\"}}'; echo >> input"
    )
}

/// A thread with hooks, and the id of a shell that runs in it.
async fn with_shell(hooks: Value) -> (Hooked, u64) {
    let start =
        json!({ "cmd": "env -i PS1= bash --norc --noprofile", "tty": true, "yield_time_ms": 250 });
    let replies = [calls("exec_command", &start), answer_with("it waits")];
    let model = ModelServer::start(replies).await.unwrap();
    let home = home_with(&model, &hooks);
    let file = home.path().join("config.toml");
    let config = std::fs::read_to_string(&file).unwrap();
    let config = config.replace(
        "approval_policy = \"untrusted\"",
        "approval_policy = \"never\"",
    );
    std::fs::write(&file, config + "unified_exec = true\n").unwrap();
    let mut hooked = Hooked::start(model, home).await;
    hooked.turn("start it").await;
    let sent = hooked.sent(1);
    let (_, rest) = sent.split_once("session ID ").unwrap();
    let digits = rest.split(|letter: char| !letter.is_ascii_digit()).next();
    (hooked, digits.unwrap().parse().unwrap())
}

/// Types in a turn of its own. Returns what the model is told.
async fn typed(hooked: &mut Hooked, session: u64, chars: &str) -> String {
    let types = json!({ "session_id": session, "chars": chars, "yield_time_ms": 250 });
    hooked.model.push(calls("write_stdin", &types));
    hooked.model.push(answer_with(&format!("typed {chars}")));
    hooked.turn("go on").await;
    let last = hooked.model.requests().pop().unwrap().json();
    let items = last["input"].as_array().unwrap().iter();
    let mut outputs = items.filter(|item| item["type"] == "function_call_output");
    outputs.next_back().unwrap()["output"]
        .as_str()
        .unwrap()
        .to_owned()
}

fn inputs(hooked: &Hooked) -> Vec<Value> {
    let text = hooked.file("input");
    let lines = text.lines().filter(|line| !line.is_empty());
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[tokio::test]
async fn typed_commands_are_seen_and_blocked() {
    let mut bash_only = hook(&objects_to("forbidden"));
    bash_only[0]["matcher"] = "^Bash$".into();
    let (mut hooked, session) = with_shell(json!({ "PreToolUse": bash_only })).await;
    let output = typed(&mut hooked, session, "touch forbidden\n").await;
    assert_eq!(
        output,
        "Command blocked by PreToolUse hook: no. Command: touch forbidden\n"
    );
    let output = typed(&mut hooked, session, "touch made; ls\n").await;
    assert!(output.contains("made"), "{output}");
    assert!(!hooked.home.path().join("forbidden").exists());
    let seen = inputs(&hooked);
    let commands: Vec<&Value> = seen.iter().map(|input| &input["tool_input"]).collect();
    assert_eq!(
        commands[1..],
        [
            &json!({ "command": "touch forbidden\n" }),
            &json!({ "command": "touch made; ls\n" })
        ]
    );
    assert!(seen.iter().all(|input| input["tool_name"] == "Bash"));
    hooked.finish().await;
}

#[tokio::test]
async fn command_typed_in_parts_is_checked_whole() {
    let hooks = json!({ "PreToolUse": hook(&objects_to("touch forbidden")) });
    let (mut hooked, session) = with_shell(hooks).await;
    for chars in ["tou", "ch forb"] {
        let output = typed(&mut hooked, session, chars).await;
        assert!(!output.contains("blocked"), "{output}");
    }
    let output = typed(&mut hooked, session, "idden\n").await;
    assert!(output.contains("Command: touch forbidden"), "{output}");
    // The part that was typed is still there.
    let output = typed(&mut hooked, session, "id\n").await;
    assert!(!output.contains("blocked"), "{output}");
    assert!(hooked.home.path().join("forbid").exists());
    assert!(!hooked.home.path().join("forbidden").exists());
    hooked.finish().await;
}

#[tokio::test]
async fn hook_can_replace_terminal_input() {
    let update = json!({ "hookSpecificOutput": { "hookEventName": "PreToolUse",
        "permissionDecision": "allow", "updatedInput": { "command": "touch other\n" } } });
    let command = format!("grep -q 'touch made' && cat <<'END'\n{update}\nEND\ntrue");
    let (mut hooked, session) = with_shell(json!({ "PreToolUse": hook(&command) })).await;
    typed(&mut hooked, session, "touch made\n").await;
    let output = typed(&mut hooked, session, "ls\n").await;
    assert!(output.contains("other"), "{output}");
    assert!(!hooked.home.path().join("made").exists());
    hooked.finish().await;
}
