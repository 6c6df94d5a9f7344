//! Messages survive: those of our own corpus, and those of recorded conversations where they are at
//! hand.

use std::fs;
use std::path::{Path, PathBuf};

use codex_app_server_protocol::{ServerNotification, methods};
use serde_json::Value;

use crate::schemas::SchemaFiles;
use crate::transcript::{CorpusTranscript, Sender};

/// Set this to a folder of recorded conversations to check them too.
const GOLDEN_FOLDER: &str = "CODEX_GOLDEN_FOLDER";

/// The conversations of our corpus, a file each, a message per line with who sent it.
fn corpus() -> Vec<(String, Vec<(Sender, Value)>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
        .into_iter()
        .map(|path| {
            let text = fs::read_to_string(&path).unwrap();
            let messages = text
                .lines()
                .map(|line| entry(&serde_json::from_str(line).unwrap()));
            (path.display().to_string(), messages.collect())
        })
        .collect()
}

/// `{"sent": message}` or `{"got": message}`, as the client sees it.
fn entry(line: &Value) -> (Sender, Value) {
    match (line.get("sent"), line.get("got")) {
        (Some(message), None) => (Sender::Client, message.clone()),
        (None, Some(message)) => (Sender::Server, message.clone()),
        _ => panic!("neither sent nor got: {line}"),
    }
}

#[test]
fn corpus_survives() {
    let mut schemas = SchemaFiles::new();
    for (file, messages) in corpus() {
        let mut transcript = CorpusTranscript::new(&mut schemas);
        for (number, (sender, message)) in messages.iter().enumerate() {
            if let Err(error) = transcript.check(*sender, message) {
                panic!("{file}:{}: {error}", number + 1);
            }
        }
    }
}

#[test]
fn corpus_has_every_method() {
    let conversations = corpus();
    let used: Vec<&str> = conversations
        .iter()
        .flat_map(|(_, messages)| messages)
        .filter_map(|(_, message)| message["method"].as_str())
        .collect();
    let missing: Vec<&str> = methods()
        .iter()
        .map(|method| method.name)
        .filter(|name| !used.contains(name))
        .collect();
    assert!(missing.is_empty(), "not in the corpus: {missing:?}");
}

#[test]
fn notifications_give_their_thread_id() {
    let conversations = corpus();
    let messages = conversations.iter().flat_map(|(_, messages)| messages);
    let mut checked = 0;
    for (sender, message) in messages {
        let (Some(method), Some(id)) = (
            message["method"].as_str(),
            message["params"]["threadId"].as_str(),
        ) else {
            continue;
        };
        if !matches!(sender, Sender::Server) || message.get("id").is_some() {
            continue;
        }
        let params = serde_json::value::to_raw_value(&message["params"]).unwrap();
        let notification = ServerNotification::read(method, Some(&params)).unwrap();
        assert_eq!(notification.thread_id(), Some(id), "{method}");
        checked += 1;
    }
    assert!(checked > 50, "the corpus has {checked} of them only");
}

#[test]
#[ignore = "needs recorded conversations, in the folder that CODEX_GOLDEN_FOLDER names"]
fn recorded_conversations_survive() {
    let folder = PathBuf::from(std::env::var_os(GOLDEN_FOLDER).expect("the variable is set"));
    let files = fs::read_dir(&folder).unwrap();
    let mut schemas = SchemaFiles::new();
    let mut checked = 0;
    let mut failures = Vec::new();
    for file in files {
        let path = file.unwrap().path();
        let variants: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        for messages in variants.as_array().unwrap() {
            let messages: Vec<_> = messages.as_array().unwrap().iter().map(entry).collect();
            checked += messages.len();
            failures.extend(
                failures_of(&messages, &mut schemas)
                    .into_iter()
                    .map(|why| format!("{}: {why}", path.display())),
            );
        }
    }
    assert!(checked > 0, "{} holds no conversations", folder.display());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// What does not survive of one conversation. A request that was answered by an error need not.
fn failures_of(messages: &[(Sender, Value)], schemas: &mut SchemaFiles) -> Vec<String> {
    let is_refused = |id: &Value| {
        messages
            .iter()
            .any(|(_, other)| other.get("error").is_some() && other["id"] == *id)
    };
    let mut transcript = CorpusTranscript::of_recording(schemas);
    let mut failures = Vec::new();
    for (sender, message) in messages {
        if let Err(why) = transcript.check(*sender, &fill_in(message, ""))
            && !(message.get("method").is_some() && is_refused(&message["id"]))
        {
            failures.push(why);
        }
    }
    failures
}

/// Puts values in place of what a recording blanks out: `<n>`, and paths that start with `<cwd>`.
fn fill_in(value: &Value, key: &str) -> Value {
    match value {
        Value::String(text) if text == "<n>" && key == "processId" => "1".into(),
        Value::String(text) if text == "<n>" => 1.into(),
        Value::String(text) => text
            .replace("<cwd>", "/cwd")
            .replace("<home>", "/home")
            .into(),
        Value::Array(items) => items.iter().map(|item| fill_in(item, key)).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(key, member)| (key.clone(), fill_in(member, key)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}
