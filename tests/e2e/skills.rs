//! Skills through the built server: listed, switched, mentioned, watched.

use std::fs;
use std::path::Path;

use codex_test_support::{HttpReply, ModelServer, sse};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::setup::{server, untrusted_home};

fn skill(folder: &Path, name: &str, body: &str) -> String {
    let folder = folder.join(name);
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("SKILL.md");
    let text = format!("---\nname: {name}\ndescription: about {name}\n---\n{body}\n");
    fs::write(&file, text).unwrap();
    file.canonicalize().unwrap().display().to_string()
}

/// A home, which is also the project, with a skill of each kind.
fn project(model: &ModelServer) -> TempDir {
    let home = untrusted_home(model);
    fs::create_dir(home.path().join(".git")).unwrap();
    home
}

/// The names of the skills that are on, those of the program excepted.
fn on(listed: &Value) -> Vec<&str> {
    let skills = listed["result"]["data"][0]["skills"].as_array().unwrap();
    let own = skills
        .iter()
        .filter(|skill| skill["scope"] != "system" && skill["enabled"] == true);
    own.map(|skill| skill["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn skills_are_listed_switched_and_watched() {
    let model = ModelServer::start([]).await.unwrap();
    let home = project(&model);
    let own = home.path().join("skills");
    let file = skill(&own, "mine", "x");
    skill(&home.path().join(".agents/skills"), "ours", "x");
    let wild = home.path().join(".agents/skills/wild");
    skill(&home.path().join(".agents/skills"), "wild", "x");
    fs::create_dir(wild.join("scripts")).unwrap();
    fs::write(wild.join("scripts/run.sh"), "exit").unwrap();
    let mut server = server(&home).await;
    let list = json!({ "cwds": [home.path()] });
    let listed = server.call("skills/list", list.clone()).await.unwrap();
    assert_eq!(on(&listed), ["ours", "mine"], "{listed}");
    let data = &listed["result"]["data"][0];
    let errors = data["errors"].as_array().unwrap();
    assert_eq!(
        errors.len(),
        1,
        "the scripts of a project that nobody trusts"
    );
    let scopes: Vec<&Value> = data["skills"]
        .as_array()
        .unwrap()
        .iter()
        .map(|skill| &skill["scope"])
        .collect();
    assert_eq!(scopes, ["repo", "repo", "user", "system"]);

    for (enabled, expected) in [(false, vec!["ours"]), (true, vec!["ours", "mine"])] {
        let params = json!({ "path": file, "enabled": enabled });
        let written = server.call("skills/config/write", params).await.unwrap();
        assert_eq!(written["result"]["effectiveEnabled"], enabled, "{written}");
        let listed = server.call("skills/list", list.clone()).await.unwrap();
        assert_eq!(on(&listed), expected);
    }
    skill(&own, "new", "x");
    server.wait_for("skills/changed").await.unwrap();
    let listed = server.call("skills/list", list).await.unwrap();
    assert_eq!(on(&listed), ["ours", "mine", "new"]);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn skill_changes_are_reported_without_a_request() {
    let model = ModelServer::start([]).await.unwrap();
    let home = project(&model);
    let mut server = server(&home).await;
    server.start_thread().await;
    skill(&home.path().join(".agents/skills"), "new", "x");
    server.wait_for("skills/changed").await.unwrap();
    server.finish().await.unwrap();
}

#[tokio::test]
async fn further_roots_and_bad_requests() {
    let model = ModelServer::start([]).await.unwrap();
    let home = project(&model);
    let more = tempfile::tempdir().unwrap();
    skill(more.path(), "more", "x");
    let mut server = server(&home).await;
    let further = |roots: Value| {
        let further = json!({ "cwd": home.path(), "extraUserRoots": roots });
        json!({ "cwds": [home.path()], "perCwdExtraUserRoots": [further] })
    };
    let with = server.call("skills/list", further(json!([more.path()])));
    assert_eq!(on(&with.await.unwrap()), ["more"]);
    let without = server.call("skills/list", json!({ "cwds": [home.path()] }));
    assert!(on(&without.await.unwrap()).is_empty());
    let relative = server.call("skills/list", further(json!(["x"])));
    let message = relative.await.unwrap()["error"]["message"].clone();
    assert!(message.as_str().unwrap().ends_with("must be absolute: x"));
    let set = |roots: Value| json!({ "extraRoots": roots });
    for (roots, found) in [
        (json!([more.path(), "/not/there"]), &["more"][..]),
        (json!([]), &[]),
    ] {
        let reply = server
            .call("skills/extraRoots/set", set(roots))
            .await
            .unwrap();
        assert_eq!(reply["result"], json!({}), "{reply}");
        server.wait_for("skills/changed").await.unwrap();
        let listed = server.call("skills/list", json!({ "cwds": [home.path()] }));
        assert_eq!(on(&listed.await.unwrap()), found);
    }
    let relative = server.call("skills/extraRoots/set", set(json!(["x"])));
    assert_eq!(relative.await.unwrap()["error"]["code"], -32600);
    let nowhere = server.call("skills/list", json!({ "cwds": ["x"] }));
    let nowhere = nowhere.await.unwrap();
    assert_eq!(nowhere["result"]["data"][0]["errors"], json!([]));
    let both = json!({ "path": "/a", "name": "a", "enabled": true });
    for params in [
        both,
        json!({ "enabled": true }),
        json!({ "name": " ", "enabled": true }),
    ] {
        let refused = server.call("skills/config/write", params).await.unwrap();
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
    server.finish().await.unwrap();
}

#[tokio::test]
async fn mentioned_skill_reaches_the_model_without_a_message() {
    let texts = ["one", "two", "three"].map(|text| {
        let mut message = sse::message(text);
        message["id"] = text.into();
        HttpReply::stream(&sse::items(&[message]))
    });
    let model = ModelServer::start(texts).await.unwrap();
    let home = project(&model);
    let file = skill(&home.path().join("skills"), "greet", "Always say hello.");
    let mut server = server(&home).await;
    let thread = server.start_thread().await;
    let ended = server.run_turn(&thread, "$greet me").await;
    let items = ended["items"].as_array().unwrap();
    assert_eq!(items.len(), 2, "a message and an answer");
    let input = model.requests()[0].json()["input"].to_string();
    assert!(input.contains("- greet: about greet (file: "));
    assert_eq!(input.matches("Always say hello.").count(), 1);
    // Switched off it holds for the next turn of this thread already.
    let params = json!({ "path": file, "enabled": false });
    server.call("skills/config/write", params).await.unwrap();
    server.run_turn(&thread, "$greet me").await;
    let input = model.requests()[1].json()["input"].to_string();
    assert_eq!(input.matches("Always say hello.").count(), 1);
    // Switched on again by whatever changes the configuration, likewise.
    let edit = json!({ "keyPath": "skills.config", "value": [], "mergeStrategy": "replace" });
    let params = json!({ "edits": [edit], "reloadUserConfig": true });
    let written = server.call("config/batchWrite", params).await.unwrap();
    assert_eq!(written["result"]["status"], "ok", "{written}");
    server.run_turn(&thread, "$greet me").await;
    let input = model.requests()[2].json()["input"].to_string();
    assert_eq!(input.matches("Always say hello.").count(), 2);
    server.finish().await.unwrap();
}
