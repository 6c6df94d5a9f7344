//! Asks the server at the socket who it is.

use std::time::Duration;

use codex_client::{Client, ConnectError, ServerAddress, connect};
use codex_http::{HttpPool, HttpSettings};

use crate::{DaemonChange, DaemonError, DaemonFolder, DaemonState};

/// How long the server may take to answer.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// What is at the socket.
#[derive(Debug)]
pub(crate) enum Probe {
    /// A server of this version.
    Answers(String),
    /// Something that does not answer, or not to us.
    Silent(String),
    /// Nothing.
    Absent(String),
}

impl DaemonFolder {
    /// Says which server answers.
    ///
    /// # Errors
    /// None does.
    pub async fn state(&self) -> Result<DaemonState, DaemonError> {
        let socket = self.socket();
        match self.probe().await {
            Probe::Answers(version) => Ok(DaemonState {
                change: DaemonChange::Running,
                process: self.process()?,
                server_version: Some(version),
            }),
            Probe::Silent(reason) => Err(DaemonError::Silent { socket, reason }),
            Probe::Absent(reason) => Err(DaemonError::NotRunning { socket, reason }),
        }
    }

    pub(crate) async fn probe(&self) -> Probe {
        let address = ServerAddress::Socket(self.socket());
        let pool = HttpPool::new(HttpSettings::default());
        let asking = async {
            let client = match connect(&address, None, &pool).await {
                Ok(client) => client,
                Err(ConnectError::Io(error)) if is_absent(&error) => {
                    return Probe::Absent(error.to_string());
                }
                Err(error) => return Probe::Silent(error.to_string()),
            };
            match version(client).await {
                Ok(version) => Probe::Answers(version),
                Err(reason) => Probe::Silent(reason),
            }
        };
        let asked = tokio::time::timeout(PROBE_TIMEOUT, asking).await;
        asked
            .unwrap_or_else(|_| Probe::Silent("it accepts connections and says nothing".to_owned()))
    }
}

fn is_absent(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{ConnectionRefused, NotFound};
    matches!(error.kind(), ConnectionRefused | NotFound)
}

/// The version in the user agent of the server, `NAME/VERSION (…`.
async fn version(mut client: Client) -> Result<String, String> {
    let reply = client
        .initialize("codex_daemon", env!("CARGO_PKG_VERSION"))
        .await;
    let reply = reply.map_err(|error| error.to_string())?;
    let agent = reply["userAgent"].as_str().unwrap_or_default();
    let version = agent.split_once('/').map_or(agent, |(_, rest)| rest);
    let version = version.split(' ').next().unwrap_or_default();
    Ok(version.to_owned())
}
