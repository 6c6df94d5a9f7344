//! Which release a client has: what it says, what the user says of it, or what its name and its requests show.

use std::collections::HashMap;

use codex_app_server_protocol::ClientRequest;
use codex_app_server_protocol::v2::{
    ApprovalsReviewer, DynamicToolSpec, InitializeCapabilities, InitializeParams,
};
use codex_protocol::{Experimental, PartPlace, Release, ReleasedPart, UnknownRelease};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::rows::Dialect;
use super::steps::newer_items::is_audio;

/// The release that a client counts as which shows that it is newer than it seemed. Most clients that do not say their
/// release are written for this one or a later one.
pub const RELEASE_OF_SIGNS: Release = Release::of_mark("0.169");

/// The newer name of an automatic reviewer.
const NEWER_REVIEWER: &str = "auto_review";

/// Names of clients that others wrote, need a later release, and begin with requests that 0.117 has too. Their versions
/// say nothing about releases.
const NEWER_CLIENTS: [&str; 2] = ["ai-sdk-provider-codex-cli", "hapi"];

/// The official client whose requests to model providers go under the name of this program.
const UNNAMED_CLIENT: &str = "codex-tui";

/// Whether a client has a name of its own for model providers.
pub fn is_named_to_providers(client: &str) -> bool {
    !client.is_empty() && client != UNNAMED_CLIENT
}

/// The release that a client counts as.
#[derive(Clone, Copy, Debug)]
pub struct ClientRelease {
    release: Release,
    /// Whether somebody said it: the client, or the user who started the server. Nothing that the client sends counts then.
    is_given: bool,
}

impl ClientRelease {
    /// That of a client that has sent nothing yet.
    pub fn new(given: Option<Release>) -> Self {
        Self {
            release: given.unwrap_or(Release::FIRST),
            is_given: given.is_some(),
        }
    }

    pub fn dialect(self) -> Dialect {
        Dialect::of_release(self.release)
    }

    /// Notes what the client says of itself in the handshake.
    pub fn read_handshake(&mut self, params: &InitializeParams) -> Result<(), UnknownRelease> {
        let capabilities = params.capabilities.as_ref();
        if let Some(text) = capabilities.and_then(|all| all.client_release.as_deref()) {
            *self = Self::new(Some(Release::parse_client(text)?));
        }
        if !self.is_given {
            self.release = release_of_client(params, self.release);
        }
        Ok(())
    }

    /// Notes what a request shows.
    pub fn read_request(&mut self, request: &ClientRequest, params: Option<&RawValue>) {
        if !self.is_given
            && let Some(shown) = release_shown_by(request, params, self.release)
        {
            self.release = self.release.max(shown);
        }
    }
}

/// The release of a client by its name: official clients have the version of their release. `otherwise` is that of a
/// client that does not say it.
fn release_of_client(params: &InitializeParams, otherwise: Release) -> Release {
    let (name, version) = (&params.client_info.name, &params.client_info.version);
    if let Some(official) = official_release(name, version) {
        return official;
    }
    if NEWER_CLIENTS.contains(&name.as_str()) {
        return otherwise.max(RELEASE_OF_SIGNS);
    }
    otherwise
}

/// The release of an official client, whose version it is; none for others.
fn official_release(name: &str, version: &str) -> Option<Release> {
    let minor = version.strip_prefix("0.")?.split('.').next()?;
    let release = Release::parse(&format!("0.{minor}"))?;
    (name.starts_with("codex") && release >= Release::FIRST).then_some(release)
}

/// The release that a request shows its client to have, if that is a later one than `known`. What no release has, and what
/// this program has beside them, shows nothing.
fn release_shown_by(
    request: &ClientRequest,
    params: Option<&RawValue>,
    known: Release,
) -> Option<Release> {
    let method = request.method();
    let of_method = ClientRequest::releases(method).map(|releases| releases.since);
    let of_form = has_newer_form(request).then_some(RELEASE_OF_SIGNS);
    let signs = [
        of_method,
        newest_member(params, ClientRequest::released_params(method), known),
        of_form,
        newest_capability(request, params, known),
    ];
    let newest = signs
        .into_iter()
        .flatten()
        .filter(|since| *since != Release::OWN)
        .max();
    newest
        .filter(|since| *since > known)
        .map(|since| since.max(RELEASE_OF_SIGNS))
}

/// Whether a value has a form that is newer than 0.117.
fn has_newer_form(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::ThreadStart(params) => {
            let mut tools = params.dynamic_tools.iter().flatten();
            tools.any(DynamicToolSpec::has_tag_or_namespace)
                || is_newer_reviewer(params.approvals_reviewer)
        }
        ClientRequest::ThreadResume(params) => is_newer_reviewer(params.approvals_reviewer),
        ClientRequest::ThreadFork(params) => is_newer_reviewer(params.approvals_reviewer),
        ClientRequest::TurnStart(params) => {
            is_newer_reviewer(params.approvals_reviewer) || params.input.iter().any(is_audio)
        }
        ClientRequest::TurnSteer(params) => params.input.iter().any(is_audio),
        ClientRequest::TurnInterrupt(params) => params.turn_id.is_empty(),
        ClientRequest::ConfigValueWrite(params) => params.value == NEWER_REVIEWER,
        ClientRequest::ConfigBatchWrite(params) => {
            params.edits.iter().any(|edit| edit.value == NEWER_REVIEWER)
        }
        _ => false,
    }
}

fn is_newer_reviewer(reviewer: Option<ApprovalsReviewer>) -> bool {
    reviewer == Some(ApprovalsReviewer::AutoReview)
}

/// The release of the newest capability that a client names at the handshake, whether or not it has it.
fn newest_capability(
    request: &ClientRequest,
    params: Option<&RawValue>,
    known: Release,
) -> Option<Release> {
    let ClientRequest::Initialize(_) = request else {
        return None;
    };
    let params = serde_json::from_str::<HandshakeParams<'_>>(params?.get()).ok()?;
    newest_member(params.capabilities, InitializeCapabilities::RELEASED, known)
}

/// What of the handshake shows how new a client is.
#[derive(Deserialize)]
struct HandshakeParams<'a> {
    #[serde(borrow)]
    capabilities: Option<&'a RawValue>,
}

/// The release of the newest member with a value other than null that is newer than `known`.
fn newest_member(
    params: Option<&RawValue>,
    parts: &[ReleasedPart],
    known: Release,
) -> Option<Release> {
    let newer = parts.iter().filter_map(|part| match part.place {
        PartPlace::Member(name) | PartPlace::Unread(name) => {
            let since = part.releases.since;
            (since > known && since != Release::OWN).then_some((name, since))
        }
        _ => None,
    });
    newer.clone().next()?;
    let members = serde_json::from_str::<HashMap<&str, &RawValue>>(params?.get()).ok()?;
    let is_given = |name| members.get(name).is_some_and(|value| value.get() != "null");
    newer
        .filter(|(name, _)| is_given(*name))
        .map(|(_, since)| since)
        .max()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn client(name: &str, version: &str, otherwise: Release) -> String {
        let params = json!({ "clientInfo": { "name": name, "version": version } });
        release_of_client(&serde_json::from_value(params).unwrap(), otherwise).to_string()
    }

    #[test]
    fn official_clients_have_the_version_of_their_release() {
        let release = |name, version| client(name, version, Release::FIRST);
        assert_eq!(release("codex-tui", "0.169.0"), "0.169");
        assert_eq!(release("codex_sdk", "0.118.0-alpha.2"), "0.118");
        assert_eq!(release("codex-tui", "0.117.0"), "0.117");
        assert_eq!(release("codex-acp", "2.6.0"), "0.117");
        assert_eq!(release("codex-agent-sdk", "0.0.2"), "0.117");
        assert_eq!(release("another", "0.169.0"), "0.117");
        assert_eq!(release("ai-sdk-provider-codex-cli", "0.0.0"), "0.169");
        assert_eq!(release("codex", "0.x"), "0.117");
    }

    /// The release after the handshake and after a request of 0.169.
    fn known(given: Option<&str>, capability: Option<&str>, name: &str) -> [String; 2] {
        let mut known = ClientRelease::new(given.map(Release::of_mark));
        let capabilities = json!({ "clientRelease": capability });
        let info = json!({ "name": name, "version": "0.140.0" });
        let params = json!({ "clientInfo": info, "capabilities": capabilities });
        let handshake = serde_json::from_value(params).unwrap();
        known.read_handshake(&handshake).unwrap();
        let first = known.release.to_string();
        let params = json!({ "threadId": "t", "turnId": "" }).to_string();
        let raw = serde_json::from_str::<&RawValue>(&params).unwrap();
        let request = ClientRequest::read("turn/interrupt", Some(raw)).unwrap();
        known.read_request(&request, Some(raw));
        [first, known.release.to_string()]
    }

    #[test]
    fn stated_release_wins_over_a_shown_release() {
        let same = |release: &str| [release.to_owned(), release.to_owned()];
        assert_eq!(
            known(Some("0.171"), Some("0.117"), "codex-tui"),
            same("0.117")
        );
        assert_eq!(known(None, Some("0.140"), "another"), same("0.140"));
        assert_eq!(known(Some("0.171"), None, "codex-tui"), same("0.171"));
        assert_eq!(known(Some("own"), None, "codex-tui"), same("own"));
        assert_eq!(known(None, None, "codex-tui"), ["0.140", "0.169"]);
        assert_eq!(known(None, None, "another"), ["0.117", "0.169"]);
        assert_eq!(known(None, None, "hapi"), ["0.169", "0.169"]);
    }

    fn shown(method: &str, params: &serde_json::Value, known: &str) -> Option<String> {
        let text = params.to_string();
        let raw = serde_json::from_str::<&RawValue>(&text).unwrap();
        let request = ClientRequest::read(method, Some(raw)).unwrap();
        let known = Release::parse(known).unwrap();
        release_shown_by(&request, Some(raw), known).map(|release| release.to_string())
    }

    #[test]
    fn methods_members_and_forms_of_later_releases_are_signs() {
        let thread = json!({ "threadId": "t" });
        assert_eq!(shown("thread/goal/get", &thread, "0.117").unwrap(), "0.169");
        assert_eq!(shown("thread/goal/get", &thread, "0.140"), None);
        assert_eq!(shown("thread/resume", &thread, "0.117"), None);
        let without_turns = json!({ "threadId": "t", "excludeTurns": true });
        assert_eq!(
            shown("thread/resume", &without_turns, "0.117").unwrap(),
            "0.169"
        );
        let null = json!({ "threadId": "t", "initialTurnsPage": null });
        assert_eq!(shown("thread/resume", &null, "0.117"), None);
        let any_turn = json!({ "threadId": "t", "turnId": "" });
        assert_eq!(
            shown("turn/interrupt", &any_turn, "0.117").unwrap(),
            "0.169"
        );
        let info = json!({ "name": "x", "version": "1" });
        let handshake = json!({ "clientInfo": info, "capabilities": { "extensions": {} } });
        assert_eq!(shown("initialize", &handshake, "0.117").unwrap(), "0.169");
    }

    #[test]
    fn methods_of_no_release_show_no_release() {
        let thread = json!({ "threadId": "t" });
        assert_eq!(shown("thread/checkpoint/list", &thread, "0.117"), None);
        let turn = json!({ "threadId": "t", "turnId": "u" });
        assert_eq!(shown("turn/continue", &turn, "0.117"), None);
        let limits = json!({ "limits": { "turns": 3 } });
        assert_eq!(shown("thread/start", &limits, "0.117"), None);
    }
}
