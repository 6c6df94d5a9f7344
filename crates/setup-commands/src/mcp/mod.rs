//! Configured MCP servers and logins to them.

mod listing;

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::{Args, Subcommand, ValueEnum};
use codex_config::schema::McpServer as Configured;
use codex_config::{
    Config, ConfigEdit, EditRequest, KeyPath, LayerStack, MergeStrategy, Overrides, RequestParams,
    SettingChange, edit_user_config,
};
use codex_engine_host::browser::open_browser;
use codex_engine_host::console::Console;
use codex_engine_host::resources::EngineResources;
use codex_engine_host::{mcp_servers, runtime, wiring};
use codex_exec::Launcher;
use codex_http::PkceSecrets;
use codex_mcp_client::{
    McpAuthorization, McpConnector, McpLoginError, McpLoginOptions, McpServerConfig,
    McpServerTransport,
};
use toml::Table;

/// Time limit for a login by the user.
const LOGIN_TIME: Duration = Duration::from_secs(300);

#[derive(Debug, Args)]
pub struct McpArguments {
    #[command(subcommand)]
    command: McpCommand,
}

#[derive(Debug, Subcommand)]
enum McpCommand {
    /// List the servers and how requests to them are authorised.
    List(McpListArguments),
    /// Show one server.
    Get(McpGetArguments),
    /// Add a server to the user's settings, or replace the one with the same name.
    Add(McpAddArguments),
    /// Remove a server from the user's settings.
    Remove(McpNameArguments),
    /// Log in to an HTTP server with a browser.
    Login(McpLoginArguments),
    /// Delete the login to a server.
    Logout(McpNameArguments),
}

#[derive(Debug, Args)]
struct McpListArguments {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct McpGetArguments {
    /// The name of the server.
    name: String,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct McpNameArguments {
    /// The name of the server.
    name: String,
}

#[derive(Debug, Args)]
#[command(
    override_usage = "codex mcp add [OPTIONS] <NAME> (--url <URL> | -- <COMMAND>...)",
    after_help = "\
Examples:\n  codex mcp add files -- npx file-server /srv\n  \
codex mcp add tickets --url https://tickets.example/mcp\n\n\
A server behind HTTP that offers logins is logged in to at once."
)]
struct McpAddArguments {
    /// The name of the server: letters, digits, `-` and `_`.
    name: String,
    /// The address of an HTTP server.
    #[arg(long, value_name = "URL", conflicts_with_all = ["command", "env"])]
    url: Option<String>,
    /// The environment variable with the token of the server.
    #[arg(long, value_name = "ENV_VAR", conflicts_with = "command")]
    bearer_token_env_var: Option<String>,
    /// The id of a client that is registered at the authorization server.
    #[arg(long, value_name = "CLIENT_ID", requires = "url")]
    oauth_client_id: Option<String>,
    /// The secret of that client. Other programs of this machine can see it on the command line.
    #[arg(long, value_name = "CLIENT_SECRET", requires = "oauth_client_id")]
    oauth_client_secret: Option<String>,
    /// The resource to name in logins.
    #[arg(long, value_name = "RESOURCE", requires = "url")]
    oauth_resource: Option<String>,
    /// How this program is known to the authorization server, for the login that follows only.
    #[arg(long, value_enum, value_name = "WAY", requires = "url")]
    oauth_client_registration: Option<ClientRegistration>,
    /// An environment variable for the program; may be repeated.
    #[arg(long, value_name = "KEY=VALUE", value_parser = assignment)]
    env: Vec<(String, String)>,
    /// Print the login address instead of opening a browser.
    #[arg(long)]
    no_browser: bool,
    /// The program and its arguments.
    #[arg(
        trailing_var_arg = true,
        required_unless_present = "url",
        value_name = "COMMAND"
    )]
    command: Vec<String>,
}

/// How this program is known to an authorization server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ClientRegistration {
    /// With the configured client id, or else it registers itself.
    Auto,
    /// It registers itself.
    Dcr,
    /// With the address of a document about it, which this program does not have.
    Cimd,
}

#[derive(Debug, Args)]
struct McpLoginArguments {
    /// The name of the server.
    name: String,
    /// How this program is known to the authorization server, for this login only.
    #[arg(long, value_enum, value_name = "WAY")]
    oauth_client_registration: Option<ClientRegistration>,
    /// The scopes to request, instead of the configured or offered ones.
    #[arg(long, value_delimiter = ',', value_name = "SCOPE,SCOPE")]
    scopes: Option<Vec<String>>,
    /// Print the address instead of opening a browser.
    #[arg(long)]
    no_browser: bool,
}

/// Carries out a command with the settings of flags.
///
/// # Errors
/// There is no such server, the settings cannot be changed, or the login failed.
pub fn run_mcp_command(
    arguments: &McpArguments,
    flags: &Overrides,
    console: &mut Console<'_>,
) -> anyhow::Result<()> {
    match &arguments.command {
        McpCommand::List(arguments) => list(flags, arguments.json, console),
        McpCommand::Get(arguments) => get(&arguments.name, flags, arguments.json, console),
        McpCommand::Add(arguments) => add(arguments, flags, console),
        McpCommand::Remove(arguments) => remove(&arguments.name, flags, console),
        McpCommand::Login(arguments) => log_in(arguments, flags, console),
        McpCommand::Logout(arguments) => log_out(&arguments.name, flags, console),
    }
}

fn list(flags: &Overrides, json: bool, console: &mut Console<'_>) -> anyhow::Result<()> {
    let config = config(flags)?;
    let connector = connector(&config);
    let servers = config.mcp.servers.iter();
    let servers: Vec<_> = servers
        .map(|(name, configured)| (name, configured, mcp_servers::server(name, configured)))
        .collect();
    let authorizations = runtime::here()?.block_on(async {
        let asked = servers.iter().map(|(_, _, server)| {
            let (connector, server) = (connector.clone(), server.clone());
            tokio::spawn(async move { connector.authorization(&server).await })
        });
        let asked: Vec<_> = asked.collect();
        let mut all = Vec::new();
        for one in asked {
            all.push(one.await.unwrap_or(McpAuthorization::Unsupported));
        }
        all
    });
    let entries = servers.into_iter().zip(authorizations);
    let entries: Vec<_> = entries
        .map(
            |((name, configured, _), authorization)| listing::ServerEntry {
                name,
                configured,
                disabled_reason: disabled_reason(&config, name),
                authorization: Some(authorization),
            },
        )
        .collect();
    console.answer_text(&if json {
        listing::as_json(&entries)
    } else {
        listing::as_tables(&entries)
    });
    Ok(())
}

fn get(name: &str, flags: &Overrides, json: bool, console: &mut Console<'_>) -> anyhow::Result<()> {
    let config = config(flags)?;
    let entry = listing::ServerEntry {
        name,
        configured: known(&config, name)?,
        disabled_reason: disabled_reason(&config, name),
        authorization: None,
    };
    console.answer_text(&if json {
        format!("{:#}\n", listing::to_json(&entry))
    } else {
        listing::as_facts(&entry)
    });
    Ok(())
}

fn add(
    arguments: &McpAddArguments,
    flags: &Overrides,
    console: &mut Console<'_>,
) -> anyhow::Result<()> {
    let name = &arguments.name;
    check_name(name)?;
    let registers_itself = registers_itself(arguments.oauth_client_registration)?;
    let mut table = Table::new();
    match (&arguments.url, arguments.command.split_first()) {
        (Some(url), _) => {
            table.insert("url".to_owned(), url.as_str().into());
            if let Some(variable) = &arguments.bearer_token_env_var {
                let key = "bearer_token_env_var".to_owned();
                table.insert(key, variable.as_str().into());
            }
            if let Some(resource) = &arguments.oauth_resource {
                table.insert("oauth_resource".to_owned(), resource.as_str().into());
            }
            if let Some(id) = &arguments.oauth_client_id {
                table.insert(
                    "oauth".to_owned(),
                    registered_client(arguments, id, console)?.into(),
                );
            }
        }
        (None, Some((program, rest))) => {
            table.insert("command".to_owned(), program.as_str().into());
            if !rest.is_empty() {
                table.insert("args".to_owned(), rest.to_vec().into());
            }
            if !arguments.env.is_empty() {
                let variables = arguments.env.iter();
                let variables =
                    variables.map(|(name, value)| (name.clone(), value.as_str().into()));
                table.insert("env".to_owned(), variables.collect::<Table>().into());
            }
        }
        (None, None) => bail!("there is no command"),
    }
    edit(
        name,
        SettingChange::Set(table.into(), MergeStrategy::Replace),
        flags,
    )?;
    console.answer_text(&format!(
        "Added the MCP server '{name}' to the user's settings.\n"
    ));
    let config = config(flags)?;
    let server = mcp_servers::server(name, known(&config, name)?);
    let connector = connector(&config);
    runtime::here()?.block_on(async {
        if connector.authorization(&server).await != McpAuthorization::NotLoggedIn {
            return Ok(());
        }
        console.answer_text("It offers logins.\n");
        let open = !arguments.no_browser;
        with_browser(&connector, &server, None, registers_itself, open, console).await
    })
}

/// The settings of a client that is registered by hand. Its callback has a path of its own, which people enter there.
fn registered_client(
    arguments: &McpAddArguments,
    id: &str,
    console: &mut Console<'_>,
) -> anyhow::Result<Table> {
    let secrets = PkceSecrets::new()?;
    let random: String = (secrets.state.chars())
        .filter(char::is_ascii_alphanumeric)
        .take(12)
        .collect();
    let callback = format!("http://127.0.0.1/callback/{random}");
    let mut client = Table::new();
    client.insert("client_id".to_owned(), id.into());
    if let Some(secret) = &arguments.oauth_client_secret {
        client.insert("client_secret".to_owned(), secret.as_str().into());
    }
    console.answer_text(&format!(
        "Address for the callback, to be registered for the client: {callback}\n"
    ));
    client.insert("callback_url".to_owned(), callback.into());
    Ok(client)
}

/// Whether this program registers itself whatever is configured.
fn registers_itself(registration: Option<ClientRegistration>) -> anyhow::Result<bool> {
    match registration {
        None | Some(ClientRegistration::Auto) => Ok(false),
        Some(ClientRegistration::Dcr) => Ok(true),
        Some(ClientRegistration::Cimd) => bail!(
            "this program has no document about itself that an authorization server could read; use `auto` or `dcr`"
        ),
    }
}

fn remove(name: &str, flags: &Overrides, console: &mut Console<'_>) -> anyhow::Result<()> {
    check_name(name)?;
    let stack = LayerStack::load(&wiring::config_environment()?, None, flags)?;
    let user = stack.user().map(|layer| &layer.table);
    let servers = user.and_then(|table| table.get("mcp_servers"));
    if servers.and_then(|servers| servers.get(name)).is_none() {
        console.answer_text(&format!(
            "No MCP server named '{name}' found in the user's settings.\n"
        ));
        return Ok(());
    }
    edit(name, SettingChange::Remove, flags)?;
    console.answer_text(&format!(
        "Removed the MCP server '{name}' from the user's settings.\n"
    ));
    Ok(())
}

fn log_in(
    arguments: &McpLoginArguments,
    flags: &Overrides,
    console: &mut Console<'_>,
) -> anyhow::Result<()> {
    let config = config(flags)?;
    let name = &arguments.name;
    let server = mcp_servers::server(name, known(&config, name)?);
    let connector = connector(&config);
    let registers_itself = registers_itself(arguments.oauth_client_registration)?;
    let open = !arguments.no_browser;
    let login = with_browser(
        &connector,
        &server,
        arguments.scopes.clone(),
        registers_itself,
        open,
        console,
    );
    runtime::here()?.block_on(login)
}

/// Logs in. If offered scopes are rejected and the user requested none, tries again without scopes.
async fn with_browser(
    connector: &McpConnector,
    server: &McpServerConfig,
    scopes: Option<Vec<String>>,
    registers_itself: bool,
    open: bool,
    console: &mut Console<'_>,
) -> anyhow::Result<()> {
    let mut scopes = scopes;
    loop {
        let options = McpLoginOptions {
            scopes: scopes.clone(),
            time: LOGIN_TIME,
            registers_itself,
        };
        let started = connector.log_in(server, options).await?;
        let (name, url) = (&server.name, &started.authorization_url);
        console.answer_text(&format!(
            "Log in to '{name}' with a browser at this address:\n{url}\n\n"
        ));
        if open {
            open_browser(url);
        }
        match started.outcome.await.context("the login was given up")? {
            Ok(()) => break,
            Err(error) if error.is_about_scopes() && started.has_offered_scopes => {
                console.answer_text(
                    "The scopes that it offers were refused. Once more without any.\n",
                );
                scopes = Some(Vec::new());
            }
            Err(error) => return Err(error.into()),
        }
    }
    console.answer_text(&format!("Logged in to the MCP server '{}'.\n", server.name));
    Ok(())
}

fn log_out(name: &str, flags: &Overrides, console: &mut Console<'_>) -> anyhow::Result<()> {
    let config = config(flags)?;
    let server = mcp_servers::server(name, known(&config, name)?);
    if !matches!(server.transport, McpServerTransport::Http { .. }) {
        return Err(McpLoginError::Program.into());
    }
    let connector = connector(&config);
    let forgotten = runtime::here()?.block_on(connector.logins.forget(&server));
    console.answer_text(&if forgotten.context("cannot forget the login")? {
        format!("Forgot the login to the MCP server '{name}'.\n")
    } else {
        format!("There is no login to the MCP server '{name}'.\n")
    });
    Ok(())
}

/// The settings of the working folder.
fn config(flags: &Overrides) -> anyhow::Result<Config> {
    let cwd = std::env::current_dir().context("cannot determine the working folder")?;
    wiring::load_config(Some(&cwd), flags, &RequestParams::default())
}

fn connector(config: &Config) -> McpConnector {
    EngineResources::new(config).connector(Launcher::of_this_program(), config)
}

fn known<'a>(config: &'a Config, name: &str) -> anyhow::Result<&'a Configured> {
    let found = config.mcp.servers.get(name);
    found.with_context(|| format!("No MCP server named '{name}' found."))
}

fn disabled_reason(config: &Config, name: &str) -> Option<String> {
    let source = config.mcp.disallowed.get(name)?;
    Some(format!("requirements ({source})"))
}

fn check_name(name: &str) -> anyhow::Result<()> {
    let is_usable = |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
    if name.is_empty() || !name.chars().all(is_usable) {
        bail!("'{name}' cannot be the name of a server: use letters, digits, '-' and '_'");
    }
    Ok(())
}

/// Edits the user's entry for a server.
fn edit(name: &str, change: SettingChange, flags: &Overrides) -> anyhow::Result<()> {
    let path = KeyPath::from_segments(["mcp_servers", name]).context("the key of the server")?;
    edit_user_config(EditRequest {
        env: &wiring::config_environment()?,
        flags,
        host_features: &BTreeMap::new(),
        file: None,
        expected_version: None,
        edits: &[ConfigEdit { path, change }],
    })?;
    Ok(())
}

fn assignment(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').unwrap_or_default();
    match name.trim() {
        "" => Err("a variable is written as KEY=VALUE".to_owned()),
        name => Ok((name.to_owned(), value.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_names_are_bare_keys() {
        for name in ["files", "a-b_1"] {
            check_name(name).unwrap();
        }
        for name in ["", "a b", "a.b", "ä"] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn document_about_this_program_is_no_way_to_register() {
        assert!(!registers_itself(None).unwrap());
        assert!(registers_itself(Some(ClientRegistration::Dcr)).unwrap());
        assert!(registers_itself(Some(ClientRegistration::Cimd)).is_err());
    }

    #[test]
    fn variable_has_a_name_and_may_have_any_value() {
        assert_eq!(
            assignment("KEY=a=b"),
            Ok(("KEY".to_owned(), "a=b".to_owned()))
        );
        assert!(assignment("=value").is_err());
        assert!(assignment("KEY").is_err());
    }
}
