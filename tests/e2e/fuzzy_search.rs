//! `fuzzyFileSearch` and its sessions through the built server.

use std::fs;

use serde_json::{Value, json};

use crate::serving::Serving;

const INVALID_REQUEST: i64 = -32600;
const INTERNAL_ERROR: i64 = -32603;

fn make(serving: &Serving, names: &[&str]) -> String {
    for name in names {
        let path = serving.home.path().join("tree").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    serving.path("tree")
}

fn paths(files: &Value) -> Vec<&str> {
    let files = files.as_array().unwrap().iter();
    files.map(|file| file["path"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn one_search_finds_the_best_first() {
    let mut serving = Serving::start().await;
    let names = [
        "src/alpha.rs",
        "src/beta.rs",
        "docs/alphabet.md",
        "other/gamma.txt",
    ];
    let root = make(&serving, &names);
    let params = json!({ "query": "alp", "roots": [root], "cancellationToken": "t" });
    let found = serving.result("fuzzyFileSearch", params).await;
    let file = |path: &str, name: &str, indices: [u32; 3], score: &Value| {
        json!({
            "root": root, "path": path, "file_name": name, "match_type": "file",
            "indices": indices, "score": score,
        })
    };
    let score = &found["files"][0]["score"];
    let expected = json!([
        file("docs/alphabet.md", "alphabet.md", [5, 6, 7], score),
        file("src/alpha.rs", "alpha.rs", [4, 5, 6], score),
    ]);
    assert_eq!(found["files"], expected);
    for (query, roots) in [
        ("", json!([root])),
        ("alp", json!([])),
        ("alp", json!(["/no/such/folder"])),
    ] {
        let params = json!({ "query": query, "roots": roots });
        let found = serving.result("fuzzyFileSearch", params).await;
        assert_eq!(found, json!({ "files": [] }));
    }
    let params = json!({ "query": "src", "roots": [root] });
    let found = serving.result("fuzzyFileSearch", params).await;
    assert_eq!(found["files"][0]["match_type"], "directory");
    serving.finish().await;
}

#[tokio::test]
async fn each_keystroke_is_replied_to() {
    let mut serving = Serving::start().await;
    let names: Vec<_> = (0..2000)
        .map(|number| format!("d{}/f{number}", number % 90))
        .collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let root = make(&serving, &names);
    let mut begun = Vec::new();
    for query in ["f", "f1", "f19", "f199", "f1999"] {
        let params = json!({ "query": query, "roots": [root], "cancellationToken": "same" });
        begun.push(
            serving
                .server
                .begin("fuzzyFileSearch", params)
                .await
                .unwrap(),
        );
    }
    let mut last = Value::Null;
    for id in begun {
        last = serving.server.reply_to(id).await.unwrap();
        assert!(last["result"]["files"].is_array(), "{last}");
    }
    // Nobody ended the last one.
    assert_eq!(paths(&last["result"]["files"]), ["d19/f1999"]);
    serving.finish().await;
}

#[tokio::test]
async fn search_session_reports_matches_for_each_query() {
    let mut serving = Serving::start().await;
    let root = make(&serving, &["src/alpha.rs", "b.txt"]);
    let start = json!({ "sessionId": "s", "roots": [root] });
    serving
        .result("fuzzyFileSearch/sessionStart", start.clone())
        .await;
    let updated = "fuzzyFileSearch/sessionUpdated";
    let first = serving.server.wait_for(updated).await.unwrap();
    assert_eq!(
        first["params"],
        json!({ "sessionId": "s", "query": "", "files": [] })
    );
    let completed = "fuzzyFileSearch/sessionCompleted";
    let over = serving.server.wait_for(completed).await.unwrap();
    assert_eq!(over["params"], json!({ "sessionId": "s", "query": "" }));
    for (query, expected) in [("alp", vec!["src/alpha.rs"]), ("zzz", vec![]), ("", vec![])] {
        let params = json!({ "sessionId": "s", "query": query });
        serving
            .result("fuzzyFileSearch/sessionUpdate", params)
            .await;
        let notification = serving.server.wait_for(updated).await.unwrap();
        assert_eq!(notification["params"]["query"], query);
        assert_eq!(paths(&notification["params"]["files"]), expected);
        let over = serving.server.wait_for(completed).await.unwrap();
        assert_eq!(over["params"]["query"], query);
    }
    // The name can be used again, also while it is in use.
    serving.result("fuzzyFileSearch/sessionStart", start).await;
    serving.server.wait_for(completed).await.unwrap();
    let stop = json!({ "sessionId": "s" });
    for _ in 0..2 {
        serving
            .result("fuzzyFileSearch/sessionStop", stop.clone())
            .await;
    }
    let params = json!({ "sessionId": "s", "query": "x" });
    let unknown = "fuzzy file search session not found: s";
    serving
        .refused(
            "fuzzyFileSearch/sessionUpdate",
            params,
            INVALID_REQUEST,
            unknown,
        )
        .await;
    serving.finish().await;
}

#[tokio::test]
async fn least_recently_used_session_ends() {
    let mut serving = Serving::start().await;
    let root = make(&serving, &["a.txt"]);
    let update = |id: &str| json!({ "sessionId": id, "query": "a" });
    for number in 0..5 {
        if number == 4 {
            // Used again, so another one is the oldest.
            let first = update("s0");
            serving.result("fuzzyFileSearch/sessionUpdate", first).await;
        }
        let start = json!({ "sessionId": format!("s{number}"), "roots": [root] });
        serving.result("fuzzyFileSearch/sessionStart", start).await;
    }
    let ended = "fuzzy file search session not found: s1";
    serving
        .refused(
            "fuzzyFileSearch/sessionUpdate",
            update("s1"),
            INVALID_REQUEST,
            ended,
        )
        .await;
    for open in ["s0", "s2", "s4"] {
        let params = update(open);
        serving
            .result("fuzzyFileSearch/sessionUpdate", params)
            .await;
    }
    serving.finish().await;
}

#[tokio::test]
async fn a_session_needs_a_name_and_a_folder() {
    let mut serving = Serving::start().await;
    let params = json!({ "sessionId": "", "roots": ["/"] });
    let empty = "sessionId must not be empty";
    serving
        .refused(
            "fuzzyFileSearch/sessionStart",
            params,
            INVALID_REQUEST,
            empty,
        )
        .await;
    let params = json!({ "sessionId": "s", "roots": [] });
    let none =
        "failed to start fuzzy file search session: at least one search directory is required";
    serving
        .refused("fuzzyFileSearch/sessionStart", params, INTERNAL_ERROR, none)
        .await;
    serving.finish().await;
}

#[tokio::test]
async fn a_session_of_a_client_that_is_gone_ends() {
    let mut serving = Serving::start().await;
    let start = json!({ "sessionId": "s", "roots": ["/usr"] });
    serving.result("fuzzyFileSearch/sessionStart", start).await;
    serving.server.abandon().await.unwrap();
}
