//! Configuration, features and models through the built server.

use std::fs;

use codex_test_support::{AppServer, ModelServer};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::setup::{experimental_server, home_with, scripted_home};
use crate::soak::message;

fn text(home: &TempDir) -> String {
    fs::read_to_string(home.path().join("config.toml")).unwrap()
}

fn write(key_path: &str, value: Value, strategy: &str) -> Value {
    json!({ "keyPath": key_path, "value": value, "mergeStrategy": strategy })
}

#[tokio::test]
async fn edit_keeps_comments() {
    let home = home_with("# mine\nmodel = \"a\" # why\n\n[tui]\ntheme = \"dark\"\n");
    let mut server = experimental_server(&home).await;
    let params = write("model", json!("b"), "replace");
    let written = server.call("config/value/write", params).await.unwrap();
    let file = home.path().canonicalize().unwrap().join("config.toml");
    assert_eq!(written["result"]["status"], "ok", "{written}");
    assert_eq!(written["result"]["filePath"], file.to_str().unwrap());
    assert_eq!(
        text(&home),
        "# mine\nmodel = \"b\" # why\n\n[tui]\ntheme = \"dark\"\n"
    );
    let read = server.call("config/read", json!({ "includeLayers": true }));
    let read = read.await.unwrap();
    let user = json!({ "type": "user", "file": file });
    assert_eq!(read["result"]["config"]["model"], "b");
    assert_eq!(read["result"]["origins"]["model"]["name"], user);
    let version = &read["result"]["layers"][0]["version"];
    assert_eq!(*version, written["result"]["version"]);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn edits_that_cannot_be_made_change_nothing() {
    let before = "model = \"a\"\n[profiles.p]\nmodel = \"x\"\n";
    let home = home_with(before);
    let mut server = experimental_server(&home).await;
    let stale = json!({
        "keyPath": "model", "value": "c", "mergeStrategy": "replace", "expectedVersion": "sha256:0",
    });
    let elsewhere = json!({
        "keyPath": "model", "value": "c", "mergeStrategy": "replace", "filePath": "/tmp/other.toml",
    });
    for (params, code) in [
        (write("", json!(1), "replace"), "configValidationError"),
        (
            write("approval_policy", json!("bogus"), "replace"),
            "configValidationError",
        ),
        (
            write("tui", json!({ "theme": null }), "replace"),
            "configValidationError",
        ),
        (
            write("no.such", json!(null), "replace"),
            "configPathNotFound",
        ),
        (stale, "configVersionConflict"),
        (elsewhere, "configLayerReadonly"),
    ] {
        let reply = server.call("config/value/write", params).await.unwrap();
        assert_eq!(reply["error"]["code"], -32600, "{reply}");
        assert_eq!(reply["error"]["data"]["config_write_error_code"], code);
    }
    // One edit that cannot be made takes the others with it.
    let edits = [
        write("model", json!("c"), "replace"),
        write("sandbox_mode", json!("none"), "replace"),
    ];
    let reply = server.call("config/batchWrite", json!({ "edits": edits }));
    assert_eq!(reply.await.unwrap()["error"]["code"], -32600);
    assert_eq!(text(&home), before);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn a_batch_merges_tables_and_removes_keys() {
    let home = home_with("model = \"a\"\n[shell_environment_policy.set]\nA = \"1\"\n");
    let mut server = experimental_server(&home).await;
    let edits = [
        write(
            "shell_environment_policy",
            json!({ "set": { "B": "2" } }),
            "upsert",
        ),
        write("model", json!(null), "replace"),
    ];
    let params = json!({ "edits": edits, "reloadUserConfig": true });
    let reply = server.call("config/batchWrite", params).await.unwrap();
    assert_eq!(reply["result"]["status"], "ok", "{reply}");
    let config: Value = read_config(&mut server, json!({})).await;
    assert_eq!(config["model"], json!(null));
    assert_eq!(
        config["shell_environment_policy"]["set"],
        json!({ "A": "1", "B": "2" })
    );
    server.finish().await.unwrap();
}

#[tokio::test]
async fn tables_of_other_programs_are_readable() {
    let home = home_with("[desktop]\nfirst = \"there\"\nday = 2020-01-01\n[desktop.sub]\nx = 1\n");
    let mut server = experimental_server(&home).await;
    let config = read_config(&mut server, json!({})).await;
    let written = json!({ "first": "there", "day": "2020-01-01", "sub": { "x": 1 } });
    assert_eq!(config["desktop"], written);
    assert_eq!(config["browser_use"], json!(null));
    let value = json!({ "a": { "b": [1, "x", true] }, "n": 1.5 });
    let one = write("desktop.theme", json!("dark"), "replace");
    let reply = server.call("config/value/write", one).await.unwrap();
    assert_eq!(reply["result"]["status"], "ok", "{reply}");
    let edits = [
        write("desktop", value, "upsert"),
        write("desktop.some.deep.key", json!(3), "replace"),
        write("desktop.\"dotted.key\"", json!(false), "upsert"),
        write("browser_use", json!({ "origins": {} }), "replace"),
    ];
    let reply = server
        .call("config/batchWrite", json!({ "edits": edits }))
        .await
        .unwrap();
    assert_eq!(reply["result"]["status"], "ok", "{reply}");
    let read = server
        .call("config/read", json!({ "includeLayers": true }))
        .await
        .unwrap();
    let read = &read["result"];
    let expected = json!({
        "first": "there", "day": "2020-01-01", "sub": { "x": 1 }, "theme": "dark", "n": 1.5,
        "a": { "b": [1, "x", true] }, "some": { "deep": { "key": 3 } }, "dotted.key": false,
    });
    assert_eq!(read["config"]["desktop"], expected);
    assert_eq!(read["layers"][0]["config"]["desktop"], expected);
    assert!(
        read["origins"]["desktop.theme"].is_object(),
        "{}",
        read["origins"]
    );
    assert_eq!(read["config"]["browser_use"], json!({ "origins": {} }));
    for wrong in [json!("text"), json!([1]), json!(3)] {
        let params = write("desktop", wrong, "replace");
        let reply = server.call("config/value/write", params).await.unwrap();
        assert_eq!(reply["error"]["code"], -32600, "{reply}");
    }
    for (value, expected) in [
        (json!({ "only": 1 }), json!({ "only": 1 })),
        (json!(null), json!(null)),
    ] {
        let params = write("desktop", value, "replace");
        server.call("config/value/write", params).await.unwrap();
        assert_eq!(
            read_config(&mut server, json!({})).await["desktop"],
            expected
        );
    }
    server.finish().await.unwrap();
}

async fn read_config(server: &mut AppServer, params: Value) -> Value {
    let reply = server.call("config/read", params).await.unwrap();
    reply["result"]["config"].clone()
}

#[tokio::test]
async fn project_layers_are_listed_and_apply_once_trusted() {
    let project = tempfile::tempdir().unwrap();
    let folder = project.path().canonicalize().unwrap();
    fs::create_dir_all(folder.join(".git")).unwrap();
    fs::create_dir_all(folder.join(".codex")).unwrap();
    fs::write(folder.join(".codex/config.toml"), "model = \"theirs\"\n").unwrap();
    let home = home_with("model = \"mine\"\n");
    let mut server = experimental_server(&home).await;
    let params = json!({ "cwd": folder, "includeLayers": true });
    let read = server.call("config/read", params.clone()).await.unwrap();
    assert_eq!(read["result"]["config"]["model"], "mine");
    let layer = &read["result"]["layers"][0];
    assert_eq!(layer["name"]["type"], "project");
    assert!(layer["disabledReason"].is_string(), "{layer}");
    let mut trusted = serde_json::Map::new();
    trusted.insert(
        folder.to_str().unwrap().to_owned(),
        json!({ "trust_level": "trusted" }),
    );
    let edit = write("projects", trusted.into(), "upsert");
    let reply = server.call("config/value/write", edit).await.unwrap();
    assert_eq!(reply["result"]["status"], "ok", "{reply}");
    assert_eq!(read_config(&mut server, params).await["model"], "theirs");
    assert_eq!(read_config(&mut server, json!({})).await["model"], "mine");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn unreadable_settings_are_an_error_and_the_server_continues() {
    let home = home_with("model = \n");
    let mut server = experimental_server(&home).await;
    for (method, start) in [
        ("config/read", "failed to read configuration layers: "),
        (
            "configRequirements/read",
            "failed to read configuration layers: ",
        ),
        ("experimentalFeature/list", "failed to reload config: "),
        ("mcpServerStatus/list", "failed to reload config: "),
        ("config/mcpServer/reload", "failed to reload config: "),
    ] {
        let reply = server.call(method, json!({})).await.unwrap();
        let error = &reply["error"];
        assert_eq!(error["code"], -32603, "{reply}");
        assert!(
            error["message"].as_str().unwrap().starts_with(start),
            "{reply}"
        );
    }
    let edit = write("model", json!("a"), "replace");
    let reply = server.call("config/value/write", edit).await.unwrap();
    assert_eq!(reply["error"]["code"], -32603, "{reply}");
    let models = server.call("model/list", json!({})).await.unwrap();
    assert!(models["result"]["data"].is_array());
    server.finish().await.unwrap();
}

#[tokio::test]
async fn process_features_give_way_to_settings() {
    let home = home_with("[features]\ntool_search = false\n");
    let mut server = experimental_server(&home).await;
    let switches = json!({ "apps": false, "tool_search": true });
    let params = json!({ "enablement": switches });
    let reply = server
        .call("experimentalFeature/enablement/set", params)
        .await
        .unwrap();
    assert_eq!(reply["result"]["enablement"], switches);
    let list = server.call("experimentalFeature/list", json!({})).await;
    let list = list.unwrap();
    let enabled = |name: &str| {
        let all = list["result"]["data"].as_array().unwrap();
        let found = all.iter().find(|feature| feature["name"] == name).unwrap();
        found["enabled"].clone()
    };
    assert_eq!(
        (enabled("apps"), enabled("tool_search")),
        (json!(false), json!(false))
    );
    for key in ["undo", "collab", "no_such"] {
        let mut switches = serde_json::Map::new();
        switches.insert("plugins".to_owned(), json!(false));
        switches.insert(key.to_owned(), json!(true));
        let params = json!({ "enablement": switches });
        let reply = server.call("experimentalFeature/enablement/set", params);
        assert_eq!(reply.await.unwrap()["error"]["code"], -32600, "{key}");
    }
    let config = read_config(&mut server, json!({})).await;
    assert_eq!(
        (&config["features"]["apps"], &config["features"]["plugins"]),
        (&json!(false), &json!(true))
    );
    let page = json!({ "cursor": "999" });
    let reply = server.call("experimentalFeature/list", page).await.unwrap();
    assert_eq!(
        reply["error"]["message"],
        "cursor 999 exceeds total feature flags 218"
    );
    server.finish().await.unwrap();
}

#[tokio::test]
async fn model_file_replaces_all_other_models() {
    let home = tempfile::tempdir().unwrap();
    let entry = json!({
        "slug": "house", "display_name": "House", "description": "Ours.",
        "supported_reasoning_levels": [], "shell_type": "default", "visibility": "list",
        "supported_in_api": true, "priority": 1, "supports_reasoning_summaries": false,
        "support_verbosity": false, "supports_parallel_tool_calls": false,
        "truncation_policy": { "mode": "bytes", "limit": 1000 },
    });
    let list = json!({ "models": [entry] }).to_string();
    fs::write(home.path().join("models.json"), list).unwrap();
    fs::write(
        home.path().join("config.toml"),
        "model_catalog_json = \"models.json\"\n",
    )
    .unwrap();
    let mut server = experimental_server(&home).await;
    let reply = server.call("model/list", json!({})).await.unwrap();
    let models = reply["result"]["data"].as_array().unwrap();
    assert_eq!((models.len(), &models[0]["id"]), (1, &json!("house")));
    assert_eq!(models[0]["isDefault"], true);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn the_instructions_of_a_model_have_the_chosen_personality() {
    let choices = [
        ("", json!({}), "Be brief."),
        ("", json!({ "personality": "friendly" }), "Be kind."),
        ("", json!({ "personality": "none" }), ""),
        ("personality = \"friendly\"\n", json!({}), "Be kind."),
        ("features.personality = false\n", json!({}), "Be yourself."),
    ];
    for (settings, params, tone) in choices {
        let model = ModelServer::start([message(0, "done")]).await.unwrap();
        let settings = format!("model_catalog_json = \"models.json\"\n{settings}");
        let home = scripted_home(&model, &settings);
        let entry = json!({
            "slug": "scripted", "display_name": "Scripted", "description": "Ours.",
            "supported_reasoning_levels": [], "shell_type": "default", "visibility": "list",
            "supported_in_api": true, "priority": 1, "supports_reasoning_summaries": false,
            "support_verbosity": false, "supports_parallel_tool_calls": false,
            "truncation_policy": { "mode": "bytes", "limit": 1000 },
            "model_messages": {
                "instructions_template": "Work. {{ personality }}",
                "instructions_variables": {
                    "personality_default": "Be yourself.",
                    "personality_friendly": "Be kind.",
                    "personality_pragmatic": "Be brief.",
                },
            },
        });
        let list = json!({ "models": [entry] }).to_string();
        fs::write(home.path().join("models.json"), list).unwrap();
        let mut server = experimental_server(&home).await;
        let thread = server.start_thread_with(params.clone()).await;
        server.run_turn(&thread, "hi").await;
        let request = model.request(0).await.json();
        assert_eq!(request["instructions"], format!("Work. {tone}"), "{params}");
        server.finish().await.unwrap();
    }
}

#[tokio::test]
async fn a_request_has_the_verbosity_that_its_model_takes() {
    let models = [
        // Takes any, and has a default.
        ("gpt-5.4", [json!("low"), json!("low"), json!("high")]),
        // Takes any, and has no default.
        ("gpt-5", [json!(null), json!("low"), json!("high")]),
        ("gpt-oss-20b", [json!(null), json!("low"), json!("high")]),
        // Takes none.
        ("gpt-5-codex", [json!(null), json!(null), json!(null)]),
        ("unknown", [json!(null), json!(null), json!(null)]),
    ];
    let settings = [
        "",
        "model_verbosity = \"low\"",
        "model_verbosity = \"high\"",
    ];
    for (number, setting) in settings.into_iter().enumerate() {
        let replies = (0..models.len()).map(|number| message(number, "done"));
        let model = ModelServer::start(replies).await.unwrap();
        let home = scripted_home(&model, setting);
        let mut server = experimental_server(&home).await;
        for (index, (name, expected)) in models.iter().enumerate() {
            let thread = server.start_thread_with(json!({ "model": name })).await;
            server.run_turn(&thread, "hi").await;
            let request = model.request(index).await.json();
            let verbosity = &request["text"]["verbosity"];
            assert_eq!(*verbosity, expected[number], "{name} with `{setting}`");
        }
        server.finish().await.unwrap();
    }
}

#[tokio::test]
async fn no_mcp_servers_are_listed_where_there_are_none() {
    let home = home_with("");
    let mut server = experimental_server(&home).await;
    let reply = server
        .call("mcpServerStatus/list", json!({}))
        .await
        .unwrap();
    assert_eq!(reply["result"], json!({ "data": [], "nextCursor": null }));
    let reply = server.call("config/mcpServer/reload", json!(null)).await;
    assert_eq!(reply.unwrap()["result"], json!({}));
    server.finish().await.unwrap();
}
