//! Which hooks run: those that the user trusts as they are, and those of projects only once the project is trusted too.

use std::fs;

use codex_test_support::{AppServer, ModelServer};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::hooks::{Hooked, answer_with, home_with, hook, runs_command};
use crate::setup::{server, untrusted_home};

fn write(home: &TempDir, path: &str, text: &str) {
    let file = home.path().join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

fn prompt_hook(command: &str) -> String {
    json!({ "hooks": { "UserPromptSubmit": hook(command) } }).to_string()
}

async fn list(server: &mut AppServer) -> Value {
    let reply = server.call("hooks/list", json!({})).await.unwrap();
    reply["result"]["data"][0].clone()
}

/// Trusts all hooks as they are, or writes what `state` returns.
async fn decide(server: &mut AppServer, state: impl Fn(&Value) -> Value) {
    let listed = list(server).await;
    let hooks = listed["hooks"].as_array().unwrap().iter();
    let states = hooks.map(|hook| (hook["key"].as_str().unwrap().to_owned(), state(hook)));
    let states: serde_json::Map<String, Value> = states.collect();
    let edit = json!({ "keyPath": "hooks.state", "value": states, "mergeStrategy": "upsert" });
    let params = json!({ "edits": [edit], "reloadUserConfig": true });
    let written = server.call("config/batchWrite", params).await.unwrap();
    assert_eq!(written["result"]["status"], "ok", "{written}");
}

fn trusted(hook: &Value) -> Value {
    json!({ "trusted_hash": hook["currentHash"] })
}

/// How many hooks run in a turn of a new thread.
async fn runs(hooked: &mut Hooked) -> usize {
    hooked.thread = hooked.server.start_thread().await;
    hooked.model.push(answer_with("done"));
    hooked.turn("hello").await.runs().len()
}

#[tokio::test]
async fn trusted_hook_runs_until_it_changes() {
    let model = ModelServer::start([]).await.unwrap();
    let home = untrusted_home(&model);
    write(&home, "hooks.json", &prompt_hook("echo a"));
    let mut hooked = Hooked::start(model, home).await;
    let status = |listed: &Value| listed["hooks"][0]["trustStatus"].clone();

    assert_eq!(status(&list(&mut hooked.server).await), "untrusted");
    assert_eq!(runs(&mut hooked).await, 0);

    decide(&mut hooked.server, trusted).await;
    let listed = list(&mut hooked.server).await;
    assert_eq!(status(&listed), "trusted");
    assert_eq!(listed["hooks"][0]["enabled"], true);
    assert_eq!(runs(&mut hooked).await, 1);

    decide(&mut hooked.server, |_| json!({ "enabled": false })).await;
    assert_eq!(list(&mut hooked.server).await["hooks"][0]["enabled"], false);
    assert_eq!(runs(&mut hooked).await, 0);
    decide(&mut hooked.server, |_| json!({ "enabled": true })).await;
    assert_eq!(runs(&mut hooked).await, 1);

    write(&hooked.home, "hooks.json", &prompt_hook("echo b"));
    assert_eq!(status(&list(&mut hooked.server).await), "modified");
    assert_eq!(runs(&mut hooked).await, 0);
    hooked.server.finish().await.unwrap();
}

/// How many hooks run in a turn of a thread.
async fn runs_in(hooked: &mut Hooked, thread: &str) -> usize {
    hooked.thread = thread.to_owned();
    let answer = format!("answer {}", hooked.model.requests().len());
    hooked.model.push(answer_with(&answer));
    hooked.turn("hello").await.runs().len()
}

#[tokio::test]
async fn decisions_count_in_open_threads_at_once() {
    let model = ModelServer::start([]).await.unwrap();
    let home = untrusted_home(&model);
    let both = json!({ "hooks": { "UserPromptSubmit": hook("echo a"), "Stop": hook("true") } });
    write(&home, "hooks.json", &both.to_string());
    let mut hooked = Hooked::start(model, home).await;
    let threads = [hooked.thread.clone(), hooked.server.start_thread().await];
    let switched = |enabled: bool| {
        move |hook: &Value| {
            let is_stop = hook["eventName"] == "stop";
            json!({ "trusted_hash": hook["currentHash"], "enabled": enabled || is_stop })
        }
    };
    let file = hooked.home.path().join("config.toml");
    let check = async |hooked: &mut Hooked, expected: usize| {
        for thread in &threads {
            assert_eq!(runs_in(hooked, thread).await, expected);
        }
    };
    check(&mut hooked, 0).await;
    decide(&mut hooked.server, trusted).await;
    check(&mut hooked, 2).await;
    decide(&mut hooked.server, switched(false)).await;
    check(&mut hooked, 1).await;
    decide(&mut hooked.server, switched(true)).await;
    check(&mut hooked, 2).await;
    // By hand, and a file that cannot be read for a moment.
    let before = fs::read_to_string(&file).unwrap();
    fs::write(&file, before.replace("enabled = true", "enabled = false")).unwrap();
    check(&mut hooked, 0).await;
    fs::write(&file, "[").unwrap();
    check(&mut hooked, 0).await;
    fs::write(&file, before.clone() + "[features]\nhooks = false\n").unwrap();
    check(&mut hooked, 0).await;
    fs::write(&file, &before).unwrap();
    check(&mut hooked, 2).await;
    // Hooks that are taken out, of either file.
    let hooks = hooked.home.path().join("hooks.json");
    let one = json!({ "hooks": { "Stop": hook("true") } });
    fs::write(&hooks, one.to_string()).unwrap();
    check(&mut hooked, 1).await;
    fs::remove_file(&hooks).unwrap();
    check(&mut hooked, 0).await;
    fs::write(&hooks, both.to_string()).unwrap();
    check(&mut hooked, 2).await;
    decide(
        &mut hooked.server,
        |_| json!({ "trusted_hash": "sha256:other" }),
    )
    .await;
    check(&mut hooked, 0).await;
    hooked.server.finish().await.unwrap();
}

#[tokio::test]
async fn removed_hook_does_not_run() {
    let model = ModelServer::start([]).await.unwrap();
    let home = untrusted_home(&model);
    let file = home.path().join("config.toml");
    let without = fs::read_to_string(&file).unwrap();
    let table =
        "\n[[hooks.UserPromptSubmit]]\nhooks = [{ type = \"command\", command = \"echo a\" }]\n";
    fs::write(&file, without.clone() + table).unwrap();
    let mut hooked = Hooked::start(model, home).await;
    let thread = hooked.thread.clone();
    decide(&mut hooked.server, trusted).await;
    assert_eq!(runs_in(&mut hooked, &thread).await, 1);
    let decided = fs::read_to_string(&file).unwrap();
    let (before, rest) = decided.split_once("[[hooks.UserPromptSubmit]]").unwrap();
    let (_, after) = rest.split_once("}]\n").unwrap();
    fs::write(&file, format!("{before}{after}")).unwrap();
    assert_eq!(runs_in(&mut hooked, &thread).await, 0);
    fs::write(&file, &decided).unwrap();
    assert_eq!(runs_in(&mut hooked, &thread).await, 1);
    hooked.server.finish().await.unwrap();
}

#[tokio::test]
async fn changed_hook_does_not_run_although_new_hooks_do() {
    let model = ModelServer::start([]).await.unwrap();
    let home = home_with(&model, &json!({ "UserPromptSubmit": hook("echo a") }));
    let mut hooked = Hooked::start(model, home).await;
    assert_eq!(runs(&mut hooked).await, 1);
    decide(&mut hooked.server, trusted).await;
    write(&hooked.home, "hooks.json", &prompt_hook("echo b"));
    assert_eq!(runs(&mut hooked).await, 0);
    hooked.server.finish().await.unwrap();
}

#[tokio::test]
async fn hooks_of_a_project_need_a_trusted_project() {
    let model = ModelServer::start([]).await.unwrap();
    let home = untrusted_home(&model);
    let project = tempfile::tempdir().unwrap();
    fs::create_dir(project.path().join(".git")).unwrap();
    write(&project, ".codex/hooks.json", &prompt_hook("echo a"));
    let cwds = json!({ "cwds": [project.path()] });
    for is_trusted in [false, true] {
        if is_trusted {
            let file = home.path().join("config.toml");
            let root = project.path().canonicalize().unwrap();
            let text = format!(
                "{}[projects.\"{}\"]\ntrust_level = \"trusted\"\n",
                fs::read_to_string(&file).unwrap(),
                root.display()
            );
            fs::write(file, text).unwrap();
        }
        let mut server = server(&home).await;
        let listed = server.call("hooks/list", cwds.clone()).await.unwrap();
        let hooks = listed["result"]["data"][0]["hooks"]
            .as_array()
            .unwrap()
            .clone();
        assert_eq!(hooks.len(), usize::from(is_trusted), "{listed}");
        if let Some(hook) = hooks.first() {
            assert_eq!(hook["source"], "project");
            assert_eq!(hook["trustStatus"], "untrusted");
        }
        server.finish().await.unwrap();
    }
}

#[tokio::test]
async fn a_project_cannot_trust_its_own_hooks() {
    let model = ModelServer::start([]).await.unwrap();
    let home = untrusted_home(&model);
    fs::create_dir(home.path().join(".git")).unwrap();
    let project = tempfile::tempdir().unwrap();
    fs::create_dir(project.path().join(".git")).unwrap();
    write(&project, ".codex/hooks.json", &prompt_hook("echo a"));
    let root = project.path().canonicalize().unwrap();
    let key = format!(
        "{}/.codex/hooks.json:user_prompt_submit:0:0",
        root.display()
    );
    let file = home.path().join("config.toml");
    let text = format!(
        "{}[projects.\"{}\"]\ntrust_level = \"trusted\"\n",
        fs::read_to_string(&file).unwrap(),
        root.display()
    );
    fs::write(file, text).unwrap();
    let mut server = server(&home).await;
    let cwds = json!({ "cwds": [root] });
    let listed = server.call("hooks/list", cwds.clone()).await.unwrap();
    let hash = listed["result"]["data"][0]["hooks"][0]["currentHash"].clone();
    let state = format!("[hooks.state.\"{key}\"]\ntrusted_hash = {hash}\n");
    write(&project, ".codex/config.toml", &state);
    let listed = server.call("hooks/list", cwds).await.unwrap();
    let hook = &listed["result"]["data"][0]["hooks"][0];
    assert_eq!(hook["key"], key);
    assert_eq!(hook["trustStatus"], "untrusted");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn hooks_can_be_defined_in_settings() {
    let model = ModelServer::start([]).await.unwrap();
    let home = untrusted_home(&model);
    let file = home.path().join("config.toml");
    let inline = "[[hooks.UserPromptSubmit]]\n[[hooks.UserPromptSubmit.hooks]]\n\
                  type = \"command\"\ncommand = \"echo INLINE\"\ntimeout = 4\n";
    fs::write(&file, fs::read_to_string(&file).unwrap() + inline).unwrap();
    let mut hooked = Hooked::start(model, home).await;
    let listed = list(&mut hooked.server).await;
    assert_eq!(listed["warnings"], json!([]));
    let hook = &listed["hooks"][0];
    assert!(
        hook["key"]
            .as_str()
            .unwrap()
            .ends_with("config.toml:user_prompt_submit:0:0")
    );
    assert_eq!(hook["timeoutSec"], 4);
    decide(&mut hooked.server, trusted).await;
    assert_eq!(runs(&mut hooked).await, 1);
    assert!(hooked.sent(0).contains("INLINE"));
    hooked.server.finish().await.unwrap();
}

#[tokio::test]
async fn hooks_that_cannot_be_used_are_warned_of() {
    let model = ModelServer::start([]).await.unwrap();
    let home = untrusted_home(&model);
    write(&home, "hooks.json", "{");
    let mut hooked = Hooked::start(model, home).await;
    let listed = list(&mut hooked.server).await;
    let warning = listed["warnings"][0].as_str().unwrap().to_owned();
    assert!(
        warning.starts_with("failed to parse hooks config "),
        "{warning}"
    );
    assert_eq!(listed["hooks"], json!([]));
    let warned = hooked.server.wait_for("warning").await.unwrap();
    assert_eq!(warned["params"]["message"], warning);
    assert_eq!(runs(&mut hooked).await, 0);
    hooked.server.finish().await.unwrap();
}

#[tokio::test]
async fn the_feature_switches_all_hooks_off() {
    let model = ModelServer::start([]).await.unwrap();
    let home = home_with(&model, &json!({ "UserPromptSubmit": hook("echo a") }));
    let file = home.path().join("config.toml");
    fs::write(
        &file,
        fs::read_to_string(&file).unwrap() + "hooks = false\n",
    )
    .unwrap();
    let mut hooked = Hooked::start(model, home).await;
    assert_eq!(list(&mut hooked.server).await["hooks"], json!([]));
    assert_eq!(runs(&mut hooked).await, 0);
    hooked.server.finish().await.unwrap();
}

#[tokio::test]
async fn replaced_arguments_need_the_approval_that_they_need_anyway() {
    let output = json!({ "hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": "allow",
        "updatedInput": { "command": "touch made" },
    } });
    let hooks = json!({ "PreToolUse": hook(&format!("cat > /dev/null; echo '{output}'")) });
    let replies = [runs_command("echo asked"), answer_with("done")];
    let mut hooked = Hooked::with_hooks(hooks, replies).await;
    hooked.server.start_turn(&hooked.thread, "hello").await;
    let messages = hooked.until("item/commandExecution/requestApproval").await;
    let question = messages.messages.last().unwrap();
    let command = question["params"]["command"].as_str().unwrap();
    assert!(command.contains("touch made"), "{command}");
    let answer = json!({ "id": question["id"], "result": { "decision": "decline" } });
    hooked.server.send(&answer).await.unwrap();
    hooked.until("turn/completed").await;
    assert!(!hooked.home.path().join("made").exists());
    hooked.finish().await;
}
