//! Plugins and marketplaces from a terminal, as a client of a server in this process.

mod listing;

use std::path::Path;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use codex_client::Client;
use codex_config::Overrides;
use codex_engine_host::console::Console;
use codex_plugins::MarketplaceSource;
use serde_json::{Value, json};

use crate::server::{ServerChoice, call};

#[derive(Debug, Args)]
pub struct PluginArguments {
    #[command(subcommand)]
    command: PluginCommand,
}

#[derive(Debug, Subcommand)]
enum PluginCommand {
    /// List the plugins of all marketplaces, and which are installed.
    List(PluginListArguments),
    /// Show one plugin.
    Read(PluginNameArguments),
    /// Install a plugin, or replace the installed version.
    #[command(visible_alias = "add")]
    Install(PluginNameArguments),
    /// Remove an installed plugin.
    #[command(visible_alias = "remove")]
    Uninstall(PluginNameArguments),
    /// List, add and remove marketplaces: folders or repositories with plugins.
    #[command(subcommand)]
    Marketplace(MarketplaceCommand),
}

#[derive(Debug, Subcommand)]
enum MarketplaceCommand {
    /// List the marketplaces and where they are.
    List(OutputArguments),
    /// Add a marketplace to the user's settings.
    Add(MarketplaceAddArguments),
    /// Remove a marketplace from the user's settings. Its folder and installed plugins are kept.
    Remove(MarketplaceRemoveArguments),
    /// Bring the copies of repositories up to date.
    Upgrade(MarketplaceUpgradeArguments),
}

#[derive(Debug, Args)]
struct OutputArguments {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct PluginListArguments {
    /// Only the plugins of this marketplace.
    #[arg(short, long, value_name = "MARKETPLACE")]
    marketplace: Option<String>,
    /// Accepted for compatibility; plugins that are not installed are always listed.
    #[arg(long, hide = true)]
    available: bool,
    #[command(flatten)]
    output: OutputArguments,
}

#[derive(Debug, Args)]
struct PluginNameArguments {
    /// The plugin: NAME@MARKETPLACE, or NAME if only one marketplace has it.
    plugin: String,
    /// The marketplace of the plugin, if its name does not end with it.
    #[arg(short, long, value_name = "MARKETPLACE")]
    marketplace: Option<String>,
    #[command(flatten)]
    output: OutputArguments,
}

#[derive(Debug, Args)]
struct MarketplaceAddArguments {
    /// The folder that has `.agents/plugins/marketplace.json`, or the address of a repository that has it.
    source: String,
    /// The branch, tag or commit of a repository.
    #[arg(long = "ref", value_name = "REF")]
    reference: Option<String>,
    /// A folder of a repository to copy, in place of all. Can be given several times.
    #[arg(long, value_name = "FOLDER")]
    sparse: Vec<String>,
    #[command(flatten)]
    output: OutputArguments,
}

#[derive(Debug, Args)]
struct MarketplaceRemoveArguments {
    /// The name of the marketplace.
    name: String,
    #[command(flatten)]
    output: OutputArguments,
}

#[derive(Debug, Args)]
struct MarketplaceUpgradeArguments {
    /// The name of the marketplace; all by default.
    name: Option<String>,
    #[command(flatten)]
    output: OutputArguments,
}

/// Carries out a command.
///
/// # Errors
/// The server refuses it.
pub fn run(
    arguments: PluginArguments,
    settings: Overrides,
    console: &mut Console<'_>,
) -> anyhow::Result<()> {
    let (request, output) = match arguments.command {
        PluginCommand::List(arguments) => {
            (PluginRequest::List(arguments.marketplace), arguments.output)
        }
        PluginCommand::Read(arguments) => (PluginRequest::Read(arguments.id()?), arguments.output),
        PluginCommand::Install(arguments) => {
            (PluginRequest::Install(arguments.id()?), arguments.output)
        }
        PluginCommand::Uninstall(arguments) => {
            (PluginRequest::Uninstall(arguments.id()?), arguments.output)
        }
        PluginCommand::Marketplace(MarketplaceCommand::List(output)) => {
            (PluginRequest::ListMarketplaces, output)
        }
        PluginCommand::Marketplace(MarketplaceCommand::Add(arguments)) => (
            PluginRequest::AddMarketplace {
                source: arguments.source,
                reference: arguments.reference,
                sparse: arguments.sparse,
            },
            arguments.output,
        ),
        PluginCommand::Marketplace(MarketplaceCommand::Upgrade(arguments)) => (
            PluginRequest::UpgradeMarketplaces(arguments.name),
            arguments.output,
        ),
        PluginCommand::Marketplace(MarketplaceCommand::Remove(arguments)) => (
            PluginRequest::RemoveMarketplace(arguments.name),
            arguments.output,
        ),
    };
    ServerChoice::here(settings).run(async |mut client| {
        let answer = request.send(&mut client).await;
        client.finish().await;
        let answer = answer?;
        console.answer_text(&if output.json {
            format!("{answer:#}\n")
        } else {
            request.describe(&answer)
        });
        Ok(())
    })
}

impl PluginNameArguments {
    /// The name with its marketplace, where one is given.
    fn id(&self) -> anyhow::Result<String> {
        match (&self.marketplace, self.plugin.split_once('@')) {
            (None, _) => Ok(self.plugin.clone()),
            (Some(marketplace), None) => Ok(format!("{}@{marketplace}", self.plugin)),
            (Some(marketplace), Some((_, named))) if named == marketplace => {
                Ok(self.plugin.clone())
            }
            (Some(marketplace), Some((_, named))) => {
                bail!(
                    "'{}' is in the marketplace '{named}', not in '{marketplace}'",
                    self.plugin
                )
            }
        }
    }
}

/// What the user wants, with its subject.
enum PluginRequest {
    /// Of one marketplace, or of all.
    List(Option<String>),
    ListMarketplaces,
    Read(String),
    Install(String),
    Uninstall(String),
    AddMarketplace {
        source: String,
        reference: Option<String>,
        sparse: Vec<String>,
    },
    RemoveMarketplace(String),
    UpgradeMarketplaces(Option<String>),
}

impl PluginRequest {
    async fn send(&self, client: &mut Client) -> anyhow::Result<Value> {
        client
            .initialize("codex-plugin", env!("CARGO_PKG_VERSION"))
            .await?;
        match self {
            Self::List(None) => list(client).await,
            Self::List(Some(marketplace)) => list_one(client, marketplace).await,
            Self::ListMarketplaces => Ok(listing::marketplaces(&list(client).await?)),
            Self::Read(plugin) => {
                let params = find(client, plugin).await?;
                call(client, "plugin/read", &params).await
            }
            Self::Install(plugin) => {
                let params = find(client, plugin).await?;
                let mut answer = call(client, "plugin/install", &params).await?;
                answer["name"] = params["pluginName"].clone();
                Ok(answer)
            }
            Self::Uninstall(plugin) => {
                let id = installed(client, plugin).await?;
                let mut answer =
                    call(client, "plugin/uninstall", &json!({ "pluginId": id })).await?;
                answer["pluginId"] = json!(id);
                Ok(answer)
            }
            Self::AddMarketplace {
                source,
                reference,
                sparse,
            } => {
                let mut params = json!({ "source": add_source(source)? });
                if let Some(reference) = reference {
                    params["refName"] = json!(reference);
                }
                if !sparse.is_empty() {
                    params["sparsePaths"] = json!(sparse);
                }
                call(client, "marketplace/add", &params).await
            }
            Self::UpgradeMarketplaces(name) => {
                let params = match name {
                    Some(name) => json!({ "marketplaceName": name }),
                    None => json!({}),
                };
                call(client, "marketplace/upgrade", &params).await
            }
            Self::RemoveMarketplace(name) => {
                let params = json!({ "marketplaceName": name });
                call(client, "marketplace/remove", &params).await
            }
        }
    }

    fn describe(&self, answer: &Value) -> String {
        let text = |member: &str| answer[member].as_str().unwrap_or_default();
        match self {
            Self::List(_) => listing::as_table(answer),
            Self::ListMarketplaces => listing::marketplaces_as_table(answer),
            Self::Read(_) => listing::as_facts(&answer["plugin"]),
            Self::Install(plugin) => format!("Installed the plugin '{plugin}'.\n"),
            Self::Uninstall(plugin) => {
                format!("The plugin '{plugin}' is not installed any more.\n")
            }
            Self::AddMarketplace { .. } => {
                let (name, root) = (text("marketplaceName"), text("installedRoot"));
                match answer["alreadyAdded"].as_bool() {
                    Some(true) => format!("The marketplace '{name}' had been added before.\n"),
                    _ => format!("Added the marketplace '{name}' at {root}.\n"),
                }
            }
            Self::RemoveMarketplace(name) => format!("Removed the marketplace '{name}'.\n"),
            Self::UpgradeMarketplaces(_) => listing::as_upgrades(answer),
        }
    }
}

/// The source of a marketplace for the server: a folder that is there comes before a repository with the same name.
fn add_source(written: &str) -> anyhow::Result<String> {
    let is_folder = Path::new(written).is_dir();
    let is_repository = matches!(
        MarketplaceSource::parse(written),
        Ok(MarketplaceSource::Repository { .. })
    );
    if is_repository && !is_folder {
        return Ok(written.to_owned());
    }
    let folder = std::path::absolute(Path::new(written));
    let folder = folder.context("cannot determine the folder")?;
    Ok(folder.display().to_string())
}

/// The plugins of the user's marketplaces and that of the working folder.
async fn list(client: &mut Client) -> anyhow::Result<Value> {
    let cwd = std::env::current_dir().context("cannot determine the working folder")?;
    let cwd = codex_engine_host::environment::named_path(&cwd)?;
    let params = json!({ "cwds": [cwd], "marketplaceKinds": ["local"] });
    call(client, "plugin/list", &params).await
}

/// The plugins of one marketplace.
async fn list_one(client: &mut Client, name: &str) -> anyhow::Result<Value> {
    let mut listed = list(client).await?;
    let marketplaces = listed["marketplaces"].as_array_mut();
    let marketplaces = marketplaces.context("the list of plugins has no marketplaces")?;
    marketplaces.retain(|marketplace| marketplace["name"] == name);
    if marketplaces.is_empty() {
        bail!("There is no marketplace '{name}'. See: codex plugin marketplace list");
    }
    Ok(listed)
}

/// The params that name a plugin by its marketplace file.
async fn find(client: &mut Client, wanted: &str) -> anyhow::Result<Value> {
    let listed = list(client).await?;
    let mut found = Vec::new();
    for marketplace in members(&listed["marketplaces"]) {
        for plugin in members(&marketplace["plugins"]) {
            if plugin["id"] == wanted || plugin["name"] == wanted {
                let path = &marketplace["path"];
                found.push((
                    json!({ "marketplacePath": path, "pluginName": plugin["name"] }),
                    plugin,
                ));
            }
        }
    }
    match &found[..] {
        [(params, _)] => Ok(params.clone()),
        [] => {
            let errors = members(&listed["marketplaceLoadErrors"]);
            let errors: String = errors
                .filter_map(|error| Some(format!("\n{}", error["message"].as_str()?)))
                .collect();
            bail!("No marketplace has the plugin '{wanted}'. See: codex plugin list{errors}")
        }
        several => {
            let ids: Vec<_> = several
                .iter()
                .filter_map(|(_, plugin)| plugin["id"].as_str())
                .collect();
            bail!(
                "Several marketplaces have the plugin '{wanted}': {}",
                ids.join(", ")
            )
        }
    }
}

/// The id of an installed plugin. A name without a marketplace has to be that of one plugin.
async fn installed(client: &mut Client, wanted: &str) -> anyhow::Result<String> {
    if wanted.contains('@') {
        return Ok(wanted.to_owned());
    }
    let listed = list(client).await?;
    let plugins = members(&listed["marketplaces"]).flat_map(|it| members(&it["plugins"]));
    let installed = plugins.filter(|it| it["name"] == wanted && it["installed"] == true);
    let ids: Vec<&str> = installed.filter_map(|it| it["id"].as_str()).collect();
    match ids[..] {
        [id] => Ok(id.to_owned()),
        [] => bail!("The plugin '{wanted}' is not installed. See: codex plugin list"),
        _ => bail!(
            "Several marketplaces have the plugin '{wanted}': {}",
            ids.join(", ")
        ),
    }
}

/// The members of a list.
fn members(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}
