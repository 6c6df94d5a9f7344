//! Measures loading a typical configuration: parsing alone, and everything. Prints microseconds.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program that measures and prints"
)]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::hint::black_box;
use std::time::{Duration, Instant};

use codex_config::schema::ConfigFile;
use codex_config::{Config, ConfigView, Environment, LoadRequest, Overrides, RequestParams};

const ROUNDS: u32 = 2000;

/// A file of about 120 lines, with 30 projects.
fn typical() -> String {
    let mut text = String::from(
        r#"model = "a-model"
model_provider = "local"
model_reasoning_effort = "high"
approval_policy = "on-request"
sandbox_mode = "workspace-write"
notify = ["notify-send", "done"]

[sandbox_workspace_write]
writable_roots = ["/data", "~/cache"]
network_access = true

[model_providers.local]
name = "Local"
base_url = "http://localhost:8080/v1"
http_headers = { "x-one" = "1", "x-two" = "2" }

[profiles.fast]
model = "small"
model_reasoning_effort = "low"

[mcp_servers.docs]
command = "docs-server"
args = ["--stdio"]
env = { TOKEN = "x" }

[shell_environment_policy]
inherit = "core"
exclude = ["AWS_*"]

[features]
undo = true
js_repl = false

[tui]
theme = "dark"
"#,
    );
    for at in 0..30 {
        write!(
            text,
            "\n[projects.\"/home/somebody/src/project-{at}\"]\ntrust_level = \"trusted\"\n"
        )
        .unwrap();
    }
    text
}

fn time(name: &str, mut work: impl FnMut()) {
    work();
    let mut best = Duration::MAX;
    let start = Instant::now();
    for _ in 0..ROUNDS {
        let round = Instant::now();
        work();
        best = best.min(round.elapsed());
    }
    let mean = start.elapsed() / ROUNDS;
    println!(
        "{name:<32} mean {:>7.1} us  best {:>7.1} us",
        micros(mean),
        micros(best)
    );
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let repo = folder.path().join("repo/a/b");
    std::fs::create_dir_all(&repo).unwrap();
    std::fs::create_dir_all(folder.path().join("repo/.git")).unwrap();
    let text = typical();
    std::fs::write(folder.path().join("config.toml"), &text).unwrap();
    let env = Environment::with_home(folder.path());
    let request = LoadRequest {
        env: &env,
        cwd: Some(&repo),
        flags: &Overrides::default(),
        params: &RequestParams::default(),
        host_features: &BTreeMap::new(),
    };
    time("parse and decode the text", || {
        black_box(toml::from_str::<ConfigFile>(black_box(&text)).unwrap());
    });
    time("load from disk, no project", || {
        let request = LoadRequest {
            cwd: None,
            ..request
        };
        black_box(Config::load(request).unwrap());
    });
    time("load from disk, in a project", || {
        black_box(Config::load(request).unwrap());
    });
    time("settings for a client", || {
        black_box(ConfigView::read(request).unwrap());
    });
}
