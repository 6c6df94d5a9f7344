//! Which parts of the vocabulary clients of release 0.117 do not know.
//!
//! A client that uses one of them is newer than that release. What later releases brought is otherwise sent
//! to every client: receivers skip members and notifications that they do not know. The marks of methods and members,
//! `#[since("0.140")]`, stand where they are defined.

use codex_protocol::{Experimental, PartPlace, Release, ReleasedPart};

use crate::methods::ClientRequest;
use crate::v2::InitializeCapabilities;

/// The minor version of the last release with the older vocabulary.
const OLDER: u32 = 117;

/// Names of clients that others wrote, need a later release, and begin with requests that 0.117 has too. Their versions
/// say nothing about releases.
const NEWER_CLIENTS: [&str; 2] = ["ai-sdk-provider-codex-cli", "hapi"];

/// Whether `clientInfo` is that of a client that needs a release after 0.117.
pub fn is_newer_client(name: &str, version: &str) -> bool {
    NEWER_CLIENTS.contains(&name)
        || official_release(name, version).is_some_and(|release| release > OLDER)
}

/// The minor version of the release of an official client, whose version it is; none for others.
pub fn official_release(name: &str, version: &str) -> Option<u32> {
    let minor = version.strip_prefix("0.")?.split('.').next()?;
    let minor = minor.parse().ok()?;
    name.starts_with("codex").then_some(minor)
}

/// The capabilities of `initialize` that are newer than 0.117.
pub fn newer_capabilities() -> impl Iterator<Item = &'static str> + Clone {
    newer_members(InitializeCapabilities::RELEASED)
}

/// Whether a request of a client is newer than 0.117. A method that no release has says nothing about the client.
pub fn is_newer_request(method: &str) -> bool {
    ClientRequest::releases(method).is_some_and(|releases| is_newer(releases.since))
}

/// The members of a request's params that are newer than 0.117; empty for methods that are newer as a whole.
pub fn newer_params(method: &str) -> impl Iterator<Item = &'static str> + Clone {
    newer_members(ClientRequest::released_params(method))
}

fn newer_members(parts: &'static [ReleasedPart]) -> impl Iterator<Item = &'static str> + Clone {
    parts.iter().filter_map(|part| match part.place {
        PartPlace::Member(name) | PartPlace::Unread(name) => {
            is_newer(part.releases.since).then_some(name)
        }
        _ => None,
    })
}

fn is_newer(since: Release) -> bool {
    since > Release::FIRST && since != Release::OWN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn official_clients_have_the_version_of_their_release() {
        assert!(is_newer_client("codex-tui", "0.169.0"));
        assert!(is_newer_client("codex_sdk", "0.118.0-alpha.2"));
        assert!(!is_newer_client("codex-tui", "0.117.0"));
        assert!(!is_newer_client("codex-acp", "2.6.0"));
        assert!(!is_newer_client("another", "0.169.0"));
        assert!(is_newer_client("ai-sdk-provider-codex-cli", "0.0.0"));
        assert!(!is_newer_client("codex", "0.x"));
    }

    #[test]
    fn requests_and_members_after_0_117_are_newer() {
        assert!(is_newer_request("thread/goal/set"));
        assert!(!is_newer_request("thread/start"));
        assert!(!is_newer_request("hooks/register"), "no release has it");
        assert!(!is_newer_request("no/such/method"));
        let has = |method, member| newer_params(method).any(|name| name == member);
        assert!(has("thread/resume", "excludeTurns"));
        assert!(
            has("thread/realtime/start", "voiceSessionId"),
            "not read here"
        );
        assert!(!has("thread/resume", "threadId"));
        assert!(!has("thread/start", "limits"), "no release has it");
        assert!(newer_capabilities().any(|name| name == "extensions"));
    }
}
