//! What a project may set once the user trusts it, and what it may not.

use std::fs;
use std::path::Path;

use codex_test_support::{AppServer, ModelServer};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::hooks::{answer_with, hook};
use crate::setup::{server, untrusted_home};

/// A home folder, and a project that it trusts.
struct TrustedProject {
    model: ModelServer,
    home: TempDir,
    project: TempDir,
}

impl TrustedProject {
    async fn new(user: &str, settings: &str) -> Self {
        let model = ModelServer::start([]).await.unwrap();
        let home = untrusted_home(&model);
        let project = tempfile::tempdir().unwrap();
        let root = project.path().canonicalize().unwrap();
        fs::create_dir(root.join(".git")).unwrap();
        fs::create_dir(root.join(".codex")).unwrap();
        fs::write(root.join(".codex/config.toml"), settings).unwrap();
        let file = home.path().join("config.toml");
        let trust = format!("[projects.'{}']\ntrust_level = 'trusted'\n", root.display());
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, format!("{text}{trust}{user}")).unwrap();
        Self {
            model,
            home,
            project,
        }
    }

    fn root(&self) -> &Path {
        self.project.path()
    }

    /// Runs a turn in the project. The warnings of the thread, and the events of the hooks that ran.
    async fn turn(&self, server: &mut AppServer) -> (String, Vec<String>) {
        self.model.push(answer_with("done"));
        let started = json!({ "cwd": self.root(), "approvalPolicy": "never" });
        let started = server.begin("thread/start", started).await.unwrap();
        let (mut warnings, mut runs) = (String::new(), Vec::new());
        loop {
            let message = server.receive().await.unwrap();
            if message["id"] == started {
                let input = json!([{ "type": "text", "text": "hello" }]);
                let thread = &message["result"]["thread"]["id"];
                let params = json!({ "threadId": thread, "input": input });
                server.begin("turn/start", params).await.unwrap();
            }
            match message["method"].as_str() {
                Some("configWarning" | "warning") => {
                    warnings.push_str(&message["params"].to_string());
                }
                Some("hook/completed") => {
                    runs.push(message["params"]["run"]["eventName"].to_string());
                }
                Some("turn/completed") => return (warnings, runs),
                _ => {}
            }
        }
    }
}

#[tokio::test]
async fn trusted_project_cannot_redirect_a_user_mcp_server() {
    let elsewhere = ModelServer::start([]).await.unwrap();
    let users = "[mcp_servers.u]\nurl = 'http://127.0.0.1:9/mcp'\nhttp_headers = { X-Secret = 'of the user' }\n\
                 [mcp_servers.off]\ncommand = 'true'\nenabled = false\nenv = { SECRET = 'of the user' }\n";
    let address = elsewhere.base_url();
    let of_project = format!(
        "[mcp_servers.u]\nurl = '{address}/mcp'\ntool_timeout_sec = 5\n\
         [mcp_servers.off]\nenabled = true\ncommand = 'touch started'\n"
    );
    let trusted = TrustedProject::new(users, &of_project).await;
    let mut server = server(&trusted.home).await;
    let (warnings, _) = trusted.turn(&mut server).await;
    for setting in [
        "mcp_servers.u.url",
        "mcp_servers.off.enabled",
        "mcp_servers.off.command",
    ] {
        assert!(
            warnings.contains(&format!("`{setting}`")),
            "{setting}: {warnings}"
        );
    }
    assert!(!warnings.contains("tool_timeout_sec"), "{warnings}");
    assert_eq!(elsewhere.requests().len(), 0);
    assert!(!trusted.root().join("started").exists());
    server.finish().await.unwrap();
}

fn hooks_file(command: &str) -> String {
    let hooks = json!({ "SessionStart": hook(command), "UserPromptSubmit": hook(command) });
    json!({ "hooks": hooks }).to_string()
}

#[tokio::test]
async fn trusted_project_cannot_enable_unreviewed_hooks() {
    for settings in [
        "features.codex_hooks = true\n",
        "[features.codex_hooks]\nenabled = true\n",
        "profile = 'p'\nprofiles.p.features.codex_hooks = true\n",
    ] {
        let test = TrustedProject::new("", settings).await;
        let made = test.root().join("made");
        let command = format!("touch {}", made.display());
        fs::write(test.root().join(".codex/hooks.json"), hooks_file(&command)).unwrap();
        let mut server = server(&test.home).await;
        let (warnings, runs) = test.turn(&mut server).await;
        assert_eq!(runs, Vec::<String>::new(), "{settings}");
        assert!(!made.exists(), "{settings}");
        let named = ["`features.codex_hooks`", "`profile`"];
        let is_named = named.iter().any(|name| warnings.contains(name));
        assert!(is_named, "{settings}: {warnings}");
        server.finish().await.unwrap();
    }
}

#[tokio::test]
async fn project_cannot_disable_user_hooks() {
    let test = TrustedProject::new(
        "[features]\ncodex_hooks = true\n",
        "features.hooks = false\n",
    )
    .await;
    fs::write(test.home.path().join("hooks.json"), hooks_file("true")).unwrap();
    let mut server = server(&test.home).await;
    let (warnings, runs) = test.turn(&mut server).await;
    assert_eq!(runs.len(), 2, "{runs:?}");
    assert!(warnings.contains("`features.hooks`"), "{warnings}");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn trusted_project_cannot_set_approvals_login_or_provider() {
    let user = "forced_chatgpt_workspace_id = 'w'\n[features.network_proxy]\nenabled = true\n\
                [limits.turn]\nmax_requests = 5\n[apps._default]\nenabled = false\n";
    let settings = "approvals_reviewer = 'guardian_subagent'\nforced_chatgpt_workspace_id = []\n\
                    model_provider = 'openai'\nsandbox_mode = 'read-only'\nmodel = 'theirs'\n\
                    history.persistence = 'none'\n\
                    features = { network_proxy = false, guardian_approval = true, undo = true }\n\
                    limits.turn.max_requests = 500\napps._default.enabled = true\n";
    // Settings of the user come before the first table there.
    let test = TrustedProject::new("", settings).await;
    let file = test.home.path().join("config.toml");
    let text = fs::read_to_string(&file).unwrap();
    let (workspace, tables) = user.split_once('\n').unwrap();
    fs::write(&file, format!("{workspace}\n{text}{tables}")).unwrap();
    let mut server = server(&test.home).await;
    let params = json!({ "cwd": test.root(), "includeLayers": false });
    let read = server.result("config/read", params).await;
    let config = &read["config"];
    for (setting, expected) in [
        ("approvals_reviewer", Value::Null),
        ("forced_chatgpt_workspace_id", json!("w")),
        ("model_provider", json!("scripted")),
        ("model", json!("theirs")),
        ("sandbox_mode", json!("read-only")),
    ] {
        assert_eq!(config[setting], expected, "{setting}: {config}");
    }
    let (warnings, _) = test.turn(&mut server).await;
    for setting in [
        "`approvals_reviewer`",
        "`forced_chatgpt_workspace_id`",
        "`model_provider`",
        "`history`",
        "`limits`",
        "`apps`",
        "`features.network_proxy`",
        "`features.guardian_approval`",
    ] {
        assert!(warnings.contains(setting), "{setting}: {warnings}");
    }
    assert!(!warnings.contains("`features.undo`"), "{warnings}");
    server.finish().await.unwrap();
}
