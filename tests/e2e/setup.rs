//! What most tests begin with: a home folder whose model follows a script, and a server past the handshake.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use codex_test_support::{AppServer, ModelServer, write_executable};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The binary under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_codex");

/// A configuration with these settings whose model is `model`.
pub(crate) fn scripted_config(model: &ModelServer, settings: &str) -> String {
    format!(
        "model = \"scripted\"\nmodel_provider = \"scripted\"\n{settings}\n\
         [model_providers.scripted]\nname = \"Scripted\"\nbase_url = \"{}\"\n\
         wire_api = \"responses\"\nrequest_max_retries = 0\nstream_max_retries = 0\n",
        model.base_url()
    )
}

/// A home folder with this configuration.
pub(crate) fn home_with(config: &str) -> TempDir {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("config.toml"), config).unwrap();
    home
}

/// A home whose model is `model`, with commands that run without a sandbox and these settings besides.
pub(crate) fn scripted_home(model: &ModelServer, settings: &str) -> TempDir {
    let settings = format!("sandbox_mode = \"danger-full-access\"\n{settings}");
    home_with(&scripted_config(model, &settings))
}

/// The same, with approvals for every command that is not known to be safe.
pub(crate) fn untrusted_home(model: &ModelServer) -> TempDir {
    scripted_home(model, "approval_policy = \"untrusted\"")
}

/// A server for a client that knows the stable methods only.
pub(crate) async fn server(home: impl AsRef<Path>) -> AppServer {
    server_in(home, &[]).await
}

/// The same, with these environment variables.
pub(crate) async fn server_in(home: impl AsRef<Path>, variables: &[(&str, &str)]) -> AppServer {
    let mut server = AppServer::start_in(PROGRAM, home.as_ref(), variables).unwrap();
    server.initialize().await;
    server
}

/// A server for a client that also uses experimental methods.
pub(crate) async fn experimental_server(home: impl AsRef<Path>) -> AppServer {
    let mut server = AppServer::start(PROGRAM, home.as_ref()).unwrap();
    server.initialize_experimental().await;
    server
}

/// The events of a response, with ids of its own for the response and its message.
pub(crate) fn numbered(mut events: Vec<Value>) -> Vec<Value> {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    for event in &mut events {
        if event["item"]["id"] == "msg" {
            event["item"]["id"] = json!(format!("msg_{number}"));
        }
        if event["item_id"].is_string() {
            event["item_id"] = json!(format!("msg_{number}"));
        }
        if event["response"]["id"].is_string() {
            event["response"]["id"] = json!(format!("resp_{number}"));
        }
    }
    events
}

/// What a catalogue says of the scripted model.
pub(crate) fn catalogue_entry() -> Value {
    json!({
        "slug": "scripted", "display_name": "Scripted", "description": null,
        "supported_reasoning_levels": [], "shell_type": "shell_command", "visibility": "list",
        "supported_in_api": true, "priority": 0, "supports_reasoning_summaries": false,
        "support_verbosity": false, "supports_parallel_tool_calls": false,
        "truncation_policy": { "mode": "bytes", "limit": 10_000 },
    })
}

/// Writes `models.json`, a catalogue in which the scripted model can search for tools.
pub(crate) fn write_searching_model(home: &Path) {
    let mut model = catalogue_entry();
    model["supports_search_tool"] = json!(true);
    let models = json!({ "models": [model] });
    fs::write(home.join("models.json"), models.to_string()).unwrap();
}

/// A program that runs ours where an administrator set these limits.
#[cfg(unix)]
pub(crate) fn limited(home: &TempDir, requirements: &str) -> std::path::PathBuf {
    let spaces = "unshare --user --map-root-user --mount sh -c";
    let file = home.path().join("limits.toml");
    fs::write(&file, requirements).unwrap();
    let script = home.path().join("limited.sh");
    let text = format!(
        "#!/bin/sh\nexec {spaces} 'mount -t tmpfs none /etc && mkdir /etc/codex && \
         cp {} /etc/codex/requirements.toml && exec {PROGRAM} \"$@\"' sh \"$@\"\n",
        file.display()
    );
    write_executable(&script, text).unwrap();
    script
}
