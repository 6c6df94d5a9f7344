//! Apps and plugins that are missing: told after an installation, suggested by the model.

use codex_test_support::{HttpReply, sse};
use serde_json::{Value, json};

use crate::app_search::last_items;
use crate::apps::{AppTest, directory, few_tools, tool};
use crate::mcp_servers::text_reply;
use crate::plugin_folders::MarketplaceFolder;
use crate::setup::write_searching_model;

#[tokio::test]
async fn installation_lists_unconnected_apps() {
    let mut test = AppTest::new(directory(), Vec::new(), "").await;
    let mut team = MarketplaceFolder::new(&test.home.path().join("team"), "team");
    team.add("demo", &json!({ "name": "demo" }), &json!({}));
    let apps = json!({ "apps": {
        "a": { "id": "connector_mail" }, "b": { "id": "connector_zeal" }, "c": { "id": "connector_new" },
    } });
    team.write("demo", ".app.json", &apps.to_string());
    test.server.result("app/list", json!({})).await;
    let installed = test
        .server
        .result("plugin/install", team.params("demo"))
        .await;
    let apps = installed["appsNeedingAuth"].as_array().unwrap();
    let named: Vec<_> = apps.iter().map(|app| (&app["id"], &app["name"])).collect();
    let expected = [
        (&json!("connector_zeal"), &json!("Zeal")),
        (&json!("connector_new"), &json!("connector_new")),
    ];
    assert_eq!(named, expected, "{installed}");
    let read = test.server.result("plugin/read", team.params("demo")).await;
    let apps = read["plugin"]["apps"].as_array().unwrap();
    let needs: Vec<_> = apps
        .iter()
        .map(|app| (&app["id"], &app["needsAuth"]))
        .collect();
    assert_eq!(
        needs[0],
        (&json!("connector_mail"), &json!(false)),
        "{read}"
    );
    test.server.finish().await.unwrap();
}

#[tokio::test]
async fn plugin_apps_are_described_without_a_list_request() {
    let mut test = AppTest::new(directory(), Vec::new(), "").await;
    let mut team = MarketplaceFolder::new(&test.home.path().join("team"), "team");
    team.add("demo", &json!({ "name": "demo" }), &json!({}));
    let apps =
        json!({ "apps": { "a": { "id": "connector_mail" }, "b": { "id": "connector_zeal" } } });
    team.write("demo", ".app.json", &apps.to_string());
    let read = test.server.result("plugin/read", team.params("demo")).await;
    let expected = json!([
        { "id": "connector_mail", "name": "Mail", "description": "letters", "needsAuth": false,
          "installUrl": "https://chatgpt.com/apps/mail/connector_mail" },
        { "id": "connector_zeal", "name": "Zeal", "description": "d", "needsAuth": true,
          "installUrl": "https://chatgpt.com/apps/zeal/connector_zeal" },
    ]);
    assert_eq!(read["plugin"]["apps"], expected, "{read}");
    test.server.finish().await.unwrap();

    // So it is for an installation.
    let mut test = AppTest::new(directory(), Vec::new(), "").await;
    let mut team = MarketplaceFolder::new(&test.home.path().join("team"), "team");
    team.add("demo", &json!({ "name": "demo" }), &json!({}));
    team.write("demo", ".app.json", &apps.to_string());
    let installed = test.server.result("plugin/install", team.params("demo"));
    assert_eq!(installed.await["appsNeedingAuth"], json!([expected[1]]));
    test.server.finish().await.unwrap();
}

/// Settings with an app and a plugin that may be suggested.
const SUGGESTIONS: &str = "[[tool_suggest.discoverables]]\ntype = \"connector\"\nid = \"connector_zeal\"\n\
    [[tool_suggest.discoverables]]\ntype = \"plugin\"\nid = \"demo@team\"\n\
    [[tool_suggest.discoverables]]\ntype = \"connector\"\nid = \"connector_mail\"\n";

fn suggestion(kind: &str, id: &str) -> HttpReply {
    let arguments = json!({
        "tool_type": kind, "action_type": "install", "tool_id": id, "suggest_reason": "It helps.",
    });
    let call = sse::function_call(id, "tool_suggest", &arguments);
    HttpReply::stream(&sse::items(&[call]))
}

#[tokio::test]
async fn app_suggestion_reports_whether_the_app_was_installed() {
    let replies = vec![
        suggestion("connector", "connector_zeal"),
        suggestion("plugin", "demo@team"),
        suggestion("plugin", "none@team"),
        text_reply("done"),
    ];
    let settings = ("model_catalog_json = \"models.json\"\n", SUGGESTIONS);
    let mut test = AppTest::with_tools(
        few_tools(),
        directory(),
        replies,
        settings,
        write_searching_model,
    )
    .await;
    let mut team = MarketplaceFolder::new(&test.home.path().join("team"), "team");
    let manifest = json!({ "name": "demo", "description": "For demonstrations" });
    team.add("demo", &manifest, &json!({}));
    let source = json!({ "source": team.root });
    test.server.result("marketplace/add", source).await;
    test.server.result("app/list", json!({})).await;
    let thread = test.server.start_thread().await;
    test.server.start_turn(&thread, "help").await;

    let question = test.question().await;
    let params = &question["params"];
    assert_eq!(params["serverName"], "codex_apps");
    let expected = json!({
        "codex_approval_kind": "tool_suggestion", "tool_type": "connector", "suggest_type": "install",
        "suggest_reason": "It helps.", "tool_id": "connector_zeal", "tool_name": "Zeal",
        "install_url": "https://chatgpt.com/apps/zeal/connector_zeal",
    });
    assert_eq!(params["_meta"], expected);
    let first = test.model.requests()[0].json();
    let tools = first["tools"].as_array().unwrap();
    let tool = tools
        .iter()
        .find(|tool| tool["name"] == "tool_suggest")
        .unwrap();
    let described = tool["description"].as_str().unwrap();
    assert!(
        described.contains("- demo (plugin, id `demo@team`): For demonstrations"),
        "{described}"
    );
    assert!(
        !described.contains("connector_mail"),
        "it is connected: {described}"
    );
    // The user connects it.
    test.add_tool(tool_of("zeal"));
    let accept = json!({ "action": "accept", "content": {} });
    test.answer(&question, accept).await;

    let question = test.question().await;
    assert_eq!(question["params"]["_meta"]["tool_id"], "demo@team");
    let decline = json!({ "action": "decline" });
    test.answer(&question, decline).await;
    assert_eq!(test.server.completed_turn().await["status"], "completed");

    let requests = test.model.requests();
    let output = |at: usize| {
        last_items(&requests[at].json(), 1)[0]["output"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let answer = |at: usize| serde_json::from_str::<Value>(&output(at)).unwrap();
    let told = |at: usize| {
        (
            answer(at)["user_confirmed"] == true,
            answer(at)["completed"] == true,
        )
    };
    assert_eq!((told(1), told(2)), ((true, true), (false, false)));
    assert_eq!(answer(1)["tool_name"], "Zeal");
    assert!(
        output(3).contains("not among what can be suggested"),
        "{}",
        output(3)
    );

    // Its tools are there for the next turn, and it is not suggested any more.
    test.model.push(text_reply("again"));
    test.server.run_turn(&thread, "go on").await;
    let last = test.model.requests()[4].json();
    let tools = last["tools"].as_array().unwrap();
    let namespace = tools
        .iter()
        .find(|tool| tool["name"] == "mcp__codex_apps__zeal");
    let namespace = namespace.unwrap_or_else(|| panic!("{last}"));
    assert_eq!(namespace["tools"][0]["name"], "_use");
    assert!(!last["tools"].to_string().contains("id `connector_zeal`"));
    test.server.finish().await.unwrap();
}

fn tool_of(app: &str) -> Value {
    tool(app, "use", &json!({ "readOnlyHint": true }))
}
