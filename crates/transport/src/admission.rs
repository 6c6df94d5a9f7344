//! Decides whether a client may open a websocket: by its process, its `Host` header, and its token.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::StatusCode;
use tokio::sync::Semaphore;

use super::auth::Auth;
use super::peer::{Peer, PeerInspector, PeerVerdict};

/// The delay of the reply to a wrong token.
const WRONG_TOKEN: Duration = Duration::from_millis(250);
/// The number of tokens that are checked at once. Together with the delay it limits guessing.
const MAX_GUESSES: usize = 16;

/// The admission rules of a listener. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Admission {
    auth: Option<Arc<Auth>>,
    guesses: Arc<Semaphore>,
    peers: Arc<PeerInspector>,
}

/// Why a client is refused: the status and text of the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AdmissionError {
    pub(super) status: StatusCode,
    pub(super) reason: &'static str,
}

impl Admission {
    pub(super) fn new(auth: Option<Auth>) -> Self {
        Self {
            auth: auth.map(Arc::new),
            guesses: Arc::new(Semaphore::new(MAX_GUESSES)),
            peers: Arc::default(),
        }
    }

    /// Checks an upgrade request: its peer, its `Host` and its `Authorization`.
    pub(super) async fn check(
        &self,
        peer: Peer,
        host: Option<&[u8]>,
        authorization: Option<&[u8]>,
    ) -> Result<(), AdmissionError> {
        if self.auth.is_none() && peer.has_names() && !host.is_none_or(is_own_name) {
            return Err(forbidden("`Host` has to be an address or `localhost`"));
        }
        match self.peers.verdict(peer).await {
            PeerVerdict::Free | PeerVerdict::OtherUser => {}
            PeerVerdict::Confined => {
                return Err(forbidden("a program in a sandbox may not connect"));
            }
            PeerVerdict::Unknown => {
                return Err(forbidden("the process that connects could not be found"));
            }
        }
        let Some(auth) = &self.auth else {
            return Ok(());
        };
        // The semaphore is never closed.
        let _one_of_few = self.guesses.acquire().await;
        let checked = auth.check(authorization);
        if checked.is_err() {
            tokio::time::sleep(WRONG_TOKEN).await;
        }
        checked.map_err(|error| AdmissionError {
            status: StatusCode::UNAUTHORIZED,
            reason: error.text(),
        })
    }
}

fn forbidden(reason: &'static str) -> AdmissionError {
    AdmissionError {
        status: StatusCode::FORBIDDEN,
        reason,
    }
}

/// Whether no other host can resolve to this name, which stops web pages that point their own name at this machine.
fn is_own_name(host: &[u8]) -> bool {
    let Ok(host) = std::str::from_utf8(host) else {
        return false;
    };
    let host = host.trim();
    let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _port)) => address,
        None => host.rsplit_once(':').map_or(host, |(name, _port)| name),
    };
    let name = name.strip_suffix('.').unwrap_or(name);
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::Secret;

    #[test]
    fn only_addresses_and_localhost_are_own_names() {
        for host in [
            "localhost",
            "LocalHost:1",
            "127.0.0.1:80",
            "[::1]:80",
            "[::1]",
            "localhost.",
        ] {
            assert!(is_own_name(host.as_bytes()), "{host}");
        }
        for host in [
            "example.org",
            "localhost.example.org:1",
            "127.0.0.1.example.org",
            "",
            "\u{e9}",
        ] {
            assert!(!is_own_name(host.as_bytes()), "{host}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn wrong_tokens_are_answered_slowly() {
        let admission = Admission::new(Some(Auth::Capability(Secret::new("right"))));
        let guess = |token: &'static [u8]| {
            let admission = admission.clone();
            async move { admission.check(Peer::Trusted, None, Some(token)).await }
        };
        let begun = tokio::time::Instant::now();
        assert_eq!(guess(b"Bearer right").await, Ok(()));
        assert_eq!(begun.elapsed(), Duration::ZERO);
        let guesses = (0..4 * MAX_GUESSES).map(|_| guess(b"Bearer wrong"));
        let answers = futures::future::join_all(guesses).await;
        assert!(
            answers
                .iter()
                .all(|answer| answer.unwrap_err().status == StatusCode::UNAUTHORIZED)
        );
        assert!(begun.elapsed() >= 4 * WRONG_TOKEN);
    }
}
