//! Plugins that a thread has switched off.

use codex_test_support::{AppServer, ModelServer};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::app_search::names;
use crate::mcp_process::behaviour_of;
use crate::mcp_servers::text_reply;
use crate::plugin_folders::MarketplaceFolder;
use crate::setup::{experimental_server, scripted_home};

const DISABLED_PLUGIN: &str = "two@team";

/// A server with two installed plugins, each with a skill and an MCP server.
async fn two_plugins(model: &ModelServer) -> (TempDir, AppServer) {
    let home = scripted_home(model, "approval_policy = \"never\"");
    let mut team = MarketplaceFolder::new(&home.path().join("team"), "team");
    let mut server = experimental_server(&home).await;
    for name in ["one", "two"] {
        let servers = json!({ name: behaviour_of(&json!({})) });
        team.add(
            name,
            &json!({ "name": name, "mcpServers": servers }),
            &json!({}),
        );
        team.skill(name, "hi", &format!("The text of {name}."));
        server.result("plugin/install", team.params(name)).await;
    }
    (home, server)
}

async fn run_without(server: &mut AppServer, thread: &str, text: &str, off: Option<&[&str]>) {
    let mut params = json!({
        "threadId": thread, "input": [{ "type": "text", "text": text }],
    });
    if let Some(off) = off {
        params["disabledPluginIds"] = json!(off);
    }
    server.result("turn/start", params).await;
    let ended = server.completed_turn().await;
    assert_eq!(ended["status"], "completed", "{ended}");
}

/// Which servers of plugins a request has tools of.
fn servers(model: &ModelServer, request: usize) -> Vec<&'static str> {
    let names = names(&model.requests()[request].json());
    let has = |server: &&str| {
        let start = format!("mcp__{server}__");
        names.iter().any(|name| name.starts_with(&start))
    };
    ["one", "two"].into_iter().filter(has).collect()
}

/// What a request has that the one before it had not, as text.
fn added(model: &ModelServer, request: usize) -> String {
    let input = |at: usize| {
        model.requests()[at].json()["input"]
            .as_array()
            .unwrap()
            .clone()
    };
    json!(input(request)[input(request - 1).len()..]).to_string()
}

#[tokio::test]
async fn disabled_plugin_contributes_nothing() {
    let replies = ["1", "2", "3", "4", "5", "6"].map(text_reply);
    let model = ModelServer::start(replies).await.unwrap();
    let (home, mut server) = two_plugins(&model).await;
    let thread = server.start_thread().await;
    run_without(&mut server, &thread, "hello", None).await;
    assert_eq!(servers(&model, 0), ["one", "two"]);
    let mention = "$two:hi [@Two](plugin://two@team) $one:hi";
    run_without(&mut server, &thread, mention, Some(&[DISABLED_PLUGIN])).await;
    assert_eq!(servers(&model, 1), ["one"]);
    let second = added(&model, 1);
    for present in ["- one:hi: about hi", "The text of one."] {
        assert!(second.contains(present), "{present}: {second}");
    }
    for absent in ["- two:hi", "The text of two.", "The user mentions"] {
        assert!(!second.contains(absent), "{absent}: {second}");
    }
    run_without(&mut server, &thread, "again", None).await;
    assert_eq!(servers(&model, 2), ["one"]);
    assert!(
        !added(&model, 2).contains("skills_instructions"),
        "nothing has changed"
    );
    let fork = server
        .result("thread/fork", json!({ "threadId": thread }))
        .await;
    assert_eq!(fork["disabledPluginIds"], json!([DISABLED_PLUGIN]));
    server.finish().await.unwrap();

    let mut server = experimental_server(&home).await;
    let resume = json!({ "threadId": thread });
    let resumed = server.result("thread/resume", resume).await;
    assert_eq!(resumed["disabledPluginIds"], json!([DISABLED_PLUGIN]));
    run_without(&mut server, &thread, "again", None).await;
    assert_eq!(servers(&model, 3), ["one"]);
    let update = |ids: Value| json!({ "threadId": thread, "disabledPluginIds": ids });
    let all = update(json!(["one@team", DISABLED_PLUGIN, "no id"]));
    server.result("thread/settings/update", all).await;
    let updated = server.wait_for("thread/settings/updated").await.unwrap();
    let off = &updated["params"]["threadSettings"]["disabledPluginIds"];
    assert_eq!(*off, json!(["one@team", DISABLED_PLUGIN, "no id"]));
    run_without(&mut server, &thread, "$one:hi", None).await;
    assert!(servers(&model, 4).is_empty());
    assert!(!added(&model, 4).contains("The text of"));
    run_without(&mut server, &thread, "$two:hi", Some(&[])).await;
    assert_eq!(servers(&model, 5), ["one", "two"]);
    assert!(added(&model, 5).contains("The text of two."));
    let many: Vec<String> = (0..1001).map(|at| format!("p{at}@team")).collect();
    let (code, message) = server
        .refusal("thread/settings/update", update(json!(many)))
        .await;
    assert_eq!(code, -32600);
    assert_eq!(message, "`disabledPluginIds` has more than 1000 ids");
    server.finish().await.unwrap();
}
