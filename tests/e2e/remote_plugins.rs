//! Plugins of a ChatGPT account: synchronised on request, changed there, featured.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::account::{stored_login, token};
use crate::apps::{AppTest, directory, few_tools};
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
async fn remote_catalogue_refusal_has_the_actual_reason() {
    let mut test = AppTest::new(directory(), Vec::new(), "").await;
    let list = (
        "plugin/list",
        json!({ "marketplaceKinds": ["shared-with-me"] }),
    );
    for reason in [
        "this server does not use the remote plugin catalog",
        "chatgpt authentication required for remote plugin catalog",
    ] {
        for (method, params) in [list.clone(), ("plugin/share/list", json!({}))] {
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
async fn skills_of_the_remote_catalogue_are_read() {
    let mut test = AppTest::new(directory(), Vec::new(), "").await;
    let skill = |marketplace: &str, plugin: &str, name: &str| {
        json!({
            "remoteMarketplaceName": marketplace, "remotePluginId": plugin, "skillName": name,
        })
    };
    let remote = "openai-curated-remote";
    let read = skill(remote, "p~1", "a/b");
    let found = test.server.result("plugin/skill/read", read.clone()).await;
    assert_eq!(found["contents"], "text of skills/a%2Fb");
    assert_eq!(
        test.asked_about_plugins().await,
        ["/api/codex/ps/plugins/p~1/skills/a%2Fb"]
    );
    for (params, code, expected) in [
        (
            skill("team", "p", "a/b"),
            -32600,
            "read remote plugin skill details: remote marketplace `team` is not supported",
        ),
        (
            skill(remote, "../p", "a/b"),
            -32600,
            "invalid remote plugin id: only ASCII letters, digits, `_`, `-`, and `~` are allowed",
        ),
        (
            skill(remote, "p", ""),
            -32600,
            "invalid remote plugin skill name: cannot be empty",
        ),
        (
            skill(remote, "p", "c"),
            -32603,
            "read remote plugin skill details: remote plugin skill response returned unexpected \
             skill name: expected `c`, got `a/b`",
        ),
    ] {
        let refusal = test.server.refusal("plugin/skill/read", params).await;
        assert_eq!(refusal, (code, expected.to_owned()));
    }
    test.server.result("account/logout", Value::Null).await;
    let (_, message) = test.server.refusal("plugin/skill/read", read).await;
    assert_eq!(
        message,
        "read remote plugin skill details: chatgpt authentication required for remote plugin catalog"
    );
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

/// A home folder as another program leaves it: a login, and a checkout of the catalogue with one plugin installed.
fn prepare(home: &Path) {
    fs::write(home.join("auth.json"), stored_login(&token("w1"))).unwrap();
    let mut curated = MarketplaceFolder::new(&home.join(".tmp/plugins"), "openai-curated");
    for name in ["demo", "other"] {
        curated.add(name, &json!({ "name": name }), &json!({}));
    }
    fs::write(home.join(".tmp/plugins.sha"), "0a1b\n").unwrap();
    let manifest = home.join("plugins/cache/openai-curated/other/0a1b/.codex-plugin/plugin.json");
    fs::create_dir_all(manifest.parent().unwrap()).unwrap();
    fs::write(manifest, "{\"name\": \"other\"}").unwrap();
}

#[tokio::test]
async fn new_home_gets_account_plugins_once() {
    let settings = (
        "approval_policy = \"never\"\n",
        "[plugins.\"other@openai-curated\"]\nenabled = true\n",
    );
    let mut test =
        AppTest::with_tools(few_tools(), directory(), Vec::new(), settings, prepare).await;
    // The service does not know yet, so the next process asks again.
    while test.asked_about_plugins().await != ["/api/codex/plugins/list"] {
        tokio::task::yield_now().await;
    }
    let marker = test
        .home
        .path()
        .join(".tmp/app-server-remote-plugin-sync-v1");
    test.set_plugins(json!([
        { "name": "demo", "enabled": true },
        { "name": "other", "enabled": false },
        { "name": "unknown", "enabled": true },
    ]));
    assert!(!marker.exists());
    test.restart().await;
    while !marker.exists() {
        tokio::task::yield_now().await;
    }
    let list = test.server.result("plugin/list", json!({})).await;
    let expected = [("demo", true), ("other", true)];
    assert_eq!(installed(&list), expected, "nothing is removed");
    let version = test
        .home
        .path()
        .join("plugins/cache/openai-curated/demo/0a1b");
    assert!(version.is_dir());
    let config = fs::read_to_string(test.home.path().join("config.toml")).unwrap();
    assert!(
        config.contains("[plugins.\"demo@openai-curated\"]\nenabled = true"),
        "{config}"
    );

    let removed = json!({ "pluginId": "demo@openai-curated" });
    test.server.result("plugin/uninstall", removed).await;
    test.restart().await;
    let list = test.server.result("plugin/list", json!({})).await;
    assert_eq!(installed(&list), [("demo", false), ("other", true)]);
    let asked = test.asked_about_plugins().await;
    let lists = asked.iter().filter(|path| path.ends_with("/list"));
    assert_eq!(lists.count(), 2);
    test.server.finish().await.unwrap();
}
