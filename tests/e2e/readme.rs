//! Claims of the README that no other test covers. The commands that it shows are run by `documents`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use codex_test_support::{HttpReply, ModelServer, copy_executable};
use serde_json::{Value, json};

use crate::exec::ExecFolders;
use crate::serving::Serving;
use crate::{repository, stdout_of};

fn read(path: &str) -> String {
    fs::read_to_string(repository().join(path)).unwrap()
}

#[test]
fn readme_names_the_required_rust_version() {
    assert!(read("Cargo.toml").contains("rust-version = \"1.95\""));
}

#[test]
fn the_licence_is_the_one_that_is_named() {
    assert!(read("LICENSE").contains("Apache License"));
    assert!(read("Cargo.toml").contains("license = \"Apache-2.0\""));
}

#[test]
fn ci_script_has_all_checks() {
    let script = read(".ci/run");
    for step in [
        "cargo fmt --all --check",
        "cargo clippy --workspace",
        "cargo test --workspace",
    ] {
        assert!(script.contains(step), "{step}");
    }
}

#[test]
fn the_table_has_the_rows_of_its_program() {
    let program = read("benches/comparison.py").replace("{PIECES:,}", "20,000");
    let readme = read("README.md");
    let table = readme
        .split("| | this | 0.117.0 |\n|---|---|---|\n")
        .nth(1)
        .unwrap();
    let rows: Vec<_> = table
        .lines()
        .take_while(|line| line.starts_with("| "))
        .collect();
    assert_eq!(rows.len(), 6);
    for row in rows {
        let name = row.trim_start_matches("| ").split(" | ").next().unwrap();
        assert!(program.contains(&format!("\"{name}\"")), "{name}");
    }
}

/// The program alone in a folder, found by its name on the path.
#[test]
fn one_file_shows_the_demo_and_leaves_it_behind() {
    let place = tempfile::tempdir().unwrap();
    let folder = |name: &str| {
        let path = place.path().join(name);
        fs::create_dir(&path).unwrap();
        path
    };
    let (alone, home, temporary) = (folder("alone"), folder("home"), folder("temporary"));
    let built = env!("CARGO_BIN_EXE_codex");
    let program = alone.join("codex");
    if fs::hard_link(built, &program).is_err() {
        copy_executable(Path::new(built), &program).unwrap();
    }
    let path = format!("{}:{}", alone.display(), std::env::var("PATH").unwrap());
    let shell = |script: &str| {
        let mut command = Command::new("sh");
        command
            .args(["-c", script])
            .env("PATH", &path)
            .env("HOME", &home);
        command
            .env_remove("CODEX_HOME")
            .env("TMPDIR", &temporary)
            .stdin(Stdio::null());
        stdout_of(&command.output().unwrap())
    };
    assert_eq!(shell("command -v codex").trim(), program.to_str().unwrap());
    let output = shell("codex demo --auto");
    for name in ["rollout  ", "trace    ", "page     file://"] {
        let mut lines = output.lines().map(str::trim);
        let path = lines.find_map(|line| line.strip_prefix(name)).unwrap();
        assert!(path.starts_with(temporary.to_str().unwrap()), "{path}");
        assert!(fs::exists(path).unwrap(), "{path}");
    }
    assert_eq!(
        fs::read_dir(&home).unwrap().count(),
        0,
        "the home is not what it was"
    );
}

/// What a server of the Chat Completions API streams.
fn chat(text: &str) -> HttpReply {
    let choice = json!({ "index": 0, "delta": { "content": text }, "finish_reason": "stop" });
    let chunk = json!({ "id": "c", "choices": [choice] });
    let reply = HttpReply::status(200).header("content-type", "text/event-stream");
    reply.body(format!("data: {chunk}\n\ndata: [DONE]\n\n"))
}

#[tokio::test]
async fn local_servers_are_asked_without_a_key() {
    let model = ModelServer::start([]).await.unwrap();
    model.always(HttpReply::stream(&codex_test_support::sse::text(
        "Responses.",
    )));
    model.push_for("/chat/completions", chat("Chat."));
    let place = ExecFolders::new();
    let providers = format!(
        "[model_providers.plain]\nname = \"Plain\"\nbase_url = \"{0}\"\n\
         [model_providers.older]\nname = \"Older\"\nbase_url = \"{0}\"\nwire_api = \"chat\"\n",
        model.base_url()
    );
    fs::write(place.home.path().join("config.toml"), providers).unwrap();
    for (provider, answer) in [
        ("ollama", "Responses.\n"),
        ("lmstudio", "Responses.\n"),
        ("llamacpp", "Responses.\n"),
        ("vllm", "Responses.\n"),
        ("plain", "Responses.\n"),
        ("older", "Chat.\n"),
    ] {
        let setting = format!("model_provider={provider}");
        let mut command = place.command(&["-c", &setting, "-m", "a-model", "hi"]);
        command.env("CODEX_OSS_BASE_URL", model.base_url());
        let output: Output = tokio::task::spawn_blocking(move || command.output().unwrap())
            .await
            .unwrap();
        assert_eq!(stdout_of(&output), answer, "{provider}");
    }
    let requests = model.requests();
    let keys: Vec<_> = requests
        .iter()
        .filter_map(|request| request.header("authorization"))
        .collect();
    assert_eq!(keys, Vec::<&str>::new());
}

/// The methods that a document names in its tables. `/more` after `thread/one` stands for `thread/more`.
fn named_methods(document: &str, heading: &str) -> BTreeSet<String> {
    let text = read(document);
    let part = text
        .split(heading)
        .nth(1)
        .unwrap()
        .split("\n## ")
        .next()
        .unwrap();
    let mut names = BTreeSet::new();
    for row in part.lines().filter(|line| line.starts_with("| `")) {
        let mut family = String::new();
        for name in row
            .split(" | ")
            .next()
            .unwrap()
            .split('`')
            .skip(1)
            .step_by(2)
        {
            if let Some(last) = name.strip_prefix('/') {
                names.insert(format!("{family}/{last}"));
            } else {
                family = name
                    .rsplit_once('/')
                    .map_or(name, |(family, _)| family)
                    .to_owned();
                names.insert(name.to_owned());
            }
        }
    }
    names
}

#[tokio::test]
async fn methods_missing_in_the_status_are_unsupported() {
    let all = named_methods("docs/methods.md", "## Requests of the client");
    let works = named_methods("docs/status/methods.md", "# Methods of the app-server");
    assert!(
        all.len() > 70 && works.len() > 60,
        "{} of {}",
        works.len(),
        all.len()
    );
    let corpus = read("crates/app-server-protocol/tests/corpus/every_method.jsonl");
    let examples: Vec<Value> = corpus
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["sent"].take())
        .collect();
    let mut serving = Serving::start().await;
    for method in all.difference(&works) {
        let example = examples
            .iter()
            .find(|sent| sent["method"] == method.as_str());
        let params = example.unwrap()["params"].clone();
        let output = format!("`{method}` is not supported by this version");
        serving.refused(method, params, -32603, &output).await;
    }
    serving.finish().await;
}
