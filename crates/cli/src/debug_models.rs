//! `codex debug models`: the data about models, as servers list them.

use std::io::Write;

use anyhow::Context;
use clap::Args;
use codex_config::RequestParams;
use codex_engine_host::resources::EngineResources;
use codex_engine_host::wiring;
use codex_model_client::ModelCatalog;
use serde_json::json;

use crate::print;
use crate::settings_flags::SettingsFlags;

#[derive(Debug, Args)]
pub(crate) struct ModelsArguments {
    /// Only what is built in; no server is asked.
    #[arg(long)]
    bundled: bool,
}

pub(crate) fn run(arguments: &ModelsArguments, settings: &SettingsFlags) -> anyhow::Result<()> {
    let catalog = if arguments.bundled {
        ModelCatalog::bundled()
    } else {
        let (flags, params) = (settings.overrides()?, RequestParams::default());
        let config = wiring::load_config(None, &flags, &params)?;
        let hosted = config.providers.get("openai");
        let hosted = hosted.context("there is no provider of hosted models")?;
        let store = EngineResources::new(&config).models(&config, hosted)?;
        codex_engine_host::runtime::here()?
            .block_on(store.available())
            .catalog
    };
    let text = serde_json::to_string(&json!({ "models": catalog.models() }))?;
    writeln!(print::output(), "{text}")?;
    Ok(())
}
