//! Plugins through the built server: listed, described, installed, removed, used in threads.

use std::fs;
use std::path::Path;
use std::process::Command;

use codex_test_support::{ModelServer, sse};
use serde_json::{Value, json};

use crate::mcp_process::behaviour_of;
use crate::mcp_servers::text_reply;
use crate::plugin_folders::MarketplaceFolder;
use crate::serving::Serving;
use crate::setup::{experimental_server, scripted_home};

const INVALID_REQUEST: i64 = -32600;
const INTERNAL_ERROR: i64 = -32603;

/// A marketplace in the folder `team` of the server's home.
fn team(serving: &Serving) -> MarketplaceFolder {
    MarketplaceFolder::new(&serving.home.path().join("team"), "team")
}

fn demo() -> Value {
    json!({ "name": "demo", "description": "For  demonstrations" })
}

async fn listed(serving: &mut Serving, team: &MarketplaceFolder) -> Value {
    let params = json!({ "cwds": [team.root] });
    serving.result("plugin/list", params).await
}

fn installed_at(serving: &Serving) -> std::path::PathBuf {
    serving.home.path().join("plugins/cache/team/demo/local")
}

#[tokio::test]
async fn marketplaces_are_listed_with_plugin_descriptions() {
    let mut serving = Serving::start().await;
    let mut team = team(&serving);
    let manifest = json!({
        "name": "demo", "version": "1.2", "keywords": ["k"],
        "interface": {
            "displayName": "Demo", "category": "Tools", "capabilities": ["Read"],
            "websiteURL": "https://example.com", "defaultPrompt": ["a", "b", "c", "d"],
            "logo": "./assets/logo.png", "composerIcon": "../out.png",
            "screenshots": ["./s.png", "/abs.png"],
        },
    });
    let policy = json!({ "installation": "NOT_AVAILABLE", "authentication": "ON_USE" });
    team.add(
        "demo",
        &manifest,
        &json!({ "category": "Productivity", "policy": policy }),
    );
    team.add("plain", &json!({ "name": "plain" }), &json!({}));
    team.add(
        "other",
        &demo(),
        &json!({ "policy": { "products": ["chatgpt"] } }),
    );
    team.add("plain", &demo(), &json!({}));
    let list = listed(&mut serving, &team).await;
    let [marketplace] = &list["marketplaces"].as_array().unwrap()[..] else {
        panic!("{list}")
    };
    assert_eq!(marketplace["name"], "team");
    assert_eq!(marketplace["path"], json!(team.file()));
    assert_eq!(marketplace["interface"], json!({ "displayName": "Team" }));
    let [first, second] = &marketplace["plugins"].as_array().unwrap()[..] else {
        panic!("those of other products and the same again do not count: {marketplace}")
    };
    let root = team.root.join("plugins/demo");
    assert_eq!(first["id"], "demo@team");
    assert_eq!(first["source"], json!({ "type": "local", "path": root }));
    assert_eq!(
        (&first["installed"], &first["enabled"]),
        (&json!(false), &json!(false))
    );
    assert_eq!(first["installPolicy"], "NOT_AVAILABLE");
    assert_eq!(first["authPolicy"], "ON_USE");
    assert_eq!(
        (&first["localVersion"], &first["keywords"]),
        (&json!("1.2"), &json!(["k"]))
    );
    let shown = &first["interface"];
    assert_eq!(
        shown["category"], "Productivity",
        "the marketplace comes first"
    );
    assert_eq!(shown["logo"], json!(root.join("assets/logo.png")));
    assert_eq!(shown["screenshots"], json!([root.join("s.png")]));
    assert_eq!(shown["composerIcon"], Value::Null);
    assert_eq!(shown["defaultPrompt"], json!(["a", "b", "c"]));
    assert_eq!(shown["websiteUrl"], "https://example.com");
    assert_eq!(second["interface"], Value::Null);
    serving.finish().await;
}

#[tokio::test]
async fn marketplaces_are_found_in_all_places() {
    let mut serving = Serving::start().await;
    let folder = |name: &str| serving.home.path().join(name);
    let add = |name: &str, marketplace: &str| {
        let mut added = MarketplaceFolder::new(&folder(name), marketplace);
        added.add(name, &json!({ "name": name }), &json!({}));
        added
    };
    add("person", "own");
    let repository = add("repository", "shared");
    fs::create_dir_all(repository.root.join(".git")).unwrap();
    fs::create_dir_all(repository.root.join("deep/below")).unwrap();
    let same = add("same", "own");
    MarketplaceFolder::new(&folder("empty"), "empty");
    let broken = MarketplaceFolder::new(&folder("broken"), "broken");
    fs::write(
        broken.file(),
        r#"{"name": "x", "plugins": [{"name": "y", "source": "../y"}]}"#,
    )
    .unwrap();
    let cwds = json!([
        repository.root.join("deep/below"),
        same.root,
        same.root,
        folder("empty"),
        broken.root,
        folder("none"),
    ]);
    let list = serving.result("plugin/list", json!({ "cwds": cwds })).await;
    let ids: Vec<_> = list["marketplaces"]
        .as_array()
        .unwrap()
        .iter()
        .map(|marketplace| marketplace["plugins"][0]["id"].as_str().unwrap())
        .collect();
    assert_eq!(
        ids,
        ["person@own", "repository@shared", "same@own"],
        "by path"
    );
    let errors = list["marketplaceLoadErrors"].as_array().unwrap();
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0]["marketplacePath"], json!(broken.file()));
    let message = errors[0]["message"].as_str().unwrap();
    assert!(
        message.ends_with("local plugin source path must start with `./`"),
        "{message}"
    );
    let relative = json!({ "cwds": ["relative"] });
    serving
        .refused(
            "plugin/list",
            relative,
            INVALID_REQUEST,
            "without a base path",
        )
        .await;
    serving.finish().await;
}

#[tokio::test]
async fn a_plugin_is_described_from_its_source() {
    let mut serving = Serving::start().await;
    let mut team = team(&serving);
    team.add("demo", &demo(), &json!({}));
    team.skill("demo", "hi", "Say hi.");
    team.write(
        "demo",
        ".mcp.json",
        r#"{"mcpServers": {"b": {"command": "x"}, "a": {"url": "u"}}}"#,
    );
    team.write(
        "demo",
        ".app.json",
        r#"{"apps": {"x": {"id": "connector_1"}}}"#,
    );
    let read = serving.result("plugin/read", team.params("demo")).await;
    let plugin = &read["plugin"];
    assert_eq!(plugin["description"], "For  demonstrations");
    assert_eq!(plugin["marketplaceName"], "team");
    assert_eq!(plugin["summary"]["id"], "demo@team");
    assert_eq!(plugin["mcpServers"], json!(["a", "b"]));
    let skill = &plugin["skills"][0];
    assert_eq!(
        (&skill["name"], &skill["enabled"]),
        (&json!("demo:hi"), &json!(true))
    );
    let app = json!({
        "id": "connector_1", "name": "connector_1", "description": null, "needsAuth": true,
        "installUrl": "https://chatgpt.com/apps/connector-1/connector_1",
    });
    assert_eq!(plugin["apps"], json!([app]));
    serving.finish().await;
}

#[tokio::test]
async fn unusable_plugins_give_their_reason() {
    let mut serving = Serving::start().await;
    let mut team = team(&serving);
    team.add("demo", &json!({ "name": "different" }), &json!({}));
    team.add(
        "blocked",
        &demo(),
        &json!({ "policy": { "installation": "NOT_AVAILABLE" } }),
    );
    team.add("other", &demo(), &json!({ "policy": { "products": [] } }));
    team.add("bad name", &demo(), &json!({}));
    team.add("broken", &demo(), &json!({}));
    team.write("broken", ".codex-plugin/plugin.json", "{");
    team.add("gone", &demo(), &json!({}));
    fs::remove_dir_all(team.root.join("plugins/gone")).unwrap();
    let installs = [
        ("none", "plugin `none` was not found in marketplace `team`"),
        (
            "blocked",
            "plugin `blocked` is not available for install in marketplace `team`",
        ),
        (
            "other",
            "plugin `other` is not available for install in marketplace `team`",
        ),
        (
            "demo",
            "plugin manifest name `different` does not match marketplace plugin name `demo`",
        ),
        (
            "bad name",
            "invalid plugin name: only ASCII letters, digits, `_`, and `-` are allowed",
        ),
        ("broken", "missing or invalid plugin manifest: "),
        ("gone", "plugin source path is not a directory: "),
    ];
    for (plugin, message) in installs {
        serving
            .refused(
                "plugin/install",
                team.params(plugin),
                INVALID_REQUEST,
                message,
            )
            .await;
    }
    let reads = [
        ("none", "plugin `none` was not found in marketplace `team`"),
        ("broken", "missing or invalid .codex-plugin/plugin.json"),
        ("gone", "path does not exist or is not a directory"),
    ];
    for (plugin, message) in reads {
        serving
            .refused("plugin/read", team.params(plugin), INVALID_REQUEST, message)
            .await;
    }
    for method in ["plugin/read", "plugin/install"] {
        let at = |path: Value| json!({ "marketplacePath": path, "pluginName": "demo" });
        let missing = at(json!(team.root.join(".agents/plugins/none.json")));
        serving
            .refused(
                method,
                missing,
                INVALID_REQUEST,
                "none.json` does not exist",
            )
            .await;
        serving
            .refused(
                method,
                at(json!("relative")),
                INVALID_REQUEST,
                "without a base path",
            )
            .await;
        let folder = at(json!(team.root.join(".agents/plugins")));
        serving
            .refused(
                method,
                folder,
                INTERNAL_ERROR,
                "failed to read marketplace file: ",
            )
            .await;
        let nul = at(json!("/a\0b"));
        serving
            .refused(
                method,
                nul,
                INTERNAL_ERROR,
                "failed to read marketplace file: ",
            )
            .await;
    }
    for id in ["", "demo", "@team", "demo@"] {
        let params = json!({ "pluginId": id });
        serving
            .refused(
                "plugin/uninstall",
                params,
                INVALID_REQUEST,
                "expected <plugin>@<marketplace>",
            )
            .await;
    }
    for id in ["../x@team", "x@../..", "a b@team"] {
        let params = json!({ "pluginId": id });
        serving
            .refused(
                "plugin/uninstall",
                params,
                INVALID_REQUEST,
                "are allowed in `",
            )
            .await;
    }
    let remote = json!({ "pluginId": "demo@team", "forceRemoteSync": true });
    let message = "failed to uninstall remote plugin: chatgpt authentication required";
    serving
        .refused("plugin/uninstall", remote, INTERNAL_ERROR, message)
        .await;
    assert!(!serving.home.path().join("plugins").exists());
    serving.finish().await;
}

#[tokio::test]
async fn a_plugin_is_installed_switched_and_removed() {
    let mut serving = Serving::with_config("# mine\nmodel = \"x\" # why\n").await;
    let mut team = team(&serving);
    team.add(
        "demo",
        &demo(),
        &json!({ "policy": { "authentication": "ON_USE" } }),
    );
    team.skill("demo", "hi", "Say hi.");
    let installed = serving.result("plugin/install", team.params("demo")).await;
    assert_eq!(
        installed,
        json!({ "authPolicy": "ON_USE", "appsNeedingAuth": [] })
    );
    assert!(installed_at(&serving).join("skills/hi/SKILL.md").is_file());
    let config = || fs::read_to_string(serving.home.path().join("config.toml")).unwrap();
    assert!(
        config().starts_with("# mine\nmodel = \"x\" # why\n"),
        "{}",
        config()
    );
    assert!(
        config().contains("[plugins.\"demo@team\"]\nenabled = true"),
        "{}",
        config()
    );
    let list = listed(&mut serving, &team).await;
    let plugin = &list["marketplaces"][0]["plugins"][0];
    assert_eq!(
        (&plugin["installed"], &plugin["enabled"]),
        (&json!(true), &json!(true))
    );
    let skill = skills(&mut serving).await[0].clone();
    assert_eq!(
        (&skill["name"], &skill["pluginId"]),
        (&json!("demo:hi"), &json!("demo@team"))
    );
    assert_eq!(skill["scope"], "user");

    let off = json!({ "keyPath": "plugins.\"demo@team\".enabled", "value": false, "mergeStrategy": "replace" });
    serving.result("config/value/write", off).await;
    let list = listed(&mut serving, &team).await;
    let plugin = &list["marketplaces"][0]["plugins"][0];
    assert_eq!(
        (&plugin["installed"], &plugin["enabled"]),
        (&json!(true), &json!(false))
    );
    assert!(skills(&mut serving).await.is_empty());

    let installed = json!({ "cwds": [team.root] });
    let only = serving.result("plugin/installed", installed.clone()).await;
    assert_eq!(
        only["marketplaces"][0]["plugins"].as_array().unwrap().len(),
        1
    );
    let id = json!({ "pluginId": "demo@team" });
    for _ in 0..2 {
        assert_eq!(
            serving.result("plugin/uninstall", id.clone()).await,
            json!({})
        );
    }
    assert!(!installed_at(&serving).exists());
    let config = fs::read_to_string(serving.home.path().join("config.toml")).unwrap();
    assert!(!config.contains("demo@team"), "{config}");
    let none = serving.result("plugin/installed", installed).await;
    assert_eq!(none["marketplaces"], json!([]));
    serving.finish().await;
}

/// The skills of the user, those of the program excepted.
async fn skills(serving: &mut Serving) -> Vec<Value> {
    let home = serving.home.path().to_path_buf();
    let listed = serving
        .result("skills/list", json!({ "cwds": [home] }))
        .await;
    let all = listed["data"][0]["skills"].as_array().unwrap();
    let own = all.iter().filter(|skill| skill["scope"] != "system");
    own.cloned().collect()
}

#[tokio::test]
async fn links_are_not_installed_and_do_not_lead_out() {
    let mut serving = Serving::start().await;
    let mut team = team(&serving);
    team.add("demo", &demo(), &json!({}));
    let link = |target: &Path, name: &str| {
        std::os::unix::fs::symlink(target, team.root.join(name)).unwrap();
    };
    fs::write(serving.home.path().join("secret"), "s").unwrap();
    link(&serving.home.path().join("secret"), "plugins/demo/secret");
    link(Path::new("/etc"), "plugins/demo/skills");
    let outside = tempfile::tempdir().unwrap();
    let mut elsewhere = MarketplaceFolder::new(outside.path(), "elsewhere");
    elsewhere.add("far", &json!({ "name": "far" }), &json!({}));
    link(&elsewhere.root.join("plugins/far"), "plugins/far");
    serving.result("plugin/install", team.params("demo")).await;
    let copied = fs::read_dir(installed_at(&serving)).unwrap();
    let names: Vec<_> = copied.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, [".codex-plugin"]);
    team.add_entry("far");
    for method in ["plugin/read", "plugin/install"] {
        let params = team.params("far");
        serving
            .refused(
                method,
                params,
                INVALID_REQUEST,
                "leads out of the marketplace",
            )
            .await;
    }
    serving.finish().await;
}

#[tokio::test]
async fn a_pipe_in_place_of_a_file_delays_nobody() {
    let mut serving = Serving::start().await;
    let mut team = team(&serving);
    team.add("demo", &demo(), &json!({}));
    let pipe = |path: &Path| {
        let _ = fs::remove_file(path);
        assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    };
    pipe(&team.root.join("plugins/demo/.mcp.json"));
    serving.result("plugin/install", team.params("demo")).await;
    pipe(&team.root.join("plugins/demo/.codex-plugin/plugin.json"));
    let list = listed(&mut serving, &team).await;
    assert_eq!(
        list["marketplaces"][0]["plugins"][0]["interface"],
        Value::Null
    );
    let message = "missing or invalid";
    serving
        .refused(
            "plugin/install",
            team.params("demo"),
            INVALID_REQUEST,
            message,
        )
        .await;
    pipe(&team.file());
    let list = listed(&mut serving, &team).await;
    let error = list["marketplaceLoadErrors"][0]["message"]
        .as_str()
        .unwrap();
    assert_eq!(error, "failed to read marketplace file: not a regular file");
    serving.finish().await;
}

#[tokio::test]
async fn marketplace_entry_replaces_a_manifest() {
    let mut serving = Serving::start().await;
    let mut team = team(&serving);
    team.skill("bare", "hi", "says hi");
    team.add_entry_with(
        "bare",
        &json!({ "description": "bare one", "version": "3", "strict": false }),
    );
    team.add_source("packed", &json!({ "source": "npm", "package": "packed" }));
    let list = listed(&mut serving, &team).await;
    let reason = "cannot be used: sources of the kind `npm` are not supported";
    assert_eq!(
        list["marketplaceLoadErrors"][0]["message"],
        format!("plugin `packed` {reason}")
    );
    for method in ["plugin/read", "plugin/install"] {
        let refusal = serving.server.refusal(method, team.params("packed")).await;
        let expected = format!("plugin `packed` of marketplace `team` {reason}");
        assert_eq!(refusal, (-32600, expected));
    }
    let read = serving.result("plugin/read", team.params("bare")).await;
    assert_eq!(read["plugin"]["description"], "bare one");
    assert_eq!(read["plugin"]["skills"][0]["name"], "bare:hi");
    serving.result("plugin/install", team.params("bare")).await;
    let names = skills(&mut serving).await;
    assert!(
        names.iter().any(|skill| skill["name"] == "bare:hi"),
        "{names:?}"
    );
    let path = "plugins/cache/team/bare/local/.codex-plugin/plugin.json";
    let bytes = fs::read(serving.home.path().join(path)).unwrap();
    let manifest: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(
        manifest,
        json!({ "name": "bare", "description": "bare one", "version": "3", "strict": false })
    );
    serving.finish().await;
}

#[tokio::test]
async fn without_the_feature_there_are_no_plugins() {
    let mut serving = Serving::with_config("[features]\nplugins = false\n").await;
    let mut team = team(&serving);
    team.add("demo", &demo(), &json!({}));
    let list = listed(&mut serving, &team).await;
    assert_eq!(list["marketplaces"], json!([]));
    let message = "plugins feature is disabled";
    serving
        .refused("plugin/read", team.params("demo"), INVALID_REQUEST, message)
        .await;
    serving.finish().await;
}

#[tokio::test]
async fn marketplaces_are_added_and_removed() {
    let mut serving = Serving::start().await;
    let mut team = team(&serving);
    team.add("demo", &demo(), &json!({}));
    let add = |source: Value| json!({ "source": source });
    let refused = [
        (json!(" "), "marketplace source must not be empty"),
        (
            json!("/not/there"),
            "failed to resolve local marketplace source path: ",
        ),
        (
            json!(serving.home.path()),
            "does not contain a supported manifest",
        ),
        (
            json!("example.com"),
            "expected owner/repo, a git URL, or a local marketplace path",
        ),
    ];
    for (source, message) in refused {
        serving
            .refused("marketplace/add", add(source), INVALID_REQUEST, message)
            .await;
    }
    for already in [false, true] {
        let added = serving
            .result("marketplace/add", add(json!(team.root)))
            .await;
        let expected = json!({ "marketplaceName": "team", "installedRoot": team.root, "alreadyAdded": already });
        assert_eq!(added, expected);
    }
    let other = MarketplaceFolder::new(&serving.home.path().join("other"), "team");
    let message = "'team' is already added from a different source";
    serving
        .refused(
            "marketplace/add",
            add(json!(other.root)),
            INVALID_REQUEST,
            message,
        )
        .await;
    let with_ref = json!({ "source": team.root, "refName": "main" });
    serving
        .refused(
            "marketplace/add",
            with_ref,
            INVALID_REQUEST,
            "--ref is only",
        )
        .await;
    let list = serving.result("plugin/list", json!({})).await;
    assert_eq!(list["marketplaces"][0]["plugins"][0]["id"], "demo@team");
    let found = serving
        .result("plugin/search", json!({ "searchTerm": "DEM" }))
        .await;
    assert_eq!(found["data"][0]["plugin"]["id"], "demo@team");
    let none = serving
        .result("plugin/search", json!({ "searchTerm": "zzz" }))
        .await;
    assert_eq!(none["data"], json!([]));
    let upgrade = json!({ "marketplaceName": "team" });
    let message = "marketplace `team` is not configured as a Git marketplace";
    serving
        .refused(
            "marketplace/upgrade",
            upgrade.clone(),
            INVALID_REQUEST,
            message,
        )
        .await;
    let removed = serving.result("marketplace/remove", upgrade.clone()).await;
    assert_eq!(
        removed,
        json!({ "marketplaceName": "team", "installedRoot": null })
    );
    let message = "marketplace `team` is not configured or installed";
    serving
        .refused("marketplace/remove", upgrade, INVALID_REQUEST, message)
        .await;
    let list = serving.result("plugin/list", json!({})).await;
    assert_eq!(list["marketplaces"], json!([]));
    serving.finish().await;
}

#[tokio::test]
async fn plugin_skills_and_servers_reach_threads() {
    let call = sse::function_call("call", "mcp__helper__echo", &json!({ "text": "x" }));
    let called = codex_test_support::HttpReply::stream(&sse::items(&[call]));
    let replies = [
        text_reply("before"),
        text_reply("one"),
        called,
        text_reply("two"),
        text_reply("three"),
    ];
    let model = ModelServer::start(replies).await.unwrap();
    let home = scripted_home(&model, "approval_policy = \"never\"");
    let mut team = MarketplaceFolder::new(&home.path().join("team"), "team");
    let manifest = json!({
        "name": "demo", "description": "For\ndemonstrations", "interface": { "displayName": "The Demo" },
        "mcpServers": { "helper": behaviour_of(&json!({})) },
    });
    team.add("demo", &manifest, &json!({}));
    team.skill("demo", "hi", "Always say hi.");
    let mut server = experimental_server(&home).await;
    let early = server.start_thread().await;
    server.run_turn(&early, "hello").await;
    server.result("plugin/install", team.params("demo")).await;
    let status = server.result("mcpServerStatus/list", json!({})).await;
    assert_eq!(status["data"][0]["name"], "helper");
    assert_eq!(status["data"][0]["pluginId"], "demo@team");

    // A thread that was there before: its skills, servers and mentions, from its next turn on.
    server
        .run_turn(&early, "[@Demo](plugin://demo@team) and $demo:hi")
        .await;
    let request = model.requests()[1].json();
    let input = request["input"].to_string();
    assert!(input.contains("Always say hi."), "{input}");
    assert!(
        input.contains("The user mentions the plugin `The Demo`"),
        "{input}"
    );
    let tools = request["tools"].to_string();
    assert!(
        tools.contains("This tool is part of plugin `The Demo`."),
        "{tools}"
    );

    let thread = server.start_thread().await;
    let mention = json!({ "type": "mention", "name": "Demo", "path": "plugin://demo@team" });
    let text = json!({ "type": "text", "text": "@Demo go" });
    let params = json!({ "threadId": thread, "input": [text, mention] });
    server.call("turn/start", params).await.unwrap();
    let ended = server.completed_turn().await;
    assert_eq!(ended["status"], "completed", "{ended}");
    let input = model.requests()[2].json()["input"].clone();
    let text = input.to_string();
    assert!(text.contains("<plugins_instructions>"), "{text}");
    assert!(text.contains("- `The Demo`: For demonstrations"), "{text}");
    let last = input.as_array().unwrap().last().unwrap();
    assert_eq!(last["role"], "developer", "{last}");
    let told = last["content"][0]["text"].as_str().unwrap();
    assert!(
        told.contains("skills whose names begin with `demo:`"),
        "{told}"
    );
    assert!(told.contains("tools of MCP servers: `helper`"), "{told}");
    let output = model.requests()[3].json()["input"].to_string();
    assert!(output.contains("function_call_output"), "{output}");

    server
        .result("plugin/uninstall", json!({ "pluginId": "demo@team" }))
        .await;
    let thread = server.start_thread().await;
    server
        .run_turn(&thread, "[@Demo](plugin://demo@team) $demo:hi")
        .await;
    let input = model.requests()[4].json()["input"].to_string();
    for gone in [
        "<plugins_instructions>",
        "The user mentions",
        "Always say hi.",
    ] {
        assert!(!input.contains(gone), "{gone}: {input}");
    }
    server.finish().await.unwrap();
}

#[tokio::test]
async fn user_mcp_server_wins_over_a_plugin_server() {
    let mut serving =
        Serving::with_config("[mcp_servers.mine]\ncommand = \"/not/there\"\nenabled = false\n")
            .await;
    let mut team = team(&serving);
    team.add("demo", &demo(), &json!({}));
    let servers = json!({ "mcpServers": {
        "mine": { "url": "http://127.0.0.1:9" }, "bad": { "command": "x", "url": "y" },
    } });
    team.write("demo", ".mcp.json", &servers.to_string());
    serving.result("plugin/install", team.params("demo")).await;
    let status = serving.result("mcpServerStatus/list", json!({})).await;
    let names: Vec<_> = status["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|server| server["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["mine"], "what cannot be used is left out");
    serving.finish().await;
}

#[tokio::test]
async fn killed_install_leaves_whole_plugin() {
    const FILES: usize = 150;
    let home = tempfile::tempdir().unwrap();
    let mut team = MarketplaceFolder::new(&home.path().join("team"), "team");
    team.add("demo", &demo(), &json!({}));
    let write = |team: &MarketplaceFolder, version: usize| {
        for file in 0..FILES {
            team.write("demo", &format!("files/{file}"), &version.to_string());
        }
    };
    write(&team, 0);
    let mut server = experimental_server(&home).await;
    server.result("plugin/install", team.params("demo")).await;
    server.finish().await.unwrap();
    for version in 1..=8 {
        write(&team, version);
        let mut server = experimental_server(&home).await;
        server
            .begin("plugin/install", team.params("demo"))
            .await
            .unwrap();
        // Kills at different moments: when this many files have been copied.
        let staging = home.path().join("plugins/.staging");
        let installed = home.path().join("plugins/cache/team/demo/local/files/0");
        let is_new =
            || fs::read_to_string(&installed).is_ok_and(|text| text == version.to_string());
        let copied = || {
            let folders = fs::read_dir(&staging).into_iter().flatten().flatten();
            let files = folders.map(|folder| fs::read_dir(folder.path().join("plugin/files")));
            files
                .map(|files| files.map_or(0, Iterator::count))
                .max()
                .unwrap_or(0)
        };
        while copied() < version * FILES / 8 && !is_new() {
            tokio::task::yield_now().await;
        }
        server.kill().await.unwrap();
        let store = codex_plugins::PluginStore::of_home(home.path());
        let id = codex_plugins::PluginId::parse("demo@team").unwrap();
        let active = store.active(&id).expect("a version is there");
        let texts: std::collections::BTreeSet<String> = (0..FILES)
            .map(|file| fs::read_to_string(active.join(format!("files/{file}"))).unwrap())
            .collect();
        assert_eq!(texts.len(), 1, "{texts:?}");
    }
    let mut server = experimental_server(&home).await;
    server.result("plugin/install", team.params("demo")).await;
    server.finish().await.unwrap();
    let left = fs::read_dir(home.path().join("plugins")).unwrap();
    let mut left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, [".lock", ".staging", "cache"]);
    let staged = fs::read_dir(home.path().join("plugins/.staging")).unwrap();
    assert_eq!(staged.count(), 0);
}
