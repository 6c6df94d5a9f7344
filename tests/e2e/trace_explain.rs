//! `codex debug trace-explain`: a planted fault is found with its reason, and a good session is left alone.

use std::fs;
use std::path::Path;

use codex_test_support::{HttpReply, ModelServer, sse};
use serde_json::{Value, json};

use crate::codex;
use crate::hooks::{answer_with, home_with, hook, runs_command};
use crate::setup::server_in;
use crate::trace_record::{Traced, bundles, message_item, response};
use crate::trace_replay::recorded;

fn findings(bundle: &Path) -> Vec<Value> {
    let output = codex(&["debug", "trace-explain", "--json", bundle.to_str().unwrap()]);
    let printed = String::from_utf8(output.stdout).unwrap();
    let found: Vec<Value> = serde_json::from_str(&printed).unwrap();
    let status = i32::from(!found.is_empty());
    assert_eq!(output.status.code(), Some(status), "{printed}");
    found
}

/// The findings of a session with these calls and this last answer.
async fn session(params: Value, calls: &[Value], answer: &str) -> Vec<Value> {
    let mut replies: Vec<Vec<Value>> = (calls.iter().enumerate())
        .map(|(number, arguments)| {
            let call = format!("c{number}");
            response(&[sse::function_call(&call, "exec_command", arguments)])
        })
        .collect();
    replies.push(response(&[message_item(answer)]));
    let mut traced = Traced::start(&replies).await;
    let thread = traced.server.start_thread_with(params).await;
    traced.turn(&thread).await;
    let (bundles, _home) = traced.finish().await;
    findings(&bundles[&thread].0)
}

#[track_caller]
fn check(found: &[Value], kind: &str, call: &str, why: &str) {
    let finding = found.iter().find(|finding| finding["kind"] == kind);
    let finding = finding.unwrap_or_else(|| panic!("no {kind}: {found:?}"));
    assert_eq!(finding["object"], call, "{finding}");
    let reason = finding["why"].as_str().unwrap();
    assert!(reason.contains(why), "{reason}");
}

#[test]
fn successful_sessions_have_no_findings() {
    for scenario in [
        "approve-patch.toml",
        "ask-for-more.toml",
        "ask-the-person.toml",
        "hello.toml",
        "parallel-commands.toml",
        "tour.toml",
    ] {
        let (bundle, _folder) = recorded(scenario);
        assert_eq!(findings(&bundle), Vec::<Value>::new(), "{scenario}");
    }
}

#[tokio::test]
async fn command_in_a_folder_that_nobody_named_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("old-copy");
    fs::create_dir(&copy).unwrap();
    let calls = [
        json!({ "cmd": "true" }),
        json!({ "cmd": "true", "workdir": copy }),
    ];
    let found = session(json!({ "cwd": folder.path() }), &calls, "Done.").await;
    check(&found, "other_folder", "c1", "it ran in old-copy");
    assert_eq!(found.len(), 1, "{found:?}");
}

#[tokio::test]
async fn line_that_the_model_did_not_see_is_found() {
    let script = "seq 1 3000; echo 'WARNING: only half of the rows were imported'; seq 1 3000";
    let calls = [json!({ "cmd": script, "max_output_tokens": 200 })];
    let found = session(json!({}), &calls, "Done.").await;
    check(&found, "output_cut", "c0", "only half of the rows");
}

#[tokio::test]
async fn sandbox_denial_is_found_for_any_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let params = json!({ "cwd": folder.path(), "sandbox": "read-only" });
    let calls = [json!({ "cmd": "touch new.txt || true" })];
    let found = session(params, &calls, "The disk is full.").await;
    check(&found, "sandbox_denial", "c0", "touch");
}

#[tokio::test]
async fn claims_after_a_failure_and_loops_are_found() {
    let test = json!({ "cmd": "echo '2 failed'; exit 1" });
    let found = session(json!({}), &[test], "All tests pass.").await;
    check(&found, "claim_after_failure", "c0", "All tests pass");
    let look = json!({ "cmd": "echo waiting" });
    let found = session(json!({}), &vec![look; 4], "Done.").await;
    check(&found, "loop", "c0", "4 times");
}

/// The findings of a session that is compacted between two calls.
async fn compacted_between(folder: &Path, input: &str, before: &str, after: &str) -> Vec<Value> {
    let exec = |call, cmd: &str| {
        response(&[sse::function_call(
            call,
            "exec_command",
            &json!({ "cmd": cmd }),
        )])
    };
    let replies = [
        exec("c1", before),
        response(&[message_item("I have seen it.")]),
        response(&[message_item("The work goes on.")]),
        exec("c2", after),
        response(&[message_item("Done.")]),
    ];
    let mut traced = Traced::start(&replies).await;
    let thread = traced
        .server
        .start_thread_with(json!({ "cwd": folder }))
        .await;
    for text in [Some(input), None, Some("go on")] {
        let (method, params) = match text {
            Some(text) => (
                "turn/start",
                json!({ "threadId": thread, "input": [{ "type": "text", "text": text }] }),
            ),
            None => ("thread/compact/start", json!({ "threadId": thread })),
        };
        traced.server.call(method, params).await.unwrap();
        traced.server.wait_for("turn/completed").await.unwrap();
    }
    let (bundles, _home) = traced.finish().await;
    findings(&bundles[&thread].0)
}

#[tokio::test]
async fn content_left_out_by_compaction_is_found() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("db")).unwrap();
    let rule = "Never edit db/schema_v2.sql by hand. Use the generator.";
    fs::write(folder.path().join("rules.md"), rule).unwrap();
    fs::write(folder.path().join("db/schema_v2.sql"), "a").unwrap();
    fs::write(folder.path().join("settings.ini"), "port = 8431").unwrap();
    let found = compacted_between(
        folder.path(),
        "Read the rules.",
        "cat rules.md",
        "sed -i s/a/b/ db/schema_v2.sql",
    )
    .await;
    let finding = found
        .iter()
        .find(|finding| finding["kind"] == "dropped_by_compaction");
    let finding = finding.unwrap_or_else(|| panic!("{found:?}"));
    assert!(finding["what"].as_str().unwrap().contains("Never edit"));
    let overwrite = "echo port = 80 > settings.ini";
    let found =
        compacted_between(folder.path(), "Look at it.", "cat settings.ini", overwrite).await;
    assert_eq!(found[0]["what"], "what settings.ini holds", "{found:?}");
    // Whoever looks again knows.
    let look = format!("cat settings.ini; {overwrite}");
    let found = compacted_between(folder.path(), "Look at it.", "echo nothing", &look).await;
    assert_eq!(found, Vec::<Value>::new());
}

#[tokio::test]
async fn stale_file_reads_of_agents_are_found() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("totals.csv"), "old\n").unwrap();
    let exec = |call, cmd: &str| {
        HttpReply::stream(&response(&[sse::function_call(
            call,
            "exec_command",
            &json!({ "cmd": cmd }),
        )]))
    };
    let spawn = sse::function_call("s1", "spawn_agent", &json!({ "message": "add them up" }));
    let mut traced = Traced::start(&[response(&[spawn])]).await;
    let write = "while [ ! -e read.flag ]; do :; done; echo new > totals.csv; touch written.flag";
    traced.model.push(exec("c1", write));
    traced.model.push(answer_with("The import is done."));
    let read = "cat totals.csv; touch read.flag; while [ ! -e written.flag ]; do :; done";
    traced.model.push_for_agent(exec("a1", read));
    traced.model.push_for_agent(answer_with("The sum is old."));
    let params = json!({ "cwd": folder.path() });
    let thread = traced.server.start_thread_with(params).await;
    traced.begin(&thread).await;
    for _ in 0..2 {
        traced.server.wait_for("turn/completed").await.unwrap();
    }
    let (bundles, _home) = traced.finish().await;
    let found = findings(&bundles[&thread].0);
    check(&found, "stale_read", "a1", "totals.csv");
}

#[tokio::test]
async fn explanation_lists_effective_hooks_and_counts_others() {
    let changed = json!({ "hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": "allow",
        "updatedInput": { "command": "echo replaced" },
    } });
    let quiet = "cat > /dev/null";
    let commands = [
        ("echo no touching >&2; exit 2".to_owned(), "no touching"),
        (
            format!("cat > /dev/null; echo '{changed}'"),
            "other arguments than the model gave it",
        ),
        (quiet.to_owned(), ""),
    ];
    for (command, why) in commands {
        let replies = [runs_command("echo asked"), answer_with("done")];
        let model = ModelServer::start(replies).await.unwrap();
        let home = home_with(
            &model,
            &json!({ "PreToolUse": hook(&command), "PostToolUse": hook(quiet) }),
        );
        let root = home.path().join("deep/traces");
        let mut server = server_in(
            &home,
            &[("CODEX_ROLLOUT_TRACE_ROOT", root.to_str().unwrap())],
        )
        .await;
        let params = json!({ "approvalPolicy": "never", "sandbox": "danger-full-access" });
        let thread = server.start_thread_with(params).await;
        server.start_turn(&thread, "hello").await;
        server.wait_for("turn/completed").await.unwrap();
        server.finish().await.unwrap();
        let bundle = &bundles(home.path())[&thread].0;
        let found = findings(bundle);
        if why.is_empty() {
            assert_eq!(found, Vec::<Value>::new());
            let page = crate::trace_page::TracePage::render(bundle).text();
            assert!(page.contains("2 hooks ran and changed nothing"), "{page}");
            continue;
        }
        let is_hook = |finding: &&Value| finding["kind"] == "hook";
        let finding = found.iter().find(is_hook);
        let finding = finding.unwrap_or_else(|| panic!("{command}: {found:?}"));
        assert!(finding["why"].as_str().unwrap().contains(why), "{finding}");
        let page = crate::trace_page::TracePage::render(bundle).text();
        let (top, _) = page.split_once("What happened").unwrap();
        assert!(top.contains(why), "in the box at the top: {page}");
    }
}
