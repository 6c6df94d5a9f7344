//! Named permissions: what they grant to commands, where they are configured, and how clients are shown them.

use std::fs;
use std::path::Path;

use codex_test_support::{AppServer, HttpReply, ModelServer, ReceivedRequest, sse};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::setup::{PROGRAM, home_with, numbered, scripted_config};

/// A home folder, a project and another folder, next to each other.
struct PermissionTest {
    top: TempDir,
    home: TempDir,
    model: ModelServer,
}

impl PermissionTest {
    /// The settings end with tables. `@` stands for the folder around the project.
    async fn with_settings(top_settings: &str, tables: &str) -> Self {
        // Not in a temporary folder, which some permissions grant.
        let top = tempfile::tempdir_in("/var/tmp").unwrap();
        for folder in ["project/sub", "project/secret", "other", "other/sub"] {
            fs::create_dir_all(top.path().join(folder)).unwrap();
        }
        fs::write(top.path().join("project/secret/key"), "hidden-text").unwrap();
        let model = ModelServer::start([]).await.unwrap();
        let settings = format!("approval_policy = \"never\"\n{top_settings}");
        let config = scripted_config(&model, &settings) + tables;
        let config = config.replace('@', top.path().to_str().unwrap());
        Self {
            home: home_with(&config),
            top,
            model,
        }
    }

    fn path(&self, path: &str) -> String {
        self.top.path().join(path).display().to_string()
    }

    fn trust(&self, settings: &str) {
        let project = self.top.path().join("project");
        fs::create_dir(project.join(".codex")).unwrap();
        let settings = settings.replace('@', self.top.path().to_str().unwrap());
        fs::write(project.join(".codex/config.toml"), settings).unwrap();
        let file = self.home.path().join("config.toml");
        let trust = format!(
            "[projects.'{}']\ntrust_level = 'trusted'\n",
            project.display()
        );
        fs::write(&file, fs::read_to_string(&file).unwrap() + &trust).unwrap();
    }

    async fn server(&self, client: Value) -> AppServer {
        let mut server = AppServer::start(PROGRAM, self.home.path()).unwrap();
        let capabilities = json!({ "experimentalApi": true });
        let params = json!({ "clientInfo": client, "capabilities": capabilities });
        server.result("initialize", params).await;
        server
    }

    async fn start(&self, server: &mut AppServer, more: Value) -> Value {
        let mut params = json!({ "cwd": self.path("project") });
        params
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        server.result("thread/start", params).await
    }

    /// Runs a turn in which the model tries these scripts, and returns those that worked.
    async fn worked(
        &self,
        server: &mut AppServer,
        thread: &Value,
        scripts: &[&str],
        more: Value,
    ) -> Vec<String> {
        let tries = scripts.iter().enumerate().map(|(index, script)| {
            let script = script.replace('@', self.top.path().to_str().unwrap());
            format!("({script}) >/dev/null 2>&1 && echo worked-{index}-")
        });
        let script = tries.collect::<Vec<_>>().join("; ");
        let id = format!("call_{}", self.model.requests().len());
        let call = sse::function_call(&id, "shell_command", &json!({ "command": script }));
        self.model
            .push(HttpReply::stream(&numbered(sse::items(&[call]))));
        self.model
            .push(HttpReply::stream(&numbered(sse::text("done"))));
        let input = json!([{ "type": "text", "text": "go" }]);
        let mut params = json!({ "threadId": thread["thread"]["id"], "input": input });
        params
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        server.result("turn/start", params).await;
        server.completed_turn().await;
        let last = self
            .model
            .requests()
            .last()
            .map(ReceivedRequest::json)
            .unwrap();
        let items = last["input"].as_array().unwrap().iter().rev();
        let mut outputs = items.filter(|item| item["type"] == "function_call_output");
        let output = outputs.next().unwrap()["output"].to_string();
        let worked = scripts.iter().enumerate();
        let worked = worked.filter(|(index, _)| output.contains(&format!("worked-{index}-")));
        worked.map(|(_, script)| (*script).to_owned()).collect()
    }
}

fn older() -> Value {
    json!({ "name": "tests", "version": "1" })
}

fn newer() -> Value {
    json!({ "name": "codex-tui", "version": "0.171.0" })
}

const IN_PROJECT: &str = "touch new";
const IN_SUB: &str = "touch sub/new";
const IN_SECRET: &str = "touch secret/new";
const OF_SECRET: &str = "cat secret/key";
const MOVED_SECRET: &str = "mv secret moved && cat moved/key";
const IN_OTHER: &str = "touch @/other/new";
const IN_OTHER_SUB: &str = "touch @/other/sub/new";
const IN_GIT: &str = "mkdir .git";
const IN_TMP: &str = "f=$(mktemp /tmp/x.XXXXXX) && rm $f";
const ALL: [&str; 9] = [
    IN_PROJECT,
    IN_SUB,
    IN_SECRET,
    OF_SECRET,
    MOVED_SECRET,
    IN_OTHER,
    IN_OTHER_SUB,
    IN_GIT,
    IN_TMP,
];

/// Settings of permissions, and what works with them.
const GRANTS: &[(&str, &[&str])] = &[
    (
        "filesystem = { ':root' = 'read', ':workspace_roots' = 'write' }",
        &[IN_PROJECT, IN_SUB, IN_SECRET, OF_SECRET, MOVED_SECRET],
    ),
    (
        "filesystem = { ':root' = 'read', ':workspace_roots' = 'write', ':slash_tmp' = 'write' }",
        &[
            IN_PROJECT,
            IN_SUB,
            IN_SECRET,
            OF_SECRET,
            MOVED_SECRET,
            IN_TMP,
        ],
    ),
    (
        "filesystem = { ':minimal' = 'read', ':workspace_roots' = { '.' = 'write', 'sub' = 'read' } }",
        &[IN_PROJECT, IN_SECRET, OF_SECRET, MOVED_SECRET],
    ),
    (
        "filesystem = { ':root' = 'read', ':workspace_roots' = { '.' = 'write', 'secret' = 'deny' } }",
        &[IN_PROJECT, IN_SUB],
    ),
    (
        "filesystem = { ':root' = 'read', ':workspace_roots' = { '.' = 'read', 'secret' = 'none' } }",
        &[],
    ),
    (
        "extends = ':workspace'\nfilesystem = { '@/project/secret' = 'deny', '@/project/sub' = 'read' }",
        &[IN_PROJECT, IN_TMP],
    ),
    (
        "extends = ':workspace'\nworkspace_roots = { '@/other' = true }\n\
         filesystem = { ':workspace_roots' = { '.' = 'write', 'sub' = 'read' } }",
        &[
            IN_PROJECT,
            IN_SECRET,
            OF_SECRET,
            MOVED_SECRET,
            IN_OTHER,
            IN_TMP,
        ],
    ),
    (
        "extends = ':workspace'\nworkspace_roots = { '@/other' = false }",
        &[
            IN_PROJECT,
            IN_SUB,
            IN_SECRET,
            OF_SECRET,
            MOVED_SECRET,
            IN_TMP,
        ],
    ),
];

#[tokio::test]
async fn current_permission_names_grant_exactly_their_rights() {
    for (settings, expected) in GRANTS {
        let tables = format!("[permissions.p]\n{settings}\n");
        let folders = PermissionTest::with_settings("default_permissions = \"p\"", &tables).await;
        let mut server = folders.server(older()).await;
        let thread = folders.start(&mut server, json!({})).await;
        assert_eq!(thread["activePermissionProfile"]["id"], "p");
        let worked = folders.worked(&mut server, &thread, &ALL, json!({})).await;
        assert_eq!(worked, *expected, "{settings}");
        server.finish().await.unwrap();
    }
}

#[tokio::test]
async fn permissions_that_cannot_be_enforced_are_refused() {
    let tables =
        "[permissions.p.filesystem.':workspace_roots']\n'.' = 'write'\n'**/*.env' = 'deny'\n";
    let folders = PermissionTest::with_settings("default_permissions = \"p\"", tables).await;
    let mut server = folders.server(older()).await;
    let params = json!({ "cwd": folders.path("project") });
    let (_, message) = server.refusal("thread/start", params).await;
    assert!(message.contains("the pattern `**/*.env`"), "{message}");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn trusted_project_permissions_are_granted() {
    let project = "default_permissions = 'p'\n[permissions.p]\nextends = ':workspace'\n\
                   workspace_roots = { '../other' = true }\n\
                   [permissions.q]\nextends = ':read-only'\n";
    let expected = [IN_PROJECT, IN_OTHER];
    let tries = [IN_PROJECT, IN_OTHER, IN_GIT];
    let folders = PermissionTest::with_settings("", "").await;
    folders.trust(project);
    let mut server = folders.server(older()).await;
    // By default, by the request, and by a turn that also goes to the project.
    let thread = folders.start(&mut server, json!({})).await;
    assert_eq!(
        folders
            .worked(&mut server, &thread, &tries, json!({}))
            .await,
        expected
    );
    let named = json!({ "permissions": "q" });
    let thread = folders.start(&mut server, named).await;
    assert!(
        folders
            .worked(&mut server, &thread, &tries, json!({}))
            .await
            .is_empty()
    );
    let elsewhere = json!({ "cwd": folders.path("other"), "sandbox": "read-only" });
    let thread = folders.start(&mut server, elsewhere).await;
    let moved = json!({ "cwd": folders.path("project"), "permissions": "p" });
    assert_eq!(
        folders.worked(&mut server, &thread, &tries, moved).await,
        expected
    );
    let command = json!(["/bin/sh", "-c", "touch exec-new ../other/exec-new"]);
    let params =
        json!({ "command": command, "cwd": folders.path("project"), "permissionProfile": "p" });
    let result = server.result("command/exec", params).await;
    assert_eq!(result["exitCode"], 0, "{result}");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn untrusted_project_has_no_permissions() {
    let folders = PermissionTest::with_settings("", "").await;
    let project = Path::new(&folders.path("project")).join(".codex");
    fs::create_dir(&project).unwrap();
    let settings = "default_permissions = 'p'\n[permissions.p]\nextends = ':danger-full-access'\n";
    fs::write(project.join("config.toml"), settings).unwrap();
    let mut server = folders.server(older()).await;
    let thread = folders.start(&mut server, json!({})).await;
    assert_eq!(thread["sandbox"]["type"], "readOnly", "{thread}");
    let params = json!({ "cwd": folders.path("project"), "permissions": "p" });
    let (_, message) = server.refusal("thread/start", params).await;
    assert!(
        message.contains("requires a `[permissions]` table"),
        "{message}"
    );
    server.finish().await.unwrap();
}

/// Whether a policy as clients are shown it limits what may be read.
fn limits_reading(policy: &Value) -> bool {
    [&policy["access"], &policy["readOnlyAccess"]]
        .iter()
        .any(|access| access["type"] == "restricted")
}

#[tokio::test]
async fn newer_clients_cannot_lift_hidden_read_limits() {
    let tables = "[permissions.p.filesystem]\n':root' = 'read'\n\
                  ':workspace_roots' = { '.' = 'write', 'secret' = 'deny' }\n\
                  [permissions.q.filesystem]\n':minimal' = 'read'\n':workspace_roots' = 'read'\n";
    for client in [older(), newer()] {
        for name in ["p", "q"] {
            let folders =
                PermissionTest::with_settings("default_permissions = \":read-only\"", tables).await;
            let mut server = folders.server(client.clone()).await;
            let thread = folders
                .start(&mut server, json!({ "permissions": name }))
                .await;
            let shown = thread["sandbox"].clone();
            assert!(!limits_reading(&shown), "{shown}");
            // The client sends back what it was shown.
            let more = json!({ "sandboxPolicy": shown });
            let secrets = [OF_SECRET, "cat @/other/../project/secret/key"];
            let worked = folders.worked(&mut server, &thread, &secrets, more).await;
            assert_eq!(
                worked.is_empty(),
                name == "p",
                "{client} {name}: {worked:?}"
            );
            let outside = ["ls @/other"];
            let worked = folders
                .worked(&mut server, &thread, &outside, json!({}))
                .await;
            assert_eq!(
                worked.is_empty(),
                name == "q",
                "{client} {name}: {worked:?}"
            );
            let params = json!({ "threadId": thread["thread"]["id"] });
            let resumed = server.result("thread/resume", params).await;
            assert_eq!(resumed["activePermissionProfile"]["id"], name);
            assert!(!limits_reading(&resumed["sandbox"]), "{resumed}");
            // Other permissions are given by name.
            let all = json!({ "permissions": ":workspace" });
            let worked = folders
                .worked(&mut server, &thread, &[OF_SECRET], all)
                .await;
            assert_eq!(worked, [OF_SECRET]);
            server.finish().await.unwrap();
        }
    }
}

#[tokio::test]
async fn permissions_hold_after_resume_elsewhere() {
    let tables = "[permissions.p.filesystem]\n':root' = 'read'\n\
                  ':workspace_roots' = { '.' = 'write', 'secret' = 'deny', 'sub' = 'read' }\n";
    let folders =
        PermissionTest::with_settings("default_permissions = \":read-only\"", tables).await;
    let mut server = folders.server(newer()).await;
    let thread = folders
        .start(&mut server, json!({ "permissions": "p" }))
        .await;
    let tries = [IN_PROJECT, IN_SUB, OF_SECRET];
    assert_eq!(
        folders
            .worked(&mut server, &thread, &tries, json!({}))
            .await,
        [IN_PROJECT]
    );
    server.finish().await.unwrap();
    let mut server = folders.server(newer()).await;
    let params = json!({ "threadId": thread["thread"]["id"] });
    let resumed = server.result("thread/resume", params).await;
    assert_eq!(resumed["activePermissionProfile"]["id"], "p", "{resumed}");
    assert_eq!(
        folders
            .worked(&mut server, &thread, &tries, json!({}))
            .await,
        [IN_PROJECT]
    );
    server.finish().await.unwrap();
}
