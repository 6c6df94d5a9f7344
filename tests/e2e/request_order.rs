//! Requests of one connection that write and read the same thing are carried out in the order in which they were sent, also if
//! the client waits for no reply. `method_pairs` plays all pairs of methods; here are those that it cannot.

use codex_test_support::{AppServer, HttpReply, ModelServer, sse};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::hooks::answer_with;
use crate::setup::{experimental_server, scripted_home};

/// How often each pair is played.
const ROUNDS: usize = 6;

type Write = Box<dyn Fn(usize) -> (&'static str, Value)>;
type Seen = Box<dyn Fn(&Value) -> Value>;

/// Things that requests write and read.
struct Case {
    /// A request that writes the value with this number, 0 or 1.
    writes: Vec<Write>,
    /// A request that reads, and the value that its result shows.
    reads: Vec<(&'static str, Value, Seen)>,
    /// What a read shows after each write.
    values: [Value; 2],
}

impl Case {
    async fn play(&self, server: &mut AppServer) {
        for write in &self.writes {
            for (method, params, seen) in &self.reads {
                let mut sent = Vec::new();
                for round in 0..ROUNDS {
                    let (writer, written) = write(round % 2);
                    let writing = server.begin(writer, written).await.unwrap();
                    let reading = server.begin(method, params.clone()).await.unwrap();
                    sent.push((writer, writing, reading));
                }
                for (round, (writer, writing, reading)) in sent.into_iter().enumerate() {
                    let written = server.reply_to(writing).await.unwrap();
                    assert!(written["result"].is_object(), "{writer}: {written}");
                    let read = server.reply_to(reading).await.unwrap();
                    let value = seen(&read["result"]);
                    assert_eq!(value, self.values[round % 2], "{writer}, {method}: {read}");
                }
            }
        }
    }
}

/// The member of the entry of a list that has this value in another member.
fn member_of(
    list: &'static str,
    key: &'static str,
    value: impl Into<Value>,
    member: &'static str,
) -> Seen {
    let value = value.into();
    Box::new(move |result| {
        let entries = result[list].as_array().unwrap();
        let found = entries.iter().find(|entry| entry[key] == value);
        found.map_or(Value::Null, |entry| entry[member].clone())
    })
}

fn seen_at(pointer: &'static str) -> Seen {
    Box::new(move |result| result.pointer(pointer).cloned().unwrap_or_default())
}

async fn started() -> (ModelServer, TempDir, AppServer) {
    let model = ModelServer::start([]).await.unwrap();
    model.always(codex_test_support::HttpReply::stream(&sse::text("done")));
    let home = scripted_home(&model, "");
    let server = experimental_server(&home).await;
    (model, home, server)
}

fn config_value(key: &'static str, values: [Value; 2]) -> Vec<Write> {
    let edit = move |values: &[Value; 2], number: usize| json!({ "keyPath": key, "value": values[number], "mergeStrategy": "replace" });
    let again = values.clone();
    vec![
        Box::new(move |number| ("config/value/write", edit(&values, number))),
        Box::new(move |number| {
            (
                "config/batchWrite",
                json!({ "edits": [edit(&again, number)] }),
            )
        }),
    ]
}

#[tokio::test]
async fn settings_are_read_as_they_were_written() {
    let (_model, home, mut server) = started().await;
    let models = [json!("one"), json!("two")];
    Case {
        writes: config_value("model", models.clone()),
        reads: vec![
            ("config/read", json!({}), seen_at("/config/model")),
            (
                "thread/start",
                json!({ "cwd": home.path() }),
                seen_at("/model"),
            ),
        ],
        values: models,
    }
    .play(&mut server)
    .await;
    let switches = [json!(true), json!(false)];
    let mut writes = config_value("features.apps", switches.clone());
    let features = || member_of("data", "name", "apps", "enabled");
    Case {
        writes: std::mem::take(&mut writes),
        reads: vec![
            ("experimentalFeature/list", json!({}), features()),
            ("config/read", json!({}), seen_at("/config/features/apps")),
        ],
        values: switches,
    }
    .play(&mut server)
    .await;
    let providers = |number: usize| {
        let names = ["First", "Second"];
        let settings =
            json!({ "type": "customGateway", "providerId": "gate", "name": names[number] });
        (
            "modelProvider/config/write",
            json!({ "settings": settings }),
        )
    };
    let made =
        json!({ "type": "customGateway", "name": "Gate", "baseUrl": "http://127.0.0.1:1/v1" });
    server
        .result("modelProvider/config/write", json!({ "settings": made }))
        .await;
    Case {
        writes: vec![Box::new(providers)],
        reads: vec![(
            "modelProvider/list",
            json!({}),
            member_of("data", "id", "gate", "name"),
        )],
        values: [json!("First"), json!("Second")],
    }
    .play(&mut server)
    .await;
    server.finish().await.unwrap();
}

#[tokio::test]
async fn commands_find_the_files_that_were_written_before_them() {
    let (_model, _home, mut server) = started().await;
    let work = tempfile::tempdir().unwrap();
    let file = work.path().join("file");
    for (written, expected) in [("b25l", "one"), ("dHdv", "two"), ("b25l", "one")] {
        let params = json!({ "path": file, "dataBase64": written });
        server.begin("fs/writeFile", params).await.unwrap();
        let params = json!({ "command": ["cat", file], "cwd": work.path() });
        let ran = server.result("command/exec", params).await;
        assert_eq!(ran["stdout"], expected, "{ran}");
    }
    let params = json!({ "cwd": work.path() });
    let thread = server.result("thread/start", params).await["thread"]["id"].clone();
    for written in ["dHdv", "b25l"] {
        std::fs::remove_file(&file).unwrap();
        let content = written.repeat(1 << 20);
        let params = json!({ "path": file, "dataBase64": content });
        server.begin("fs/writeFile", params).await.unwrap();
        let command = format!("wc -c < {}", file.display());
        let params = json!({ "threadId": thread, "command": command });
        server.result("thread/shellCommand", params).await;
        let end = server.wait_for("item/completed").await.unwrap();
        let printed = end["params"]["item"]["aggregatedOutput"].as_str();
        assert_eq!(printed.map(str::trim), Some("3145728"), "{end}");
        server.wait_for("turn/completed").await.unwrap();
    }
    server.finish().await.unwrap();
}

#[tokio::test]
async fn files_written_before_a_thread_are_found() {
    let (_model, _home, mut server) = started().await;
    let work = tempfile::tempdir().unwrap();
    let file = work.path().join("AGENTS.md");
    let start = json!({ "cwd": work.path(), "ephemeral": true });
    let search = json!({ "query": "agents", "roots": [work.path()] });
    for round in 0..6 {
        let expected = usize::from(round % 2 == 0);
        for (method, params, list) in [
            ("thread/start", &start, "instructionSources"),
            ("fuzzyFileSearch", &search, "files"),
        ] {
            let (writer, written) = match expected {
                1 => (
                    "fs/writeFile",
                    json!({ "path": file, "dataBase64": "b25l" }),
                ),
                _ => ("fs/remove", json!({ "path": file, "force": true })),
            };
            server.begin(writer, written).await.unwrap();
            let read = server.result(method, params.clone()).await;
            let found = read[list].as_array().unwrap().len();
            assert_eq!(found, expected, "{method}: {read}");
        }
        let undo = match expected {
            1 => ("fs/remove", json!({ "path": file, "force": true })),
            _ => (
                "fs/writeFile",
                json!({ "path": file, "dataBase64": "b25l" }),
            ),
        };
        server.result(undo.0, undo.1).await;
    }
    server.finish().await.unwrap();
}

#[tokio::test]
async fn reverted_turns_are_not_read() {
    let (model, _home, mut server) = started().await;
    let thread = server.start_thread().await;
    let id = json!({ "threadId": thread });
    let with_turns = json!({ "threadId": thread, "includeTurns": true });
    for (method, params, place) in [
        ("thread/read", with_turns, "/thread/turns"),
        ("thread/turns/list", id.clone(), "/data"),
        ("thread/fork", id.clone(), "/thread/turns"),
        ("thread/resume", id, "/thread/turns"),
    ] {
        for writer in ["thread/rollback", "thread/revert"] {
            let mut turns = Vec::new();
            for _ in 0..3 {
                model.push(answer_with("done"));
                let turn = server.start_turn(&thread, "hello").await;
                server.completed_turn().await;
                turns.push(turn["id"].clone());
            }
            let taken_back = match writer {
                "thread/rollback" => json!({ "threadId": thread, "numTurns": 3 }),
                _ => json!({ "threadId": thread, "beforeTurnId": turns[0] }),
            };
            let writing = server.begin(writer, taken_back).await.unwrap();
            let reading = server.begin(method, params.clone()).await.unwrap();
            let written = server.reply_to(writing).await.unwrap();
            assert!(written["result"].is_object(), "{writer}: {written}");
            let read = server.reply_to(reading).await.unwrap();
            let shown = read["result"].pointer(place).unwrap();
            assert_eq!(*shown, json!([]), "{writer}, {method}: {read}");
        }
    }
    server.finish().await.unwrap();
}

#[tokio::test]
async fn imported_settings_read_back_unchanged() {
    let (_model, _home, mut server) = started().await;
    let folder = tempfile::tempdir().unwrap();
    let repository = folder.path().canonicalize().unwrap();
    std::fs::create_dir(repository.join(".git")).unwrap();
    std::fs::write(repository.join("CLAUDE.md"), "Be kind.").unwrap();
    let looked_for = json!({ "cwds": [repository] });
    let found = server
        .result("externalAgentConfig/detect", looked_for.clone())
        .await;
    assert_eq!(found["items"].as_array().unwrap().len(), 1, "{found}");
    let import = json!({ "migrationItems": found["items"] });
    let imported = server
        .begin("externalAgentConfig/import", import)
        .await
        .unwrap();
    let left = server
        .begin("externalAgentConfig/detect", looked_for)
        .await
        .unwrap();
    assert!(server.reply_to(imported).await.unwrap()["result"].is_object());
    let left = server.reply_to(left).await.unwrap();
    assert_eq!(left["result"]["items"], json!([]));
    server.finish().await.unwrap();
}

#[tokio::test]
async fn home_and_project_files_reach_the_request_unchanged() {
    let (_model, home, mut server) = started().await;
    let home = home.path().canonicalize().unwrap();
    let file = home.join("skills/one/SKILL.md");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let target = file.parent().unwrap().join("../one/SKILL.md");
    // Skills with the names `a` and `b`.
    let texts = [
        "LS0tCm5hbWU6IGEKZGVzY3JpcHRpb246IGQKLS0tCg==",
        "LS0tCm5hbWU6IGIKZGVzY3JpcHRpb246IGQKLS0tCg==",
    ];
    let write = move |number: usize| {
        (
            "fs/writeFile",
            json!({ "path": target, "dataBase64": texts[number] }),
        )
    };
    let own: Seen = Box::new(|result| {
        let skills = result["data"][0]["skills"].as_array().unwrap();
        let own = skills.iter().find(|skill| skill["scope"] == "user");
        own.map_or(Value::Null, |skill| skill["name"].clone())
    });
    Case {
        writes: vec![Box::new(write)],
        reads: vec![(
            "skills/list",
            json!({ "cwds": [home], "forceReload": true }),
            own,
        )],
        values: [json!("a"), json!("b")],
    }
    .play(&mut server)
    .await;
    let target = file.parent().unwrap().join("../one/SKILL.md");
    let write = move |number: usize| {
        (
            "fs/writeFile",
            json!({ "path": target, "dataBase64": texts[number] }),
        )
    };
    Case {
        writes: vec![Box::new(write)],
        reads: vec![(
            "fs/readFile",
            json!({ "path": file }),
            seen_at("/dataBase64"),
        )],
        values: texts.map(Value::from),
    }
    .play(&mut server)
    .await;
    server.finish().await.unwrap();
}

#[tokio::test]
async fn list_after_a_first_turn_has_its_thread() {
    let model = ModelServer::start([]).await.unwrap();
    model.always(HttpReply::stream(&sse::text("done")));
    let home = scripted_home(&model, "");
    let mut server = experimental_server(&home).await;
    for round in 0..10 {
        let thread = server.start_thread().await;
        let input = json!([{ "type": "text", "text": "hello" }]);
        let turn = json!({ "threadId": thread, "input": input });
        let started = server.begin("turn/start", turn).await.unwrap();
        let listed = server.begin("thread/list", json!({})).await.unwrap();
        server.reply_to(started).await.unwrap();
        let listed = server.reply_to(listed).await.unwrap();
        assert!(listed.to_string().contains(&thread), "round {round}");
        server.completed_turn().await;
    }
    server.finish().await.unwrap();
}

#[tokio::test]
async fn turn_that_was_interrupted_is_read_as_such() {
    let (model, _home, mut server) = started().await;
    let thread = server.start_thread().await;
    for _ in 0..ROUNDS {
        model.push(HttpReply::silence());
        let requests = model.requests().len();
        let turn = server.start_turn(&thread, "hello").await;
        model.request(requests).await;
        let ended = json!({ "threadId": thread, "turnId": turn["id"] });
        let read = json!({ "threadId": thread, "includeTurns": true });
        let writing = server.begin("turn/interrupt", ended).await.unwrap();
        let reading = server.begin("thread/read", read).await.unwrap();
        server.reply_to(writing).await.unwrap();
        let read = server.reply_to(reading).await.unwrap();
        let turns = read["result"]["thread"]["turns"].as_array().unwrap();
        assert_eq!(turns.last().unwrap()["status"], "interrupted", "{read}");
    }
    server.finish().await.unwrap();
}
