//! `codex app-server --print-startup-config`: whether a server would start with the settings, and what an administrator
//! requires. What programs ask before they start a server.

use anyhow::{Context, bail};
use codex_client_commands::{ServerChoice, call};
use codex_config::RequestParams;
use codex_engine_host::wiring;
use serde_json::{Value, json};

use crate::print::answer_text;
use crate::settings_flags::SettingsFlags;

/// The code of JSON-RPC that servers answer with where the settings cannot be used.
const INVALID_REQUEST: i64 = -32600;

/// Prints one line: what is required, or why the settings cannot be used, which is an error too.
pub(crate) fn print(settings: &SettingsFlags) -> anyhow::Result<()> {
    let cwd = std::env::current_dir().context("cannot determine the working folder")?;
    let settings = settings.overrides()?;
    let loaded = wiring::load_config(Some(&cwd), &settings, &RequestParams::default());
    if let Err(error) = loaded {
        answer_text(&format!("{}\n", refusal(&format!("{error:#}"))));
        bail!("the settings cannot be used");
    }
    ServerChoice::here(settings).run(async |mut client| {
        let version = env!("CARGO_PKG_VERSION");
        client.initialize("codex_startup_config", version).await?;
        let required = call(&mut client, "configRequirements/read", &json!({})).await?;
        let answer = json!({ "appServerVersion": version, "configRequirements": required });
        answer_text(&format!("{answer}\n"));
        Ok(())
    })
}

fn refusal(reason: &str) -> Value {
    json!({ "error": {
        "code": INVALID_REQUEST,
        "message": format!("failed to load configuration: {reason}"),
        "data": { "reason": "configLoad", "detail": reason },
    } })
}
