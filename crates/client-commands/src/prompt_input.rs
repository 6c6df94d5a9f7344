//! What the model would be sent before and with a prompt.
//!
//! A turn runs with the settings of the user against a model on the loopback interface that keeps the request and
//! answers nothing. The thread is not stored, and no provider is asked.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use codex_config::{KeyPath, Overrides};
use codex_engine_host::console::Console;
use codex_scenario::{HttpReply, HttpResponder, HttpServer, ReceivedRequest};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::server::ServerChoice;

/// The name of the provider, which the settings of the user cannot have.
const PROVIDER: &str = "debug-prompt-input";

#[derive(Debug, Args)]
#[command(after_help = "\
MCP servers and hooks of the configuration run as they do before a turn. Nothing is stored, and no model is \
asked.")]
pub struct PromptInputArguments {
    /// The prompt.
    prompt: Option<String>,
    /// An image to send with the prompt; several are separated by commas.
    #[arg(short, long = "image", value_delimiter = ',', value_name = "FILE")]
    images: Vec<PathBuf>,
}

/// Keeps the input of the first request.
struct FirstRequest(Mutex<Option<oneshot::Sender<Value>>>);

impl HttpResponder for FirstRequest {
    fn reply(&self, request: ReceivedRequest) -> HttpReply {
        if request.path.ends_with("/responses")
            && let Some(sender) = self.0.lock().take()
        {
            let _ = sender.send(request.json()["input"].take());
        }
        HttpReply::silence()
    }
}

/// Prints the input as JSON.
///
/// # Errors
/// The turn sends no request, or the settings cannot be used.
pub fn print_prompt_input(
    arguments: PromptInputArguments,
    mut settings: Overrides,
    console: &mut Console<'_>,
) -> anyhow::Result<()> {
    let cwd = std::env::current_dir().context("cannot determine the working folder")?;
    let (sender, input) = oneshot::channel();
    let keeper = Arc::new(FirstRequest(Mutex::new(Some(sender))));
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let provider = [
        ("name", "Nobody".into()),
        ("base_url", format!("http://{address}/v1").into()),
        ("wire_api", "responses".into()),
        ("requires_openai_auth", false.into()),
        ("supports_websockets", false.into()),
    ];
    for (key, value) in provider {
        set(&mut settings, &["model_providers", PROVIDER, key], value)?;
    }
    set(&mut settings, &["model_provider"], PROVIDER.into())?;
    let input = ServerChoice::here(settings).run(async |mut client| {
        let _model = HttpServer::serve(listener, keeper)?;
        let version = env!("CARGO_PKG_VERSION");
        client.initialize("codex_debug", version).await?;
        let params = json!({ "cwd": cwd, "ephemeral": true, "approvalPolicy": "never" });
        let started = client.call("thread/start", &params).await?;
        let images = arguments.images.iter().map(|path| {
            let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            json!({ "type": "localImage", "path": path })
        });
        let prompt = arguments.prompt.unwrap_or_default();
        let parts = images.chain([json!({ "type": "text", "text": prompt })]);
        let params = json!({
            "threadId": started["thread"]["id"],
            "input": parts.collect::<Vec<_>>(),
        });
        client.call("turn/start", &params).await?;
        let input = tokio::select! {
            input = input => input.context("the turn sent no request")?,
            ended = turn_end(&mut client) => anyhow::bail!("the turn sent no request: {}", ended?),
        };
        drop(client);
        Ok(input)
    })?;
    writeln!(console.output(), "{input:#}")?;
    Ok(())
}

fn set(settings: &mut Overrides, key: &[&str], value: toml::Value) -> anyhow::Result<()> {
    let key = key.iter().copied();
    let path = KeyPath::from_segments(key).context("the key of a setting")?;
    settings.set(&path, value);
    Ok(())
}

/// How the turn ended without a request.
async fn turn_end(client: &mut codex_client::Client) -> anyhow::Result<String> {
    use codex_app_server_protocol::ServerNotification;
    use codex_client::ServerMessage;
    loop {
        if let ServerMessage::Notification(notification) = client.next().await?
            && let ServerNotification::TurnCompleted(it) = &*notification
        {
            let error = it.turn.error.as_ref();
            return Ok(error.map_or_else(|| "it ended".to_owned(), |error| error.message.clone()));
        }
    }
}
