//! Logins to the model service.

use std::io::{IsTerminal, Read};
use std::sync::Arc;

use anyhow::bail;
use clap::{Args, Subcommand};
use codex_config::{Config, Overrides, RequestParams};
use codex_engine_host::browser::open_browser;
use codex_engine_host::console::Console;
use codex_engine_host::resources::EngineResources;
use codex_engine_host::{runtime, wiring};
use codex_login::{Accounts, BrowserLoginError, LoginError};
use codex_protocol::AuthMode;

/// A longer key is rejected.
const MAX_KEY_BYTES: u64 = 64 * 1024;

#[derive(Debug, Default, Args)]
#[command(after_help = "\
Without a flag a browser opens. The login is stored in auth.json in the home folder, which only \
you can read.\n\n\
Examples:\n  codex login\n  printenv OPENAI_API_KEY | codex login --with-api-key\n  codex login status\n\n\
Exit status: 0 logged in, 1 not.")]
pub struct LoginArguments {
    /// Read an API key from standard input.
    #[arg(long)]
    with_api_key: bool,
    /// Rejected: other programs can see keys on the command line.
    #[arg(long, value_name = "KEY", hide = true)]
    api_key: Option<String>,
    /// Read a personal access token from standard input.
    #[arg(long, conflicts_with = "with_api_key")]
    with_access_token: bool,
    /// Log in by entering a code on another device.
    #[arg(long, conflicts_with_all = ["with_api_key", "with_access_token"])]
    device_auth: bool,
    /// Print the address instead of opening a browser.
    #[arg(long)]
    no_browser: bool,
    /// The identity server.
    #[arg(long = "experimental_issuer", value_name = "URL", hide = true)]
    issuer: Option<String>,
    /// The client id for the identity server.
    #[arg(long = "experimental_client-id", value_name = "ID", hide = true)]
    client_id: Option<String>,
    #[command(subcommand)]
    command: Option<LoginCommand>,
}

#[derive(Debug, Subcommand)]
enum LoginCommand {
    /// Show the login status.
    #[command(after_help = "Exit status: 0 somebody is logged in, 1 nobody is.")]
    Status,
}

/// Logs in, or tells who is. Returns whether somebody is logged in.
///
/// # Errors
/// The settings or standard input cannot be read.
pub fn log_in(
    arguments: &LoginArguments,
    settings: &Overrides,
    console: &mut Console<'_>,
) -> anyhow::Result<bool> {
    let config = config(settings)?;
    if let Some(LoginCommand::Status) = arguments.command {
        let machine = EngineResources::new(&config);
        runtime::here()?.block_on(machine.accounts().identify());
        return Ok(status(machine.accounts(), &config, console));
    }
    if arguments.api_key.is_some() {
        console.note(
            "A key on the command line is seen by other programs. Pipe it in: codex login --with-api-key",
        );
        return Ok(false);
    }
    let mut settings = wiring::login_settings(&config);
    if let Some(issuer) = &arguments.issuer {
        settings.issuer = issuer.trim_end_matches('/').to_owned();
    }
    if let Some(id) = &arguments.client_id {
        settings.client_id.clone_from(id);
    }
    let machine = EngineResources::with_login(settings);
    let (what, outcome) = log_in_with(arguments, machine.accounts(), console)?;
    match outcome {
        Ok(()) => {
            console.note("Successfully logged in");
            Ok(true)
        }
        Err(why) => {
            console.note(format!("Error logging in{what}: {why}"));
            Ok(false)
        }
    }
}

/// Deletes the stored login. Returns whether nobody is logged in any more.
///
/// # Errors
/// The settings cannot be read.
pub fn log_out(settings: &Overrides, console: &mut Console<'_>) -> anyhow::Result<bool> {
    let config = config(settings)?;
    let machine = EngineResources::new(&config);
    let logged_out = match machine.accounts().log_out() {
        Ok(logged_out) => logged_out,
        Err(error) => {
            console.note(format!("Error logging out: {error}"));
            return Ok(false);
        }
    };
    console.note(if logged_out.was_logged_in {
        "Successfully logged out"
    } else {
        "Not logged in"
    });
    runtime::here()?.block_on(machine.accounts().revoke(logged_out));
    Ok(true)
}

/// The settings of the working folder, without project settings.
fn config(flags: &Overrides) -> anyhow::Result<Config> {
    wiring::load_config(None, flags, &RequestParams::default())
}

/// Logs in with the requested method. Also returns a description of the method.
fn log_in_with(
    arguments: &LoginArguments,
    accounts: &Arc<Accounts>,
    console: &mut Console<'_>,
) -> anyhow::Result<(&'static str, Result<(), String>)> {
    if arguments.with_api_key {
        let key = read_secret("--with-api-key", "key")?;
        let outcome = accounts.log_in_with_api_key(&key);
        return Ok(("", outcome.map_err(|error| error.to_string())));
    }
    if arguments.with_access_token {
        let token = read_secret("--with-access-token", "token")?;
        let logging_in = accounts.log_in_with_access_token(&token);
        let outcome = runtime::here()?.block_on(logging_in);
        return Ok((
            " with access token",
            outcome.map_err(|error| error.to_string()),
        ));
    }
    Ok(runtime::here()?.block_on(async {
        if arguments.device_auth {
            let outcome = with_device(accounts, console).await;
            return (
                " with device code",
                outcome.map_err(|error| error.to_string()),
            );
        }
        (
            "",
            with_browser(accounts, !arguments.no_browser, console).await,
        )
    }))
}

fn read_secret(flag: &str, what: &str) -> anyhow::Result<String> {
    let input = std::io::stdin();
    if input.is_terminal() {
        bail!("{flag} reads the {what} from a pipe, for example: codex login {flag} < {what}.txt");
    }
    let mut key = String::new();
    input.take(MAX_KEY_BYTES).read_to_string(&mut key)?;
    match key.trim() {
        "" => bail!("there is no {what} on standard input"),
        key => Ok(key.to_owned()),
    }
}

async fn with_browser(
    accounts: &Arc<Accounts>,
    open: bool,
    console: &mut Console<'_>,
) -> Result<(), String> {
    let started = accounts.log_in_with_browser(wiring::ORIGINATOR).await;
    let started = started.map_err(|error| error.to_string())?;
    console.note(format!(
        "Sign in with a browser at this address:\n\n{}\n",
        started.auth_url
    ));
    if open {
        open_browser(&started.auth_url);
    }
    let outcome = started.outcome.await;
    let outcome = outcome.unwrap_or(Err(BrowserLoginError::NotCompleted));
    // The browser still needs to fetch the final page.
    accounts.wait_for_last_page().await;
    outcome.map_err(|error| error.to_string())
}

async fn with_device(
    accounts: &Arc<Accounts>,
    console: &mut Console<'_>,
) -> Result<(), LoginError> {
    let code = accounts.device_code().await?;
    console.note(format!(
        "Open {} on any device and type in this code:\n\n    {}\n",
        code.verification_url, code.user_code
    ));
    accounts.log_in_with_device(&code).await
}

fn status(accounts: &Accounts, config: &Config, console: &mut Console<'_>) -> bool {
    match accounts.login() {
        Some(login) if login.mode() == AuthMode::PersonalAccessToken => {
            console.note("Logged in using a personal access token");
        }
        Some(login) if login.mode() == AuthMode::Apikey => {
            let key = masked(login.token().reveal());
            console.note(format!("Logged in using an API key - {key}"));
        }
        Some(_) => console.note("Logged in using ChatGPT"),
        None if !config.model.provider.requires_openai_auth => {
            console.note("Not logged in; the configured provider needs no login");
        }
        None => {
            console.note("Not logged in");
            if let Some(problem) = accounts.problem() {
                console.note(&problem);
            }
            return false;
        }
    }
    true
}

/// A shortened key that is recognizable but not usable.
fn masked(key: &str) -> String {
    let characters: Vec<char> = key.chars().collect();
    if characters.len() <= 13 {
        return "***".to_owned();
    }
    let start: String = characters[..8].iter().collect();
    let end: String = characters[characters.len() - 5..].iter().collect();
    format!("{start}***{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_keys_are_hidden_whole() {
        assert_eq!(masked("sk-proj-abcdefghijkl"), "sk-proj-***hijkl");
        assert_eq!(masked("1234567890123"), "***");
    }
}
