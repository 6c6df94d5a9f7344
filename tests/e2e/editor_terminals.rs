//! Commands in terminals of an editor pass the gate like all others: rules, policy, hooks and questions.

use std::fs;

use serde_json::{Value, json};

use crate::acp_client::{Editor, prompt};

const FORBIDDING_RULE: &str = "prefix_rule(pattern=[\"git\", \"push\"], decision=\"forbidden\", justification=\"no pushes\")\n";

/// An editor with terminals, whose model runs these commands in them, with these settings and files in the home folder.
async fn editor(commands: &[&str], settings: Value, files: &[(&str, &str)]) -> (Editor, String) {
    let home = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = home.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let call = |command: &&str| {
        let arguments = json!({ "command": command });
        json!({ "steps": [{ "tool": { "name": "editor_terminal", "arguments": arguments } }] })
    };
    let mut replies: Vec<Value> = commands.iter().map(call).collect();
    replies.push(json!({ "steps": [{ "message": "Done." }] }));
    let scenario = json!({ "description": "Terminals.", "settings": settings, "replies": replies });
    let path = home.path().join("scenario.json");
    fs::write(&path, scenario.to_string()).unwrap();
    let mut editor = Editor::start_in(home, path.to_str().unwrap());
    editor.initialize(json!({ "terminal": true })).await;
    let ended = json!({ "exitCode": 0 });
    editor.answer("terminal/create", json!({ "terminalId": "term-1" }));
    editor.answer("terminal/wait_for_exit", ended.clone());
    let output = json!({ "output": "ok\n", "truncated": false, "exitStatus": ended });
    editor.answer("terminal/output", output);
    editor.answer("terminal/release", json!({}));
    let session = editor.new_session().await;
    (editor, session)
}

fn allow(editor: &mut Editor) {
    let allowed = json!({ "outcome": { "outcome": "selected", "optionId": "allow_once" } });
    editor.answer("session/request_permission", allowed);
}

/// The scripts that ran in terminals.
fn created(editor: &Editor) -> Vec<String> {
    let created = editor
        .asked
        .iter()
        .filter(|asked| asked["method"] == "terminal/create");
    created
        .map(|asked| asked["params"]["args"][1].as_str().unwrap().to_owned())
        .collect()
}

fn questions(editor: &Editor) -> Vec<&Value> {
    let asked = editor
        .asked
        .iter()
        .filter(|asked| asked["method"] == "session/request_permission");
    asked.map(|asked| &asked["params"]).collect()
}

fn full_access() -> Value {
    json!({ "approval_policy": "never", "sandbox_mode": "danger-full-access" })
}

#[tokio::test]
async fn forbidden_command_is_refused_without_a_question() {
    let commands = [
        "git push",
        "cd x && git  push --force",
        "sh -c 'git push'",
        "make test",
    ];
    for settings in [json!({}), full_access()] {
        let is_open = settings != json!({});
        let rules = [("rules/default.rules", FORBIDDING_RULE)];
        let (mut editor, session) = editor(&commands, settings, &rules).await;
        allow(&mut editor);
        editor.prompt(&session, "go").await;
        assert_eq!(created(&editor), ["make test"]);
        assert_eq!(questions(&editor).len(), if is_open { 0 } else { 1 });
    }
}

#[tokio::test]
async fn editor_terminal_command_needs_engine_approval() {
    let (mut editor, session) = editor(&["make test"], json!({}), &[]).await;
    allow(&mut editor);
    editor.prompt(&session, "go").await;
    let [asked] = questions(&editor)[..] else {
        panic!("{:?}", editor.asked);
    };
    assert_eq!(asked["toolCall"]["title"], "make test");
    assert_eq!(asked["toolCall"]["kind"], "execute");
    let text = asked["toolCall"]["content"][0]["content"]["text"]
        .as_str()
        .unwrap();
    assert!(
        text.contains("runs without the sandbox") && text.contains("a terminal of the editor"),
        "{text}"
    );
    assert_eq!(created(&editor), ["make test"]);
}

#[tokio::test]
async fn policy_never_refuses_sandbox_escapes() {
    for sandbox in ["read-only", "workspace-write"] {
        let settings = json!({ "approval_policy": "never", "sandbox_mode": sandbox });
        let (mut editor, session) = editor(&["make test", "cat x"], settings, &[]).await;
        allow(&mut editor);
        editor.prompt(&session, "go").await;
        assert!(editor.asked.is_empty(), "{:?}", editor.asked);
    }
    let (mut editor, session) = editor(&["make test"], full_access(), &[]).await;
    editor.prompt(&session, "go").await;
    assert_eq!(
        (created(&editor), questions(&editor).len()),
        (vec!["make test".to_owned()], 0)
    );
}

#[tokio::test]
async fn a_hook_for_commands_sees_commands_in_terminals() {
    let blocks = "cat >> \"$CODEX_HOME/seen\"; echo 'not this one' >&2; exit 2";
    let hook =
        json!([{ "matcher": "^Bash$", "hooks": [{ "type": "command", "command": blocks }] }]);
    let hooks = json!({ "hooks": { "PreToolUse": hook } }).to_string();
    let mut settings = full_access();
    settings["features.codex_hooks"] = json!(true);
    let (mut editor, session) = editor(&["make test"], settings, &[("hooks.json", &hooks)]).await;
    editor.prompt(&session, "go").await;
    let seen = fs::read_to_string(editor.home.path().join("seen")).unwrap();
    let seen: Value = serde_json::from_str(&seen).unwrap();
    assert_eq!(seen["tool_name"], "Bash");
    assert_eq!(seen["tool_input"], json!({ "command": "make test" }));
    assert!(editor.asked.is_empty(), "{:?}", editor.asked);
}

#[tokio::test]
async fn dangerous_unconfined_command_needs_approval() {
    let settings = json!({ "approval_policy": "on-request", "sandbox_mode": "danger-full-access" });
    let (mut editor, session) = editor(&["rm -rf /nowhere/x", "make test"], settings, &[]).await;
    let refused = json!({ "outcome": { "outcome": "selected", "optionId": "reject_once" } });
    editor.answer("session/request_permission", refused);
    editor.prompt(&session, "go").await;
    assert_eq!(created(&editor), ["make test"]);
    assert_eq!(questions(&editor).len(), 1);
}

/// The network cannot be taken from a command in a terminal of the editor.
#[tokio::test]
async fn a_limit_that_a_terminal_cannot_enforce_closes_it() {
    let denied = "network_rule(host=\"a.test\", protocol=\"https\", decision=\"deny\")\n";
    let rules = [("rules/default.rules", denied)];
    let (mut editor, session) = editor(&["make test"], full_access(), &rules).await;
    editor.prompt(&session, "go").await;
    assert!(editor.asked.is_empty(), "{:?}", editor.asked);
}

/// A stored thread keeps its tools, and the gate with them.
#[tokio::test]
async fn reloaded_thread_needs_approvals() {
    let rules = [("rules/default.rules", FORBIDDING_RULE)];
    let (mut editor, session) = editor(&["make test", "git push"], full_access(), &rules).await;
    let id = editor.ask("session/prompt", prompt(&session, "go")).await;
    editor.reply_to(&id).await;
    let closed = editor
        .request("session/close", json!({ "sessionId": session }))
        .await;
    assert!(closed.get("error").is_none(), "{closed}");
    let cwd = editor.work();
    let params = json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] });
    let loaded = editor.request("session/load", params).await;
    assert!(loaded.get("error").is_none(), "{loaded}");
    editor.prompt(&session, "again").await;
    assert!(
        !created(&editor).contains(&"git push".to_owned()),
        "{:?}",
        created(&editor)
    );
}
