//! Hooks of plugins through the built server: listed, trusted, run, and distrusted when the plugin changes.

use std::fs;

use codex_test_support::{AppServer, ModelServer};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::mcp_servers::text_reply;
use crate::plugin_folders::MarketplaceFolder;
use crate::setup::{experimental_server, scripted_home};

const KEY: &str = "demo@team:hooks/hooks.json:user_prompt_submit:0:0";

/// A home, and a marketplace with a plugin whose hook says what its script has.
fn home_with_plugin(model: &ModelServer) -> (TempDir, MarketplaceFolder) {
    let home = scripted_home(model, "");
    let mut team = MarketplaceFolder::new(&home.path().join("team"), "team");
    team.add("demo", &json!({ "name": "demo" }), &json!({}));
    let hook = json!({ "type": "command", "command": ". '${PLUGIN_ROOT}/context.sh'" });
    let hooks = json!({ "hooks": { "UserPromptSubmit": [{ "hooks": [hook] }] } });
    team.write("demo", "hooks/hooks.json", &hooks.to_string());
    let script = "echo FIRST_CONTEXT; echo in \"$CLAUDE_PLUGIN_ROOT\"; touch \"$PLUGIN_DATA/ran\"";
    team.write("demo", "context.sh", script);
    (home, team)
}

async fn hooks(server: &mut AppServer) -> Vec<Value> {
    let list = server.result("hooks/list", json!({})).await;
    list["data"][0]["hooks"].as_array().unwrap().clone()
}

/// The request of a turn in a new thread.
async fn asked(server: &mut AppServer, model: &ModelServer) -> String {
    let thread = server.start_thread().await;
    server.run_turn(&thread, "hello").await;
    let requests = model.requests();
    requests.last().unwrap().json()["input"].to_string()
}

#[tokio::test]
async fn plugin_hook_runs_while_its_trusted_content_is_unchanged() {
    let replies = ["one", "two", "three", "four"].map(text_reply);
    let model = ModelServer::start(replies).await.unwrap();
    let (home, team) = home_with_plugin(&model);
    let mut server = experimental_server(&home).await;
    let read = server.result("plugin/read", team.params("demo")).await;
    let expected = json!([{ "key": KEY, "eventName": "userPromptSubmit" }]);
    assert_eq!(read["plugin"]["hooks"], expected);
    assert_eq!(hooks(&mut server).await, Vec::<Value>::new());

    server.result("plugin/install", team.params("demo")).await;
    let root = home.path().join("plugins/cache/team/demo/local");
    let root = root.canonicalize().unwrap();
    let hook = hooks(&mut server).await.remove(0);
    assert_eq!(hook["key"], KEY);
    assert_eq!(hook["pluginId"], "demo@team");
    assert_eq!(hook["source"], "plugin");
    assert_eq!(hook["trustStatus"], "untrusted");
    let command = hook["command"].as_str().unwrap();
    assert_eq!(command, format!(". '{}/context.sh'", root.display()));
    let input = asked(&mut server, &model).await;
    assert!(
        !input.contains("FIRST_CONTEXT"),
        "nobody trusted the hook: {input}"
    );

    let hash = hook["currentHash"].as_str().unwrap();
    let file = home.path().join("config.toml");
    let trust = format!("[hooks.state.\"{KEY}\"]\ntrusted_hash = \"{hash}\"\n");
    fs::write(&file, fs::read_to_string(&file).unwrap() + &trust).unwrap();
    let input = asked(&mut server, &model).await;
    assert!(input.contains("FIRST_CONTEXT"), "{input}");
    assert!(input.contains(&format!("in {}", root.display())), "{input}");
    assert!(home.path().join("plugins/data/demo@team/ran").exists());

    team.write("demo", "context.sh", "echo SECOND_CONTEXT");
    server.result("plugin/install", team.params("demo")).await;
    assert_eq!(hooks(&mut server).await[0]["trustStatus"], "modified");
    let input = asked(&mut server, &model).await;
    assert!(
        !input.contains("SECOND_CONTEXT"),
        "its script has changed: {input}"
    );

    let id = json!({ "pluginId": "demo@team" });
    server.result("plugin/uninstall", id).await;
    assert_eq!(hooks(&mut server).await, Vec::<Value>::new());
    let input = asked(&mut server, &model).await;
    assert!(!input.contains("SECOND_CONTEXT"), "{input}");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn hooks_in_a_manifest_count_like_those_in_files() {
    let model = ModelServer::start([text_reply("done")]).await.unwrap();
    let home = scripted_home(&model, "[features]\ncodex_hooks = true\n");
    let mut team = MarketplaceFolder::new(&home.path().join("team"), "team");
    let hook = json!({ "type": "command", "command": "echo INLINE_CONTEXT" });
    let table = json!({ "hooks": { "UserPromptSubmit": [{ "hooks": [hook] }] } });
    let wrong = json!({ "hooks": { "Stop": 3 } });
    let manifest = json!({ "name": "demo", "hooks": [wrong, table] });
    team.add("demo", &manifest, &json!({}));
    let mut server = experimental_server(&home).await;
    let read = server.result("plugin/read", team.params("demo")).await;
    let key = "demo@team:plugin.json#hooks[1]:user_prompt_submit:0:0";
    let expected = json!([{ "key": key, "eventName": "userPromptSubmit" }]);
    assert_eq!(read["plugin"]["hooks"], expected);
    server.result("plugin/install", team.params("demo")).await;
    let list = server.result("hooks/list", json!({})).await;
    let of_home = &list["data"][0];
    assert_eq!(of_home["hooks"][0]["key"], key);
    let path = of_home["hooks"][0]["sourcePath"].as_str().unwrap();
    assert!(
        path.ends_with("demo/local/.codex-plugin/plugin.json"),
        "{path}"
    );
    let warnings = of_home["warnings"].to_string();
    assert!(
        warnings.contains("failed to parse hooks config"),
        "{warnings}"
    );
    let input = asked(&mut server, &model).await;
    assert!(input.contains("INLINE_CONTEXT"), "{input}");
    server.finish().await.unwrap();
}
