//! Plugins of a ChatGPT account: synchronised on request, changed there, featured.

use serde_json::{Value, json};

use crate::apps::{AppTest, directory};
use crate::plugin_folders::MarketplaceFolder;

/// A curated marketplace with two plugins.
fn curated(test: &AppTest) -> MarketplaceFolder {
    let root = test.home.path().join("curated");
    let mut curated = MarketplaceFolder::new(&root, "openai-curated");
    for name in ["demo", "other"] {
        curated.add(name, &json!({ "name": name }), &json!({}));
    }
    curated
}

fn installed(list: &Value) -> Vec<(&str, bool)> {
    let plugins = list["marketplaces"][0]["plugins"]
        .as_array()
        .unwrap()
        .iter();
    plugins
        .map(|plugin| {
            (
                plugin["name"].as_str().unwrap(),
                plugin["installed"] == true,
            )
        })
        .collect()
}

#[tokio::test]
async fn installed_plugins_become_those_of_the_account() {
    let mut test = AppTest::new(directory(), Vec::new(), "").await;
    let curated = curated(&test);
    test.server
        .result("plugin/install", curated.params("other"))
        .await;
    assert_eq!(test.asked_about_plugins().await, Vec::<String>::new());
    let list = json!({ "cwds": [curated.root] });
    let before = test.server.result("plugin/list", list.clone()).await;
    assert_eq!(installed(&before), [("demo", false), ("other", true)]);
    assert_eq!(before["featuredPluginIds"], json!(["demo@openai-curated"]));

    test.set_plugins(json!([
        { "id": "1", "name": "demo", "marketplace_name": "openai-curated", "enabled": true },
        { "id": "2", "name": "other", "enabled": false },
        { "id": "3", "name": "far", "marketplace_name": "elsewhere", "enabled": true },
    ]));
    let forced = json!({ "cwds": [curated.root], "forceRemoteSync": true });
    let synced = test.server.result("plugin/list", forced.clone()).await;
    assert_eq!(synced["remoteSyncError"], Value::Null);
    assert_eq!(installed(&synced), [("demo", true), ("other", false)]);
    let asked = test.asked_about_plugins().await;
    assert_eq!(
        asked,
        ["/api/codex/plugins/featured", "/api/codex/plugins/list"],
        "featured ones are kept"
    );

    // A service that answers nonsense changes nothing, and the list is there.
    for nonsense in [json!({ "plugins": [] }), json!([{ "name": 3 }])] {
        test.set_plugins(nonsense);
        let kept = test.server.result("plugin/list", forced.clone()).await;
        let error = kept["remoteSyncError"].as_str().unwrap();
        assert!(
            error.starts_with("the reply about remote plugins cannot be read: "),
            "{error}"
        );
        assert_eq!(installed(&kept), [("demo", true), ("other", false)]);
    }
    test.set_plugins(json!([]));
    let elsewhere = json!({ "forceRemoteSync": true });
    let missing = test.server.result("plugin/list", elsewhere).await;
    assert_eq!(
        missing["remoteSyncError"],
        "local curated marketplace is not available"
    );
    test.server.finish().await.unwrap();
}

#[tokio::test]
async fn the_remote_catalogue_is_refused_for_the_reason_that_holds() {
    let mut test = AppTest::new(directory(), Vec::new(), "").await;
    let list = (
        "plugin/list",
        json!({ "marketplaceKinds": ["shared-with-me"] }),
    );
    let skill = json!({
        "remoteMarketplaceName": "m", "remotePluginId": "p", "skillName": "s",
    });
    for reason in [
        "this server does not use the remote plugin catalog",
        "chatgpt authentication required for remote plugin catalog",
    ] {
        for (method, params) in [list.clone(), ("plugin/skill/read", skill.clone())] {
            let (code, message) = test.server.refusal(method, params).await;
            assert_eq!(code, -32600);
            assert!(message.ends_with(reason), "{method}: {message}");
        }
        test.server.result("account/logout", Value::Null).await;
    }
    assert!(test.asked_about_plugins().await.is_empty());
    test.server.finish().await.unwrap();
}

#[tokio::test]
async fn the_account_is_changed_before_this_machine() {
    let mut test = AppTest::new(directory(), Vec::new(), "").await;
    let curated = curated(&test);
    let mut install = curated.params("demo");
    install["forceRemoteSync"] = json!(true);
    test.server.result("plugin/install", install.clone()).await;
    let uninstall = json!({ "pluginId": "demo@openai-curated", "forceRemoteSync": true });
    test.server
        .result("plugin/uninstall", uninstall.clone())
        .await;
    let path = |change| format!("/api/codex/plugins/demo@openai-curated/{change}");
    assert_eq!(
        test.asked_about_plugins().await,
        [path("enable"), path("uninstall")]
    );

    test.server.result("account/logout", Value::Null).await;
    let (code, message) = test.server.refusal("plugin/install", install).await;
    assert_eq!(code, -32603);
    let expected = "failed to enable remote plugin: chatgpt authentication required for remote plugin mutation";
    assert_eq!(message, expected);
    let (_, message) = test.server.refusal("plugin/uninstall", uninstall).await;
    assert!(
        message.starts_with("failed to uninstall remote plugin: chatgpt authentication"),
        "{message}"
    );
    let list = json!({ "cwds": [curated.root], "forceRemoteSync": true });
    let list = test.server.result("plugin/list", list).await;
    assert_eq!(installed(&list), [("demo", false), ("other", false)]);
    assert_eq!(
        list["remoteSyncError"],
        "chatgpt authentication required to sync remote plugins"
    );
    test.server.finish().await.unwrap();
}
