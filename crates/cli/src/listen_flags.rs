//! Flags of servers: where to listen, and how clients authenticate.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use codex_app_server::{Auth, Listen, MESSAGE_LIMIT, Secret, SignedTokens};
use codex_daemon::DaemonFolder;

#[derive(Debug, Args)]
pub(crate) struct ListenFlags {
    /// Where to listen: `stdio://`, `ws://IP:PORT`, `unix://PATH`, or `unix://` for a socket in the home folder.
    #[arg(long, value_name = "URL", default_value = "stdio://", value_parser = listen_url)]
    listen: ListenUrl,
    /// Serve standard input and output (the default).
    #[arg(long, conflicts_with = "listen")]
    stdio: bool,
    /// Maximum length of a client message.
    #[arg(long, value_name = "BYTES", default_value_t = MESSAGE_LIMIT)]
    max_message_bytes: usize,
    #[command(flatten)]
    auth: AuthFlags,
}

/// A parsed listen URL.
#[derive(Clone, Debug)]
enum ListenUrl {
    Stdio,
    Listener(Listen),
    /// The default socket.
    HomeSocket,
}

/// Standard input and output, or a listener.
#[derive(Clone, Debug)]
pub(crate) enum ListenTransport {
    Stdio,
    Listener(Listen),
}

#[derive(Debug, Args)]
struct AuthFlags {
    /// How websocket clients authenticate.
    #[arg(long, value_name = "MODE")]
    ws_auth: Option<WsAuthMode>,
    /// The file with the token that clients must send.
    #[arg(long, value_name = "PATH")]
    ws_token_file: Option<PathBuf>,
    /// The SHA-256 digest of the token, instead of its file.
    #[arg(long, value_name = "HEX")]
    ws_token_sha256: Option<String>,
    /// The file with the secret for signed tokens.
    #[arg(long, value_name = "PATH")]
    ws_shared_secret_file: Option<PathBuf>,
    /// The required issuer of a signed token.
    #[arg(long, value_name = "ISSUER")]
    ws_issuer: Option<String>,
    /// The required audience of a signed token.
    #[arg(long, value_name = "AUDIENCE")]
    ws_audience: Option<String>,
    /// Maximum clock difference; 30 seconds by default.
    #[arg(long, value_name = "SECONDS")]
    ws_max_clock_skew_seconds: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum WsAuthMode {
    /// With the token itself.
    CapabilityToken,
    /// With a JSON Web Token signed with the shared secret.
    SignedBearerToken,
}

fn listen_url(url: &str) -> Result<ListenUrl, String> {
    if matches!(url, "stdio://" | "stdio") {
        return Ok(ListenUrl::Stdio);
    }
    if let Some(address) = url.strip_prefix("ws://") {
        let address: Result<SocketAddr, _> = address.parse();
        let invalid =
            |_| format!("invalid websocket --listen URL `{url}`; expected `ws://IP:PORT`");
        return address
            .map(|address| ListenUrl::Listener(Listen::Tcp(address)))
            .map_err(invalid);
    }
    if let Some(path) = url.strip_prefix("unix://") {
        return Ok(match path {
            "" => ListenUrl::HomeSocket,
            path => ListenUrl::Listener(Listen::Unix(PathBuf::from(path))),
        });
    }
    Err(format!(
        "unsupported --listen URL `{url}`; expected `stdio://`, `ws://IP:PORT` or `unix://PATH`"
    ))
}

/// The path of the default socket. Creates its folder, accessible for the owner only.
fn home_socket() -> anyhow::Result<PathBuf> {
    let folder = DaemonFolder::of_home(&codex_engine_host::environment::home()?);
    folder.make_socket_folder()?;
    Ok(folder.socket())
}

impl ListenFlags {
    pub(crate) fn max_message_bytes(&self) -> usize {
        self.max_message_bytes
    }

    /// The transport and the authentication of clients.
    pub(crate) fn transport(self) -> anyhow::Result<(ListenTransport, Option<Auth>)> {
        self.transport_at(home_socket)
    }

    /// The same, with another socket for `unix://` without a path.
    pub(crate) fn transport_at(
        self,
        home_socket: impl FnOnce() -> anyhow::Result<PathBuf>,
    ) -> anyhow::Result<(ListenTransport, Option<Auth>)> {
        let auth = self.auth.read()?;
        if let ListenUrl::Listener(Listen::Tcp(address)) = &self.listen
            && !address.ip().is_loopback()
            && auth.is_none()
        {
            bail!("{address} can be reached from other machines: `--ws-auth` is required");
        }
        let transport = match self.listen {
            ListenUrl::Stdio => ListenTransport::Stdio,
            ListenUrl::Listener(listen) => ListenTransport::Listener(listen),
            ListenUrl::HomeSocket => ListenTransport::Listener(Listen::Unix(home_socket()?)),
        };
        Ok((transport, auth))
    }
}

impl AuthFlags {
    fn read(self) -> anyhow::Result<Option<Auth>> {
        let is_signed = self.ws_shared_secret_file.is_some()
            || self.ws_issuer.is_some()
            || self.ws_audience.is_some()
            || self.ws_max_clock_skew_seconds.is_some();
        let is_capability = self.ws_token_file.is_some() || self.ws_token_sha256.is_some();
        match self.ws_auth {
            None if is_signed || is_capability => {
                bail!("the websocket auth flags need `--ws-auth`")
            }
            None => Ok(None),
            Some(WsAuthMode::CapabilityToken) if is_signed => bail!(
                "`--ws-shared-secret-file`, `--ws-issuer`, `--ws-audience` and \
                 `--ws-max-clock-skew-seconds` need `--ws-auth signed-bearer-token`"
            ),
            Some(WsAuthMode::SignedBearerToken) if is_capability => {
                bail!("`--ws-token-file` and `--ws-token-sha256` need `--ws-auth capability-token`")
            }
            Some(WsAuthMode::CapabilityToken) => self.capability().map(Some),
            Some(WsAuthMode::SignedBearerToken) => self.signed().map(Some),
        }
    }

    fn capability(self) -> anyhow::Result<Auth> {
        let secret = match (self.ws_token_file, self.ws_token_sha256) {
            (Some(path), None) => Secret::new(&secret_file("--ws-token-file", &path)?),
            (None, Some(digest)) => Secret::from_hex(digest.trim())
                .context("`--ws-token-sha256` takes 64 hexadecimal digits")?,
            (None, None) => {
                bail!("`--ws-token-file` is required when `--ws-auth capability-token` is set")
            }
            (Some(_), Some(_)) => {
                bail!("`--ws-token-file` and `--ws-token-sha256` exclude each other")
            }
        };
        Ok(Auth::Capability(secret))
    }

    fn signed(self) -> anyhow::Result<Auth> {
        let path = self.ws_shared_secret_file.context(
            "`--ws-shared-secret-file` is required when `--ws-auth signed-bearer-token` is set",
        )?;
        let secret = secret_file("--ws-shared-secret-file", &path)?;
        let min_bytes = SignedTokens::SECRET_BYTES;
        if secret.len() < min_bytes {
            bail!(
                "the secret in {} is shorter than {min_bytes} bytes",
                path.display()
            );
        }
        let text = |value: Option<String>| {
            let value = value.map(|value| value.trim().to_owned());
            value.filter(|value| !value.is_empty())
        };
        Ok(Auth::Signed(Box::new(SignedTokens::new(
            secret.as_bytes(),
            text(self.ws_issuer),
            text(self.ws_audience),
            Duration::from_secs(self.ws_max_clock_skew_seconds.unwrap_or(30)),
        ))))
    }
}

/// The trimmed content of a secret file.
fn secret_file(flag: &str, path: &Path) -> anyhow::Result<String> {
    if !path.is_absolute() {
        bail!("`{flag}` takes an absolute path");
    }
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    match text.trim() {
        "" => bail!("{} is empty", path.display()),
        secret => Ok(secret.to_owned()),
    }
}
