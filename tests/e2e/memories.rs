//! Memories through the built server: how they are made, the summary in the context, citations, and who may write the files.

use std::fs;
use std::time::{Duration, Instant, SystemTime};

use codex_test_support::{AppServer, HttpReply, ModelServer, sse};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::mcp_servers::text_reply;
use crate::setup::{PROGRAM, experimental_server, scripted_home};
use crate::threads::message_reply;

#[tokio::test]
async fn memory_summary_is_in_the_context_if_enabled() {
    for (settings, is_told) in [
        ("[features]\nmemories = true\n", true),
        (
            "[features]\nmemories = true\n[memories]\nuse_memories = false\n",
            false,
        ),
        ("", false),
    ] {
        let model = ModelServer::start([text_reply("done")]).await.unwrap();
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
async fn citations_are_removed_from_the_text_and_reported() {
    let text = "It is 8080.<oai-mem-citation><citation_entries>\nMEMORY.md:3-5|note=[the port]\n\
        </citation_entries><rollout_ids>\none\n</rollout_ids></oai-mem-citation>";
    let model = ModelServer::start([message_reply("m", text)])
        .await
        .unwrap();
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

/// A home with a thread that has been idle for some hours, and the ids of its thread.
pub(crate) async fn home_with_idle_thread(model: &ModelServer, said: &str) -> (TempDir, String) {
    let home = scripted_home(model, "");
    let mut server = experimental_server(&home).await;
    let thread = idle_thread(&mut server, said).await;
    server.finish().await.unwrap();
    add_settings(&home, "[features]\nmemories = true\n");
    (home, thread)
}

fn add_settings(home: &TempDir, settings: &str) {
    let file = home.path().join("config.toml");
    fs::write(&file, fs::read_to_string(&file).unwrap() + settings).unwrap();
}

/// A thread with one turn that ended seven hours ago.
async fn idle_thread(server: &mut AppServer, said: &str) -> String {
    let thread = server.start_thread().await;
    server.run_turn(&thread, said).await;
    let read = json!({ "threadId": thread });
    let read = server.result("thread/read", read).await;
    let path = read["thread"]["path"].as_str().unwrap();
    let file = fs::File::options().append(true).open(path).unwrap();
    let then = SystemTime::now() - Duration::from_hours(7);
    file.set_modified(then).unwrap();
    thread
}

pub(crate) fn note(raw_memory: &str) -> HttpReply {
    let note = json!({ "raw_memory": raw_memory, "rollout_summary": "asked for the port", "rollout_slug": "find-port" });
    text_reply(&note.to_string())
}

/// What was noted of a stored thread.
async fn summary_of(server: &mut AppServer, thread: &str) -> Value {
    resume(server, thread).await;
    let read = json!({ "threadId": thread });
    server.result("thread/memory/read", read).await["summary"].take()
}

async fn resume(server: &mut AppServer, thread: &str) {
    let params = json!({ "threadId": thread });
    server.result("thread/resume", params).await;
}

pub(crate) async fn until_consolidated(server: &mut AppServer) {
    let ready = |status: Value| status["v2Ready"] == true;
    let began = Instant::now();
    let least = json!({ "minConsolidatedThreads": 1 });
    while !ready(server.result("memory/status", least.clone()).await) {
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "no memories were made"
        );
    }
}

#[tokio::test]
async fn notes_become_summary_of_later_threads() {
    let model = ModelServer::start([text_reply("It is 8080.")])
        .await
        .unwrap();
    let said = "which port? my token=abcdefgh12345678";
    let (home, thread) = home_with_idle_thread(&model, said).await;
    let memories = home.path().join("memories");
    let (direct, outside) = (memories.join("direct.md"), home.path().join("outside.md"));
    let script = format!(
        "printf 'Ports: 8080.' > memory_summary.md; printf x > {}; printf x > {}",
        direct.display(),
        outside.display()
    );
    model.push_for_agent(note("The port is 8080; key sk-abcdefghijklmnopqrstuvwx."));
    let call = sse::function_call("c", "exec_command", &json!({ "cmd": script }));
    model.push_for_agent(HttpReply::stream(&sse::items(&[call])));
    model.push_for_agent(text_reply("The files are up to date."));

    let mut server = experimental_server(&home).await;
    let new = server.start_thread().await;
    until_consolidated(&mut server).await;
    let extraction = model.requests()[1].json();
    let asked = extraction["input"].to_string();
    assert!(asked.contains("[user]\\nwhich port?"), "{asked}");
    assert!(asked.contains("[assistant]\\nIt is 8080."), "{asked}");
    assert!(!asked.contains("abcdefgh12345678"), "{asked}");
    assert_eq!(extraction["text"]["format"]["type"], "json_schema");
    let raw = fs::read_to_string(memories.join("raw_memories.md")).unwrap();
    assert!(
        raw.contains(&thread) && raw.contains("The port is 8080"),
        "{raw}"
    );
    assert!(!raw.contains("abcdefghijkl"), "{raw}");
    let summary = fs::read_to_string(memories.join("memory_summary.md"));
    assert_eq!(summary.unwrap(), "Ports: 8080.");
    assert!(
        !direct.exists() && !outside.exists(),
        "only its copy is writable"
    );
    let summaries = fs::read_dir(memories.join("rollout_summaries")).unwrap();
    assert_eq!(summaries.count(), 1);
    let copies = fs::read_dir(home.path().join(".tmp")).unwrap();
    assert_eq!(copies.count(), 0);

    model.push(text_reply("It is still 8080."));
    let later = server.start_thread().await;
    server.run_turn(&later, "and now?").await;
    let input = model.requests().last().unwrap().json()["input"].to_string();
    assert!(input.contains("Ports: 8080."), "{input}");
    let threads = server.result("thread/loaded/list", json!({})).await;
    let mut expected = [new, later];
    let mut loaded: Vec<&str> = threads["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|id| id.as_str().unwrap())
        .collect();
    expected.sort();
    loaded.sort_unstable();
    assert_eq!(
        loaded, expected,
        "no client sees the threads that make memories"
    );
    server.result("memory/reset", json!({})).await;
    let status = server.result("memory/status", json!({})).await;
    assert_eq!(status["v2ConsolidatedThreads"], 0);
    assert!(!memories.join("memory_summary.md").exists());
    server.finish().await.unwrap();
}

#[tokio::test]
async fn memories_keep_to_their_limits_and_models() {
    let model = ModelServer::start([text_reply("one"), text_reply("two"), text_reply("three")])
        .await
        .unwrap();
    let home = scripted_home(&model, "");
    let mut server = experimental_server(&home).await;
    for said in ["the first question", "the second question"] {
        idle_thread(&mut server, said).await;
    }
    server.finish().await.unwrap();
    add_settings(
        &home,
        "[features]\nmemories = true\n[memories]\nmax_rollouts_per_startup = 1\n\
         extract_model = \"notes\"\nconsolidation_model = \"files\"\n",
    );
    let mut server = experimental_server(&home).await;
    // A thread that is not kept makes no memories.
    let ephemeral = json!({ "ephemeral": true });
    let ephemeral = server.start_thread_with(ephemeral).await;
    server.run_turn(&ephemeral, "meanwhile").await;
    assert_eq!(model.requests().len(), 3);
    model.push_for_agent(note("a fact"));
    model.push_for_agent(text_reply("nothing to do"));
    server.start_thread().await;
    until_consolidated(&mut server).await;
    let requests = model.requests();
    let models: Vec<Value> = requests[3..]
        .iter()
        .map(|one| one.json()["model"].clone())
        .collect();
    assert_eq!(models, ["notes", "files"], "one note and its consolidation");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn no_notes_are_taken_of_threads_that_are_excluded() {
    let model = ModelServer::start([text_reply("one"), text_reply("two"), text_reply("three")])
        .await
        .unwrap();
    let (home, thread) = home_with_idle_thread(&model, "the first question").await;
    add_settings(&home, "[memories]\nmin_rollout_idle_hours = 1\n");
    let mut server = AppServer::start_with(
        PROGRAM,
        home.path(),
        &["-c", "memories.generate_memories=false"],
    )
    .unwrap();
    server.initialize_experimental().await;
    let unwanted = idle_thread(&mut server, "the second question").await;
    resume(&mut server, &thread).await;
    let excluded = idle_thread(&mut server, "the third question").await;
    let mode = json!({ "threadId": excluded, "mode": "disabled" });
    server.result("thread/memoryMode/set", mode).await;
    server.finish().await.unwrap();
    assert_eq!(model.requests().len(), 3, "memories were not wanted");

    model.push_for_agent(note("a fact"));
    model.push_for_agent(text_reply("nothing to do"));
    let mut server = experimental_server(&home).await;
    server.start_thread().await;
    until_consolidated(&mut server).await;
    let requests = model.requests();
    assert_eq!(requests.len(), 5, "one note and its consolidation");
    let asked = requests[3].json()["input"].to_string();
    assert!(asked.contains("the first question"), "{asked}");
    for thread in [&unwanted, &excluded] {
        assert_eq!(summary_of(&mut server, thread).await, Value::Null);
    }
    assert_eq!(summary_of(&mut server, &thread).await, "asked for the port");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn failed_note_is_not_retried_at_once() {
    let model = ModelServer::start([text_reply("one"), text_reply("two"), text_reply("three")])
        .await
        .unwrap();
    let (home, _) = home_with_idle_thread(&model, "a question").await;
    model.push_for_agent(text_reply("this is no note"));
    let mut server = experimental_server(&home).await;
    let first = server.start_thread().await;
    model.request(1).await;
    server.run_turn(&first, "meanwhile").await;
    let second = server.start_thread().await;
    server.run_turn(&second, "again").await;
    assert_eq!(model.requests().len(), 4);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn threads_with_external_content_get_no_notes() {
    let search = json!({
        "type": "web_search_call", "status": "completed", "action": { "type": "search", "query": "x" },
    });
    let found = sse::items(&[search, sse::message("found")]);
    let model = ModelServer::start([HttpReply::stream(&found)])
        .await
        .unwrap();
    let (home, polluted) = home_with_idle_thread(&model, "search for it").await;
    add_settings(
        &home,
        "[memories]\nno_memories_if_mcp_or_web_search = true\n",
    );
    model.push(text_reply("clean"));
    let mut server = experimental_server(&home).await;
    model.push_for_agent(note("a fact"));
    model.push_for_agent(text_reply("nothing to do"));
    let clean = idle_thread(&mut server, "a question").await;
    server.finish().await.unwrap();
    let mut server = experimental_server(&home).await;
    server.start_thread().await;
    until_consolidated(&mut server).await;
    assert_eq!(model.requests().len(), 4, "one note and its consolidation");
    assert_eq!(summary_of(&mut server, &polluted).await, Value::Null);
    assert_eq!(summary_of(&mut server, &clean).await, "asked for the port");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn notes_that_answers_cite_are_kept_before_others() {
    let model = ModelServer::start([text_reply("one"), text_reply("two")])
        .await
        .unwrap();
    let home = scripted_home(&model, "");
    let mut server = experimental_server(&home).await;
    let cited = idle_thread(&mut server, "the first question").await;
    let other = idle_thread(&mut server, "the second question").await;
    server.finish().await.unwrap();
    let settings =
        "[features]\nmemories = true\n[memories]\nmax_raw_memories_for_consolidation = 1\n";
    add_settings(&home, settings);
    for reply in [note("a fact"), note("a fact"), text_reply("consolidated")] {
        model.push_for_agent(reply);
    }
    let mut server = experimental_server(&home).await;
    let thread = server.start_thread().await;
    until_consolidated(&mut server).await;
    let raw = || fs::read_to_string(home.path().join("memories/raw_memories.md")).unwrap();
    let (first, second) = if raw().contains(&other) {
        (other, cited)
    } else {
        (cited, other)
    };
    let citation = format!(
        "It is.<oai-mem-citation><citation_entries>\n</citation_entries><rollout_ids>\n{second}\n\
         </rollout_ids></oai-mem-citation>"
    );
    model.push(message_reply("m", &citation));
    server.run_turn(&thread, "is it?").await;
    model.push_for_agent(text_reply("consolidated again"));
    server.start_thread().await;
    let began = Instant::now();
    while !raw().contains(&second) {
        assert!(began.elapsed() < Duration::from_secs(30), "{}", raw());
        server.result("memory/status", json!({})).await;
    }
    assert!(!raw().contains(&first), "there is room for one only");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn a_kill_during_a_consolidation_leaves_the_former_files() {
    let model = ModelServer::start([text_reply("It is 8080.")])
        .await
        .unwrap();
    let (home, thread) = home_with_idle_thread(&model, "which port?").await;
    let memories = home.path().join("memories");
    fs::create_dir(&memories).unwrap();
    let summary = memories.join("memory_summary.md");
    fs::write(&summary, "the former summary").unwrap();
    model.push_for_agent(note("The port is 8080."));
    let script = "printf half > memory_summary.md";
    let call = sse::function_call("c", "exec_command", &json!({ "cmd": script }));
    model.push_for_agent(HttpReply::stream(&sse::items(&[call])));
    model.push_for_agent(HttpReply::silence());
    let mut server = experimental_server(&home).await;
    server.start_thread().await;
    // The agent has written to its copy, and the model is about to go on.
    model.request(3).await;
    server.kill().await.unwrap();
    assert_eq!(fs::read_to_string(&summary).unwrap(), "the former summary");

    // The next process knows the note, and leaves the work to the lease of the one that was killed.
    let mut server = experimental_server(&home).await;
    server.start_thread().await;
    assert_eq!(summary_of(&mut server, &thread).await, "asked for the port");
    let least = json!({ "minConsolidatedThreads": 1 });
    let status = server.result("memory/status", least).await;
    assert_eq!(status["v2Ready"], false);
    assert_eq!(fs::read_to_string(&summary).unwrap(), "the former summary");
    assert_eq!(model.requests().len(), 4);
    server.finish().await.unwrap();
}
