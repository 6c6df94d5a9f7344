//! What counts before a project is trusted, what an administrator or a variable changes, and how mistakes in
//! files are told.

use std::fs;
use std::path::{Path, PathBuf};

use codex_test_support::{HttpReply, ModelServer, sse};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::setup::{scripted_home, server, server_in, untrusted_home};

const RULES: &str = "prefix_rule(pattern=[\"mkdir\"], decision=\"allow\")\n";

/// A project that allows a command by a rule of its own.
fn project() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    fs::create_dir_all(path.join(".git")).unwrap();
    fs::create_dir_all(path.join(".codex/rules")).unwrap();
    fs::write(path.join(".codex/rules/own.rules"), RULES).unwrap();
    (folder, path)
}

/// Has the model make a folder in a project. True if somebody was asked, and said no.
async fn is_asked(home: &Path, model: &ModelServer, project: &Path) -> bool {
    let call = json!({ "command": "mkdir made" });
    let call = sse::function_call("call-1", "shell_command", &call);
    model.push(HttpReply::stream(&sse::items(&[call])));
    model.push(HttpReply::stream(&sse::text("done")));
    let mut server = server(home).await;
    let thread = server.start_thread_with(json!({ "cwd": project })).await;
    server.start_turn(&thread, "make it").await;
    let mut asked = false;
    loop {
        let message = server.receive().await.unwrap();
        match message["method"].as_str() {
            Some("item/commandExecution/requestApproval") => {
                asked = true;
                let answer = json!({ "id": message["id"], "result": { "decision": "decline" } });
                server.send(&answer).await.unwrap();
            }
            Some("turn/completed") => break,
            _ => {}
        }
    }
    server.finish().await.unwrap();
    asked
}

#[tokio::test]
async fn rules_of_a_project_count_once_it_is_trusted() {
    let model = ModelServer::start([]).await.unwrap();
    let (_folder, project) = project();
    let untrusted = untrusted_home(&model);
    assert!(is_asked(untrusted.path(), &model, &project).await);
    assert!(!project.join("made").exists());
    let trust = format!(
        "approval_policy = \"untrusted\"\n[projects.\"{}\"]\ntrust_level = \"trusted\"",
        project.display()
    );
    let trusted = scripted_home(&model, &trust);
    assert!(!is_asked(trusted.path(), &model, &project).await);
    assert!(project.join("made").exists());
}

#[tokio::test]
async fn rule_errors_are_reported_and_other_files_apply() {
    let model = ModelServer::start([]).await.unwrap();
    let home = untrusted_home(&model);
    let rules = home.path().join("rules");
    fs::create_dir(&rules).unwrap();
    fs::write(rules.join("good.rules"), RULES).unwrap();
    fs::write(rules.join("wrong.rules"), "prefix_rule(pattern=\n").unwrap();
    let mut server = server(&home).await;
    let warning = server.wait_for("configWarning").await.unwrap();
    let params = &warning["params"];
    assert_eq!(
        params["summary"],
        "Error parsing rules; custom rules not applied."
    );
    assert!(
        params["path"].as_str().unwrap().ends_with("wrong.rules"),
        "{params}"
    );
    assert!(params["range"]["start"]["line"].is_u64(), "{params}");
    server.finish().await.unwrap();
    let (_folder, project) = project();
    assert!(!is_asked(home.path(), &model, &project).await);
}

#[tokio::test]
async fn project_rule_errors_are_reported_when_a_thread_opens() {
    let model = ModelServer::start([]).await.unwrap();
    let (_folder, project) = project();
    fs::write(project.join(".codex/rules/own.rules"), "nonsense(\n").unwrap();
    let trust = format!(
        "approval_policy = \"untrusted\"\n[projects.\"{}\"]\ntrust_level = \"trusted\"",
        project.display()
    );
    let home = scripted_home(&model, &trust);
    let mut server = server(&home).await;
    let params = json!({ "cwd": project });
    let started = server.call("thread/start", params).await.unwrap();
    assert!(started["result"]["thread"].is_object(), "{started}");
    let warning = server.wait_for("configWarning").await.unwrap();
    let path = warning["params"]["path"].as_str().unwrap();
    assert!(path.ends_with("own.rules"), "{warning}");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn unusable_file_is_reported_with_its_path() {
    let home = tempfile::tempdir().unwrap();
    fs::write(
        home.path().join("config.toml"),
        "model = \"a\"\nprofile = 7\n",
    )
    .unwrap();
    let mut server = server(&home).await;
    let warning = server.wait_for("configWarning").await.unwrap();
    let params = &warning["params"];
    assert_eq!(params["summary"], "Invalid configuration; using defaults.");
    assert!(
        params["path"].as_str().unwrap().ends_with("config.toml"),
        "{params}"
    );
    assert_eq!(params["range"]["start"]["line"], 2);
    let refused = server.call("thread/start", json!({})).await.unwrap();
    assert_eq!(refused["error"]["code"], -32600);
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(
        message.starts_with("failed to load configuration: "),
        "{message}"
    );
    server.finish().await.unwrap();
}

#[tokio::test]
async fn older_address_variable_gives_a_deprecation_notice() {
    let home = tempfile::tempdir().unwrap();
    let variables = [("OPENAI_BASE_URL", "http://localhost:9/v1")];
    let mut server = server_in(&home, &variables).await;
    let warning = server.wait_for("configWarning").await.unwrap();
    let summary: &Value = &warning["params"]["summary"];
    assert_eq!(
        summary,
        "`OPENAI_BASE_URL` is deprecated. Set `openai_base_url` in config.toml instead."
    );
    server.finish().await.unwrap();
}

#[tokio::test]
async fn unreadable_stored_login_is_reported() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("auth.json"), "no json").unwrap();
    let mut server = server(&home).await;
    let warning = server.wait_for("configWarning").await.unwrap();
    let summary = warning["params"]["summary"].as_str().unwrap();
    assert!(summary.contains("login"), "{warning}");
    let reply = server.call("account/read", json!({})).await.unwrap();
    assert_eq!(reply["result"]["account"], json!(null));
    server.finish().await.unwrap();
}

#[tokio::test]
async fn a_key_in_the_file_of_variables_is_used() {
    let model = ModelServer::start([]).await.unwrap();
    let home = tempfile::tempdir().unwrap();
    let config = format!(
        "model = \"scripted\"\nmodel_provider = \"scripted\"\n[model_providers.scripted]\n\
         name = \"Scripted\"\nbase_url = \"{}\"\nenv_key = \"MY_OWN_KEY\"\n",
        model.base_url()
    );
    fs::write(home.path().join("config.toml"), config).unwrap();
    fs::write(home.path().join(".env"), "MY_OWN_KEY=from-file\n").unwrap();
    model.push(HttpReply::stream(&sse::text("done")));
    let mut server = server_in(&home, &[("MY_OWN_KEY", "from-outside")]).await;
    let started = server.start_thread().await;
    server.run_turn(&started, "hello").await;
    let request = model.request(0).await;
    assert_eq!(request.header("authorization"), Some("Bearer from-file"));
    server.finish().await.unwrap();
}
