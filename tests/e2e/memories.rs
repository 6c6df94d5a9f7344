//! Memories through the built server: the summary in the context, citations, and who may write the files.

use std::fs;

use codex_test_support::ModelServer;
use serde_json::json;

use crate::mcp_servers::says;
use crate::setup::{experimental_server, scripted_home};
use crate::threads::said;

#[tokio::test]
async fn the_summary_is_part_of_the_context_where_it_is_wanted() {
    for (settings, is_told) in [
        ("[features]\nmemories = true\n", true),
        (
            "[features]\nmemories = true\n[memories]\nuse_memories = false\n",
            false,
        ),
        ("", false),
    ] {
        let model = ModelServer::start([says("done")]).await.unwrap();
        let home = scripted_home(&model, "");
        let file = home.path().join("config.toml");
        fs::write(&file, fs::read_to_string(&file).unwrap() + settings).unwrap();
        fs::create_dir(home.path().join("memories")).unwrap();
        let summary = format!("The port is 8080. {}END", "é".repeat(20_000));
        fs::write(home.path().join("memories/memory_summary.md"), summary).unwrap();
        let mut server = experimental_server(&home).await;
        let thread = server.start_thread().await;
        server.run_turn(&thread, "hello").await;
        let input = model.requests()[0].json()["input"].to_string();
        assert_eq!(input.contains("The port is 8080."), is_told, "{settings}");
        assert!(!input.contains("éEND"), "the summary has a limit");
        server.finish().await.unwrap();
    }
}

#[tokio::test]
async fn citations_are_cut_from_the_text_and_told() {
    let text = "It is 8080.<oai-mem-citation><citation_entries>\nMEMORY.md:3-5|note=[the port]\n\
        </citation_entries><rollout_ids>\none\n</rollout_ids></oai-mem-citation>";
    let model = ModelServer::start([said("m", text)]).await.unwrap();
    let home = scripted_home(&model, "");
    let mut server = experimental_server(&home).await;
    let thread = server.start_thread().await;
    let ended = server.run_turn(&thread, "hello").await;
    let expected = json!({
        "entries": [{ "path": "MEMORY.md", "lineStart": 3, "lineEnd": 5, "note": "the port" }],
        "threadIds": ["one"],
    });
    let answer = ended["items"].as_array().unwrap().last().unwrap();
    assert_eq!(answer["text"], "It is 8080.");
    assert_eq!(answer["memoryCitation"], expected, "{answer}");
    let read = json!({ "threadId": thread, "includeTurns": true });
    let read = server.result("thread/read", read).await;
    let stored = &read["thread"]["turns"][0]["items"];
    let stored = stored.as_array().unwrap().last().unwrap();
    assert_eq!(stored["memoryCitation"], expected, "{stored}");
    server.finish().await.unwrap();
}
