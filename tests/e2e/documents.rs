//! What the documents say is so: their commands run, their examples load, their links lead somewhere.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use codex_scenario::Scenario;
use codex_test_support::{HttpReply, ModelServer, sse};
use tempfile::TempDir;

use crate::trace_reduce::unpack;
use crate::{codex, repository};

/// Commands that are not run here, and why.
const UNTESTED_COMMANDS: [&str; 2] = [
    "cargo test --workspace",                   // This is it.
    "cargo install --locked --path crates/cli", // Builds everything once more; the path is looked at.
];

fn read(document: &str) -> String {
    fs::read_to_string(repository().join(document)).unwrap()
}

/// The blocks of a language in a document.
fn blocks(document: &str, language: &str) -> Vec<String> {
    let text = read(document);
    let begin = format!("```{language}\n");
    text.split(&begin)
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap().to_owned())
        .collect()
}

/// The commands of a document: the lines of its blocks, without their comments.
fn commands(document: &str) -> Vec<String> {
    let blocks = blocks(document, "sh").concat();
    let commands = blocks.lines().map(|line| {
        let command = line.split("  #").next().unwrap_or_default();
        command.trim().to_owned()
    });
    commands.filter(|command| !command.is_empty()).collect()
}

/// A folder as somebody has it who follows the document: the program on the path, a provider in the
/// configuration, the scenarios and a bundle at hand.
struct DocumentFolder {
    home: TempDir,
    folder: TempDir,
    model: String,
}

impl DocumentFolder {
    fn new(model: &ModelServer) -> Self {
        let (home, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let config = blocks("README.md", "toml").remove(0);
        let usual = "https://models.example.com/v1";
        assert!(config.contains(usual), "{config}");
        fs::create_dir(home.path().join(".codex")).unwrap();
        let path = home.path().join(".codex/config.toml");
        fs::write(path, config.replace(usual, &model.base_url())).unwrap();
        let scenarios = repository().join("scenarios").canonicalize().unwrap();
        std::os::unix::fs::symlink(scenarios, folder.path().join("scenarios")).unwrap();
        let bundle = unpack(&folder.path().join("unpacked"));
        fs::rename(bundle, folder.path().join("BUNDLE")).unwrap();
        Self {
            home,
            folder,
            model: model.base_url(),
        }
    }

    fn run(&self, command: &str) -> Output {
        let command = command.replace("cargo run -- ", "codex ");
        let program = Path::new(env!("CARGO_BIN_EXE_codex"));
        let mut path = program.parent().unwrap().as_os_str().to_owned();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap());
        Command::new("sh")
            .args(["-c", &command])
            .env("PATH", path)
            .env("HOME", self.home.path())
            .env_remove("CODEX_HOME")
            .env("MY_PROVIDER_KEY", "the-key")
            .env("CODEX_OSS_BASE_URL", &self.model)
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }
}

#[tokio::test]
async fn every_command_of_the_readme_runs() {
    let model = ModelServer::start([]).await.unwrap();
    model.always(HttpReply::stream(&sse::text("An answer.")));
    let reader = DocumentFolder::new(&model);
    let commands = commands("README.md");
    assert!(commands.len() > 15, "{commands:?}");
    let here: Vec<_> = commands
        .into_iter()
        .filter(|command| !UNTESTED_COMMANDS.contains(&command.as_str()))
        .collect();
    let run = move || {
        for command in here {
            let output = reader.run(&command);
            assert!(
                output.status.success(),
                "{command}: {}{}",
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            );
        }
    };
    tokio::task::spawn_blocking(run).await.unwrap();
    let keys: Vec<_> = model
        .requests()
        .iter()
        .map(|request| request.header("authorization").map(str::to_owned))
        .collect();
    assert!(
        keys.contains(&Some("Bearer the-key".to_owned())),
        "{keys:?}"
    );
    assert!(keys.contains(&None), "a local model got a key: {keys:?}");
}

#[test]
fn readme_has_commands_that_this_test_does_not_run() {
    let readme = commands("README.md");
    for command in UNTESTED_COMMANDS {
        assert!(readme.iter().any(|known| known == command), "{command}");
    }
    assert!(repository().join("crates/cli/Cargo.toml").exists());
}

#[test]
fn examples_of_scenarios_load() {
    for example in blocks("docs/scenarios.md", "toml") {
        Scenario::from_toml("docs/scenarios.md", &example).unwrap();
    }
}

#[test]
fn every_ready_scenario_is_listed_with_its_description() {
    let listed = read("docs/scenarios.md");
    for entry in fs::read_dir(repository().join("scenarios")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let description = Scenario::load(&path).unwrap().description;
        let row = format!("| [{name}](../scenarios/{name}) | {description} |");
        assert!(listed.contains(&row), "not in the list:\n{row}");
    }
}

/// The test of a client that the document shows passes.
#[test]
#[ignore = "needs python3; .ci/run runs it"]
fn the_example_of_a_test_passes() {
    let example = blocks("docs/scenarios.md", "python").remove(0);
    let program = env!("CARGO_BIN_EXE_codex");
    let example = example.replace("[\"codex\",", &format!("[\"{program}\","));
    let run = Command::new("python3")
        .args(["-c", &example])
        .current_dir(repository())
        .output()
        .expect("python3 starts");
    let errors = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{errors}");
}

#[test]
fn links_lead_to_files() {
    let mut documents: Vec<PathBuf> = vec!["README.md".into(), "CONTRIBUTING.md".into()];
    for folder in ["docs", "docs/status"] {
        let entries = fs::read_dir(repository().join(folder)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name());
        let pages = names.filter(|name| Path::new(name).extension().is_some());
        documents.extend(pages.map(|name| Path::new(folder).join(name)));
    }
    let mut dead = BTreeSet::new();
    for document in documents {
        let text = read(document.to_str().unwrap());
        for link in text.split("](").skip(1) {
            let link = link.split([')', '#']).next().unwrap_or_default();
            if link.is_empty() || link.contains("://") || link.contains(' ') {
                continue;
            }
            let folder = repository().join(document.parent().unwrap());
            if !folder.join(link).exists() {
                dead.insert(format!("{}: {link}", document.display()));
            }
        }
    }
    assert_eq!(dead, BTreeSet::new());
}

/// The help says how each command ends, so that scripts can rely on it.
#[test]
fn script_commands_have_documented_exit_codes() {
    for command in [
        &["exec"][..],
        &["exec", "review"],
        &["demo"],
        &["app-server"],
        &["doctor"],
        &["login"],
        &["login", "status"],
        &["debug", "app-server", "send"],
        &["debug", "trace-reduce"],
        &["debug", "trace-view"],
        &["debug", "trace-export"],
        &["debug", "trace-redact"],
        &["debug", "trace-convert"],
        &["debug", "trace-diff"],
        &["debug", "trace-explain"],
    ] {
        let output = codex(&[command, &["--help"]].concat());
        let help = String::from_utf8(output.stdout).unwrap();
        assert!(help.contains("Exit status: "), "{command:?}: {help}");
        let too_wide = help.lines().find(|line| line.chars().count() > 100);
        assert_eq!(too_wide, None, "{command:?}");
    }
}
