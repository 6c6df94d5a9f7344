//! Every sentence of the README names the tests that hold it, and those tests are there. The commands
//! that it shows are run by `documents`.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Output, Stdio};

use codex_test_support::{HttpReply, ModelServer};
use serde_json::{Value, json};

use crate::exec::Place;
use crate::serving::Serving;
use crate::{repository, stdout_of};

/// How a sentence begins, and what holds it: `module::test` below `tests/e2e`, or `file::test`.
const CLAIMS: &[(&str, &[&str])] = &[
    (
        "The local engine behind AI coding assistants: one program",
        &["app_server::a_turn_reads_back_as_it_was_streamed"],
    ),
    (
        "It keeps threads of conversation, asks a model, runs commands",
        &[
            "stored_threads::threads_are_listed_named_archived_and_deleted",
            "escapes::the_tools_work_where_they_may",
            "escapes::the_shell_stays_inside",
            "threads::a_declined_command_ends_with_what_the_model_was_told",
            "app_server::a_turn_reads_back_as_it_was_streamed",
        ],
    ),
    (
        "It speaks the protocol of the `codex` app-server 0.117",
        &[
            "generate::json_schema",
            "stored_threads::rollouts_of_other_versions_are_listed_read_and_resumed",
            "crates/protocol/tests/corpus.rs::everything_writes_back_equal",
        ],
    ),
    (
        "- **You use an assistant in an editor**",
        &["layers::arrows_point_down"],
    ),
    (
        "- **You write such a client**",
        &["scenarios::every_ready_scenario_is_played_here"],
    ),
    (
        "- **You run an assistant in scripts or CI**",
        &["exec::json_is_an_event_a_line"],
    ),
    (
        "- **You want to know what an assistant did**",
        &["trace_record::a_turn_with_tools"],
    ),
    (
        "It is under construction:",
        &["readme::what_the_status_does_not_name_is_not_supported"],
    ),
    (
        "You need Rust 1.95 or later",
        &["readme::the_rust_that_is_needed_is_the_one_that_is_named"],
    ),
    (
        "The first of them builds what it needs.",
        &["documents::every_command_of_the_readme_runs"],
    ),
    (
        "Then it shows a session as it streams:",
        &["demo::the_tour_shows_a_whole_session_and_leaves_it_behind"],
    ),
    (
        "Engine, sandbox and protocol are the real ones.",
        &["demo::the_tour_shows_a_whole_session_and_leaves_it_behind"],
    ),
    (
        "What happened is left behind in a temporary folder:",
        &["readme::one_file_shows_the_demo_and_leaves_it_behind"],
    ),
    (
        "It is one program without helpers beside it.",
        &["readme::one_file_shows_the_demo_and_leaves_it_behind"],
    ),
    (
        "Everything else here assumes",
        &["documents::every_command_of_the_readme_runs"],
    ),
    (
        "Without a key, with the model's part",
        &["documents::every_command_of_the_readme_runs"],
    ),
    (
        "With a model: name a provider in",
        &["documents::every_command_of_the_readme_runs"],
    ),
    (
        "Any server that speaks the Responses API will do:",
        &["documents::every_command_of_the_readme_runs"],
    ),
    (
        "The answer is on standard output, progress on standard error;",
        &[
            "exec::the_last_message_is_all_that_stands_on_standard_output",
            "exec::json_is_an_event_a_line",
        ],
    ),
    (
        "Nobody is asked: what would need",
        &["exec::nobody_is_asked_and_nothing_happens_without_the_right"],
    ),
    (
        "`codex exec --help` has the rest:",
        &[
            "exec::a_thread_goes_on_where_it_was",
            "exec_threads::a_review_ends_with_its_findings",
            "exec::what_is_asked_for_reaches_the_model",
        ],
    ),
    (
        "Ollama and LM Studio are known by name,",
        &[
            "readme::local_servers_are_asked_without_a_key",
            "crates/config/src/config/provider.rs::built_in_providers_take_their_address_from_settings_then_variables",
        ],
    ),
    (
        "Other servers are a provider like the one above",
        &["readme::local_servers_are_asked_without_a_key"],
    ),
    (
        "One that only speaks Chat Completions",
        &["readme::local_servers_are_asked_without_a_key"],
    ),
    (
        "An editor extension starts `codex app-server`.",
        &["app_server::a_turn_reads_back_as_it_was_streamed"],
    ),
    (
        "Where it has a setting for the program,",
        &["readme::one_file_shows_the_demo_and_leaves_it_behind"],
    ),
    (
        "Whether an extension finds every method",
        &["readme::what_the_status_does_not_name_is_not_supported"],
    ),
    (
        "To try one without a key, have it start",
        &["documents::every_command_of_the_readme_runs"],
    ),
    (
        "Each takes `--experimental` to include",
        &[
            "generate::typescript",
            "generate::json_schema",
            "generate::openrpc",
        ],
    ),
    (
        "[docs/protocol.md](docs/protocol.md) is a guide",
        &["documents::links_lead_to_files"],
    ),
    (
        "With `CODEX_ROLLOUT_TRACE_ROOT=DIR` in its environment",
        &["trace_record::a_turn_with_tools"],
    ),
    (
        "Commands and patches of the model pass one gate,",
        &[
            "trust::rules_of_a_project_count_once_it_is_trusted",
            "escapes::patches_stay_inside",
            "escapes::unified_exec_stays_inside",
        ],
    ),
    (
        "[docs/security.md](docs/security.md) says what that",
        &["documents::links_lead_to_files"],
    ),
    (
        "With the `codex` 0.117.0 of npm,",
        &["readme::the_table_has_the_rows_of_its_program"],
    ),
    (
        "What it does not have is in [docs/status.md]",
        &["readme::what_the_status_does_not_name_is_not_supported"],
    ),
    (
        "There is no terminal UI;",
        &["command_line::help_names_the_commands"],
    ),
    (
        "[docs/architecture.md](docs/architecture.md) has",
        &["layers::arrows_point_down"],
    ),
    (
        "`.ci/run` is everything that must pass.",
        &["readme::what_must_pass_is_in_one_script"],
    ),
    (
        "Apache-2.0, see [LICENSE](LICENSE).",
        &["readme::the_licence_is_the_one_that_is_named"],
    ),
];

fn read(path: &str) -> String {
    fs::read_to_string(repository().join(path)).unwrap()
}

/// The prose of the README in sentences: without headings, tables and code.
fn sentences() -> Vec<String> {
    let text = read("README.md");
    let prose: String = text
        .split("```")
        .step_by(2)
        .collect::<Vec<_>>()
        .join("\n\n");
    let prose = prose.replace("\n- ", "\n\n- ");
    let paragraphs = prose.split("\n\n").map(|paragraph| {
        let words: Vec<_> = paragraph.split_whitespace().collect();
        words.join(" ")
    });
    let told = paragraphs.filter(|text| !text.is_empty() && !text.starts_with(['#', '|']));
    told.flat_map(|paragraph| in_sentences(&paragraph))
        .collect()
}

fn in_sentences(paragraph: &str) -> Vec<String> {
    let mut sentences = vec![String::new()];
    for word in paragraph.split(' ') {
        let begins = word.starts_with(|first: char| first.is_uppercase() || "`[".contains(first));
        let Some(last) = sentences.last_mut() else {
            break;
        };
        if begins && last.ends_with('.') {
            sentences.push(word.to_owned());
            continue;
        }
        if !last.is_empty() {
            last.push(' ');
        }
        last.push_str(word);
    }
    sentences
}

#[test]
fn every_sentence_names_what_holds_it() {
    let sentences = sentences();
    let mut untold: BTreeSet<_> = CLAIMS.iter().map(|(beginning, _)| *beginning).collect();
    for sentence in &sentences {
        let claim = CLAIMS
            .iter()
            .find(|(beginning, _)| sentence.starts_with(beginning));
        let Some((beginning, _)) = claim else {
            panic!("no test is named for: {sentence}");
        };
        untold.remove(beginning);
    }
    assert_eq!(
        untold,
        BTreeSet::new(),
        "the README does not say it any more"
    );
}

#[test]
fn what_holds_a_sentence_is_there() {
    for test in CLAIMS.iter().flat_map(|(_, tests)| *tests) {
        let (place, name) = test.rsplit_once("::").unwrap();
        let file = match place.contains('/') {
            true => place.to_owned(),
            false => format!("tests/e2e/{place}.rs"),
        };
        assert!(read(&file).contains(&format!("fn {name}(")), "{test}");
    }
}

#[test]
fn the_rust_that_is_needed_is_the_one_that_is_named() {
    assert!(read("Cargo.toml").contains("rust-version = \"1.95\""));
}

#[test]
fn the_licence_is_the_one_that_is_named() {
    assert!(read("LICENSE").contains("Apache License"));
    assert!(read("Cargo.toml").contains("license = \"Apache-2.0\""));
}

#[test]
fn what_must_pass_is_in_one_script() {
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
        fs::copy(built, &program).unwrap();
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
    let told = shell("codex demo --auto");
    for name in ["rollout  ", "trace    ", "page     file://"] {
        let mut lines = told.lines().map(str::trim);
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
    let place = Place::new();
    let providers = format!(
        "[model_providers.plain]\nname = \"Plain\"\nbase_url = \"{0}\"\n\
         [model_providers.older]\nname = \"Older\"\nbase_url = \"{0}\"\nwire_api = \"chat\"\n",
        model.base_url()
    );
    fs::write(place.home.path().join("config.toml"), providers).unwrap();
    for (provider, answer) in [
        ("ollama", "Responses.\n"),
        ("lmstudio", "Responses.\n"),
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
async fn what_the_status_does_not_name_is_not_supported() {
    let all = named_methods("docs/methods.md", "## Requests of the client");
    let works = named_methods("docs/status.md", "## Methods of the app-server");
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
        let told = format!("`{method}` is not supported by this version");
        serving.refused(method, params, -32603, &told).await;
    }
    serving.finish().await;
}
