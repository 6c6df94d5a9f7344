//! Models of servers of the user are in the list of models to choose from.

use codex_test_support::{HttpReply, Latch, ModelServer};
use serde_json::{Value, json};

use crate::setup::{experimental_server, home_with, scripted_config};

fn names(listed: &Value) -> Vec<&str> {
    let models = listed["data"].as_array().unwrap().iter();
    models.map(|model| model["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn models_of_the_own_server_can_be_chosen() {
    let model = ModelServer::start([]).await.unwrap();
    let list = json!({ "object": "list", "data": [
        { "id": "qwen3-coder", "object": "model", "max_model_len": 4096 },
        { "id": "gpt-5.4" }, { "object": "model" }, { "id": "" }, 7,
    ] });
    let reply = HttpReply::status(200).header("content-type", "application/json");
    model.push_for("/models", reply.body(list.to_string()));
    let home = home_with(&scripted_config(&model, ""));
    let mut server = experimental_server(&home).await;
    let params = json!({ "limit": 200 });
    let first = server.result("model/list", params.clone()).await;
    assert_eq!(names(&first).last(), Some(&"qwen3-coder"), "{first}");
    let known = names(&first).into_iter().filter(|name| *name == "gpt-5.4");
    assert_eq!(known.count(), 1, "{first}");
    let default = first["data"]
        .as_array()
        .unwrap()
        .iter()
        .find(|model| model["isDefault"] == true);
    assert_ne!(default.unwrap()["id"], "qwen3-coder");
    // The server is not asked again and again.
    let again = server.result("model/list", params).await;
    assert_eq!(first, again);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn list_does_not_wait_for_silent_server() {
    let model = ModelServer::start([]).await.unwrap();
    let never = Latch::new();
    model.push_for("/models", HttpReply::status(200).wait(&never).body("{}"));
    let home = home_with(&scripted_config(&model, ""));
    let mut server = experimental_server(&home).await;
    let listed = server.result("model/list", json!({})).await;
    assert!(!names(&listed).is_empty());
    server.finish().await.unwrap();
}
