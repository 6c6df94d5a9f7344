//! What people are asked about before it runs, through the real binary: calls that look as if they only read.

use std::fs;
use std::path::Path;

use codex_test_support::{sse, write_executable};
use serde_json::{Value, json};

use crate::proto::Proto;

const SETTINGS: &str = r#"
model = "gpt-5.2-codex"
model_provider = "scripted"
approval_policy = "POLICY"
sandbox_mode = "workspace-write"
[features]
unified_exec = false
"#;

/// Programs of the model's, which leave a mark when they run.
fn prepare(cwd: &Path) {
    let folder = cwd.join("sub");
    fs::create_dir(&folder).unwrap();
    let mark = format!("#!/bin/sh\ntouch {}/ran\n", cwd.display());
    for name in ["bash", "cat", "sleep"] {
        let file = folder.join(name);
        write_executable(&file, &mark).unwrap();
    }
}

/// Lets the model make calls one after the other, refuses each, and checks that each was asked about and none ran.
fn each_is_asked_about(policy: &str, calls: &[(&str, Value)]) {
    let replies: Vec<_> = (calls.iter().enumerate())
        .map(|(index, (tool, arguments))| {
            let call = sse::function_call(&format!("c{index}"), tool, arguments);
            sse::items(&[call])
        })
        .collect();
    let mut proto = Proto::start(&SETTINGS.replace("POLICY", policy), &replies, prepare);
    proto.submit_text("1", "go");
    for (index, call) in calls.iter().enumerate() {
        let asked = proto.wait_for("exec_approval_request");
        assert_eq!(
            asked["msg"]["call_id"],
            format!("c{index}"),
            "{call:?}: {asked}"
        );
        let answer =
            json!({ "type": "exec_approval", "id": format!("c{index}"), "decision": "denied" });
        proto.submit(&format!("a{index}"), &answer);
    }
    proto.wait_for("task_complete");
    assert!(!proto.cwd().join("ran").exists());
}

fn script(text: &str) -> (&'static str, Value) {
    ("shell_command", json!({ "command": text }))
}

#[test]
fn sandbox_escape_always_needs_approval() {
    let escalated = |command: &str| {
        let arguments = json!({ "command": command, "sandbox_permissions": "require_escalated" });
        ("shell_command", arguments)
    };
    let calls = [
        "ls",
        "cat x",
        "git status",
        "cat x | uniq - y",
        "pwd && ls | wc -l",
    ]
    .map(escalated);
    each_is_asked_about("on-request", &calls);
}

#[test]
fn under_untrusted_only_programs_of_the_system_run_unasked() {
    let direct = |words: &[&str]| ("shell", json!({ "command": words }));
    let calls = [
        direct(&["./sub/bash", "-c", "ls"]),
        direct(&["sub/bash", "-lc", "ls"]),
        direct(&["./sub/cat", "x"]),
        script("sub/cat x"),
        script("sub/bash -c ls"),
        script("git status"),
        script("cd sub && git status"),
        script("git diff"),
        script("cat x | uniq - ran"),
        script("find . {-delete,}"),
        script("uniq -c - ran"),
    ];
    each_is_asked_about("untrusted", &calls);
}

/// The rules of a home folder.
fn with_rules(rules: &str) -> impl Fn(&Path) {
    let rules = rules.to_owned();
    move |cwd| {
        prepare(cwd);
        let folder = cwd.join("../home/rules");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("default.rules"), &rules).unwrap();
    }
}

#[test]
fn an_approval_in_the_sandbox_is_stored_as_one() {
    let calls = [script("touch made"), script("touch made ../outside")];
    let replies: Vec<_> = (calls.iter().enumerate())
        .map(|(index, (tool, arguments))| {
            sse::items(&[sse::function_call(&format!("c{index}"), tool, arguments)])
        })
        .collect();
    let settings = SETTINGS.replace("POLICY", "untrusted")
        + "[sandbox_workspace_write]\nexclude_slash_tmp = true\nexclude_tmpdir_env_var = true\n";
    let mut proto = Proto::start(&settings, &replies, |_| {});
    proto.submit_text("1", "go");
    proto.wait_for("exec_approval_request");
    let amendment = json!(["touch", "made"]);
    let decision =
        json!({ "approved_execpolicy_amendment": { "proposed_execpolicy_amendment": amendment } });
    let answer = json!({ "type": "exec_approval", "id": "c0", "decision": decision });
    proto.submit("a0", &answer);
    // The second one is not asked about, but for leaving the sandbox that stops it.
    let (asked, _) = proto.wait_past("exec_approval_request");
    assert_eq!(asked["msg"]["call_id"], "c1");
    assert_eq!(
        asked["msg"]["reason"],
        "command failed; retry without sandbox?"
    );
    proto.submit(
        "a1",
        &json!({ "type": "exec_approval", "id": "c1", "decision": "denied" }),
    );
    proto.wait_for("task_complete");
    assert!(proto.cwd().join("made").exists() && !proto.cwd().join("../outside").exists());
    let rules = fs::read_to_string(proto.cwd().join("../home/rules/default.rules")).unwrap();
    assert_eq!(
        rules,
        "prefix_rule(pattern=[\"touch\",\"made\"], decision=\"allow\", \
         justification=\"approved for runs in the sandbox\")\n"
    );
}

#[test]
fn rule_by_name_does_not_unconfine_a_workspace_program() {
    let call = sse::function_call("c0", "shell", &json!({ "command": ["./sub/sleep", "1"] }));
    let settings = SETTINGS.replace("POLICY", "untrusted");
    let rules = "prefix_rule(pattern=[\"sleep\"], decision=\"allow\")\n";
    let mut proto = Proto::start(&settings, &[sse::items(&[call])], with_rules(rules));
    proto.submit_text("1", "go");
    proto.wait_for("exec_approval_request");
    proto.submit(
        "a",
        &json!({ "type": "exec_approval", "id": "c0", "decision": "denied" }),
    );
    proto.wait_for("task_complete");
}
