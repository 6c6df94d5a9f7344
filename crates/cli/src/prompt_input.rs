//! `codex debug prompt-input`: what the model would be sent before and with a prompt.
//!
//! A turn runs with the settings of the user against a model on the loopback interface that keeps the request and
//! answers nothing. The thread is not stored, and no provider is asked.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use codex_scenario::{HttpReply, HttpResponder, HttpServer, ReceivedRequest};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::connected_server;
use crate::print;
use crate::remote_flags::RemoteFlags;
use crate::settings_flags::SettingsFlags;
use codex_engine_host::host::HostPurpose;

/// The name of the provider, which the settings of the user cannot have.
const PROVIDER: &str = "debug-prompt-input";

#[derive(Debug, Args)]
#[command(after_help = "\
MCP servers and hooks of the configuration run as they do before a turn. Nothing is stored, and no model is \
asked.")]
pub(crate) struct PromptInputArguments {
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

pub(crate) fn run(
    arguments: PromptInputArguments,
    mut settings: SettingsFlags,
) -> anyhow::Result<ExitCode> {
    let cwd = std::env::current_dir().context("cannot determine the working folder")?;
    let (sender, input) = oneshot::channel();
    let keeper = Arc::new(FirstRequest(Mutex::new(Some(sender))));
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    for (key, value) in [
        ("name", "\"Nobody\"".to_owned()),
        ("base_url", format!("\"http://{address}/v1\"")),
        ("wire_api", "\"responses\"".to_owned()),
        ("requires_openai_auth", "false".to_owned()),
        ("supports_websockets", "false".to_owned()),
    ] {
        settings.set(&format!("model_providers.{PROVIDER}.{key}"), &value);
    }
    settings.set("model_provider", &format!("\"{PROVIDER}\""));
    let input = connected_server::run(
        &RemoteFlags::default(),
        &settings,
        None,
        HostPurpose::Clients,
        async |mut client| {
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
        },
    )?;
    writeln!(print::output(), "{input:#}")?;
    Ok(ExitCode::SUCCESS)
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
