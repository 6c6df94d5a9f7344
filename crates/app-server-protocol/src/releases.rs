//! Which parts of the vocabulary clients of release 0.117 do not know.
//!
//! A client that uses one of them is newer than that release. What later releases brought is otherwise sent
//! to every client: receivers skip members and notifications that they do not know.

mod members;
mod methods;

use members::MEMBERS;
use methods::METHODS;

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

/// The capabilities of `initialize` that are newer than 0.117.
pub fn newer_capabilities() -> &'static [&'static str] {
    newer_members("InitializeCapabilities")
}

/// The minor version of the release of an official client, whose version it is; none for others.
pub fn official_release(name: &str, version: &str) -> Option<u32> {
    let minor = version.strip_prefix("0.")?.split('.').next()?;
    let minor = minor.parse().ok()?;
    name.starts_with("codex").then_some(minor)
}

/// Whether a method, in either direction, is newer than 0.117.
pub fn is_newer_method(method: &str) -> bool {
    release_of(method).is_some()
}

/// The release that brought a method; none if 0.117 has it.
pub(crate) fn release_of(method: &str) -> Option<&'static str> {
    let found = METHODS.binary_search_by_key(&method, |(name, _)| name);
    found.ok().map(|at| METHODS[at].1)
}

/// What of a type is newer than 0.117: a member, `variant.member`, or `=variant`.
pub(crate) fn newer_members(ty: &str) -> &'static [&'static str] {
    let found = MEMBERS.binary_search_by_key(&ty, |(name, _)| name);
    found.map_or(&[], |at| MEMBERS[at].1)
}

/// The members of a method's params that are newer than 0.117; empty for methods that are newer as a whole.
pub fn newer_params(method: &str) -> &'static [&'static str] {
    let found = NEWER_PARAMS.binary_search_by_key(&method, |(name, _)| name);
    found.map_or(&[], |at| NEWER_PARAMS[at].1)
}

/// Sorted by method, for the search.
const NEWER_PARAMS: &[(&str, &[&str])] = &[
    ("command/exec", &["permissionProfile"]),
    ("experimentalFeature/list", &["threadId"]),
    (
        "externalAgentConfig/detect",
        &[
            "maxSessionAgeDays",
            "maxSessions",
            "migrationSource",
            "source",
        ],
    ),
    (
        "externalAgentConfig/import",
        &["migrationSource", "providerId", "source"],
    ),
    ("feedback/upload", &["tags"]),
    ("fs/watch", &["watchId"]),
    ("mcpServer/oauth/login", &["clientRegistration", "threadId"]),
    (
        "mcpServerStatus/list",
        &["detail", "serverName", "threadId"],
    ),
    ("model/list", &["modelProvider"]),
    (
        "plugin/install",
        &["installAttemptId", "remoteMarketplaceName"],
    ),
    ("plugin/list", &["forceRefetch", "marketplaceKinds"]),
    ("plugin/read", &["remoteMarketplaceName"]),
    (
        "thread/fork",
        &[
            "attachToSource",
            "beforeTurnId",
            "deferGoalContinuation",
            "excludeTurns",
            "experimentalDisablePredictionMcp",
            "experimentalPredictionMode",
            "lastTurnId",
            "limits",
            "permissions",
            "runtimeWorkspaceRoots",
            "threadSource",
        ],
    ),
    (
        "thread/list",
        &[
            "ancestorThreadId",
            "attachedToThreadId",
            "currentAccountOnly",
            "excludedThreadIds",
            "includeAttachedThreads",
            "includedThreadIds",
            "originators",
            "parentThreadId",
            "projectId",
            "sectionId",
            "sortDirection",
            "useStateDbOnly",
        ],
    ),
    ("thread/metadata/update", &["daybreakEnabled", "projectId"]),
    ("thread/realtime/appendText", &["role"]),
    (
        "thread/realtime/start",
        &[
            "backendReasoningStatus",
            "clientManagedHandoffs",
            "codexResponseHandoffChannelPrefixes",
            "codexResponseHandoffMode",
            "codexResponseItemPrefix",
            "codexResponsesAsItems",
            "delegationAckFiller",
            "flushTranscriptTailOnSessionEnd",
            "includeStartupContext",
            "initialItems",
            "model",
            "outputModality",
            "realtimeEndInstructions",
            "realtimeSessionId",
            "realtimeStartInstructions",
            "transport",
            "version",
            "voice",
            "voiceSessionId",
        ],
    ),
    (
        "thread/resume",
        &[
            "excludeTurns",
            "initialTurnsPage",
            "limits",
            "permissions",
            "runtimeWorkspaceRoots",
        ],
    ),
    ("thread/shellCommand", &["timeoutMs"]),
    (
        "thread/start",
        &[
            "allowProviderModelFallback",
            "daybreakEnabled",
            "environments",
            "historyMode",
            "limits",
            "multiAgentMode",
            "permissions",
            "projectId",
            "runtimeWorkspaceRoots",
            "selectedCapabilityRoots",
            "sessionStartSource",
            "threadSource",
        ],
    ),
    (
        "turn/start",
        &[
            "additionalContext",
            "clientUserMessageId",
            "cyberAccessProgram",
            "disabledPluginIds",
            "environments",
            "limits",
            "multiAgentMode",
            "parentTurnId",
            "permissions",
            "responsesapiClientMetadata",
            "responsesapiClientMetadataPatch",
            "rootTurnId",
            "runtimeWorkspaceRoots",
            "serviceTierForTurn",
            "toolOutput",
            "turnTrigger",
        ],
    ),
    (
        "turn/steer",
        &[
            "additionalContext",
            "clientUserMessageId",
            "responsesapiClientMetadata",
            "responsesapiClientMetadataPatch",
        ],
    ),
];

#[cfg(test)]
mod tests {
    use super::methods::OWN;
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
    fn the_lists_are_sorted() {
        assert!(METHODS.is_sorted());
        assert!(MEMBERS.is_sorted_by_key(|(ty, _)| ty));
        assert!(NEWER_PARAMS.is_sorted_by_key(|(method, _)| method));
        assert!(is_newer_method("thread/goal/set"));
        assert!(!is_newer_method("thread/start"));
        assert_eq!(release_of("thread/goal/set"), Some("0.140"));
        assert_eq!(release_of("hook/run"), Some(OWN));
        assert!(newer_capabilities().contains(&"extensions"));
        assert!(newer_params("thread/resume").contains(&"excludeTurns"));
    }
}
