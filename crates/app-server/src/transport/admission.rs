//! Whether a client may have a websocket: by its process, by the name that it used, by its token.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::StatusCode;
use tokio::sync::Semaphore;

use super::auth::Auth;
use super::peer::{Peer, PeerVerdict};

/// How long the answer to a wrong token takes.
const WRONG_TOKEN: Duration = Duration::from_millis(250);
/// How many tokens are looked at at once: with that time, how fast they can be guessed.
const GUESSES: usize = 16;

/// What a listener asks of all its clients. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Admission {
    auth: Option<Arc<Auth>>,
    guesses: Arc<Semaphore>,
}

/// Why a client is turned away: the status of the reply and its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AdmissionError {
    pub(super) status: StatusCode,
    pub(super) reason: &'static str,
}

impl Admission {
    pub(super) fn new(auth: Option<Auth>) -> Self {
        Self {
            auth: auth.map(Arc::new),
            guesses: Arc::new(Semaphore::new(GUESSES)),
        }
    }

    /// Looks at a request for a websocket: its peer, its `Host` and its `Authorization`.
    pub(super) async fn check(
        &self,
        peer: Peer,
        host: Option<&[u8]>,
        authorization: Option<&[u8]>,
    ) -> Result<(), AdmissionError> {
        if self.auth.is_none() && peer.has_names() && !host.is_none_or(is_own_name) {
            return Err(forbidden("`Host` has to be an address or `localhost`"));
        }
        let verdict = tokio::task::spawn_blocking(move || peer.verdict()).await;
        match verdict.unwrap_or(PeerVerdict::Unknown) {
            PeerVerdict::Free => {}
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
        // Never closed.
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

/// Whether nobody else can have a name lead here: a web page whose own name does is stopped by this.
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
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::transport::auth::Secret;

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
        let guesses = (0..4 * GUESSES).map(|_| guess(b"Bearer wrong"));
        let answers = futures::future::join_all(guesses).await;
        assert!(
            answers
                .iter()
                .all(|answer| answer.unwrap_err().status == StatusCode::UNAUTHORIZED)
        );
        assert!(begun.elapsed() >= 4 * WRONG_TOKEN);
    }
}
