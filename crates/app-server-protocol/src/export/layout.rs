//! Where a type's files go: in the root folder or in `v2`.

use std::borrow::Cow;
use std::collections::BTreeSet;

use codex_protocol as protocol;
use schemars::JsonSchema;

use super::schema::IN_ROOT;
use super::selection::Selection;
use crate::{rpc, v2};

/// The folder of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LayoutFolder {
    Root,
    V2,
}

impl LayoutFolder {
    /// The start of a path to a file in it.
    pub(super) fn prefix(self) -> &'static str {
        match self {
            Self::Root => "",
            Self::V2 => "v2/",
        }
    }
}

/// The folders of all types of a catalogue.
pub(super) struct Layout {
    root: BTreeSet<Cow<'static, str>>,
}

impl Layout {
    /// Where TypeScript goes: what both versions of the protocol share, and the older families, are
    /// in the root.
    pub(super) fn typescript(selection: &Selection<'_>) -> Self {
        let names: Vec<Cow<'static, str>> =
            [shared_types(), older_types(), message_types()].concat();
        let named = (selection.names())
            .filter(|name| selection.schema(name).get(IN_ROOT).is_some())
            .map(|name| Cow::Owned(name.to_owned()));
        Self {
            root: names.into_iter().chain(named).collect(),
        }
    }

    /// Where JSON Schema goes: everything that v2 needs is in `v2`.
    pub(super) fn json_schema(selection: &Selection<'_>) -> Self {
        let typescript = Self::typescript(selection);
        let of_v2 = selection
            .names()
            .filter(|name| typescript.folder(name) == LayoutFolder::V2);
        let needed_by_v2 = selection.closure(of_v2);
        let root = selection
            .names()
            .filter(|name| !needed_by_v2.contains(*name))
            .map(|name| Cow::Owned(name.to_owned()));
        Self {
            root: root.collect(),
        }
    }

    /// The folders of a type's JSON Schema. The generated files of other programs have some types in another folder than
    /// ours; these are in both.
    pub(super) fn json_folders(&self, selection: &Selection<'_>, name: &str) -> Vec<&'static str> {
        let own = self.folder(name).prefix();
        let other = if ["InitializeParams", "InitializeResponse"].contains(&name) {
            "v1/"
        } else if name == "RequestId" || selection.is_of_server_request(name) {
            ""
        } else {
            own
        };
        let mut folders = vec![own];
        if other != own {
            folders.push(other);
        }
        folders
    }

    pub(super) fn folder(&self, name: &str) -> LayoutFolder {
        if self.root.contains(name) {
            LayoutFolder::Root
        } else {
            LayoutFolder::V2
        }
    }
}

/// The names of types, checked by the compiler.
macro_rules! names {
    ($($ty:ty),* $(,)?) => { vec![$(<$ty as JsonSchema>::schema_name()),*] };
}

/// The messages themselves.
fn message_types() -> Vec<Cow<'static, str>> {
    let mut all = names![
        rpc::RequestId,
        rpc::Message<'_>,
        rpc::Request<'_>,
        rpc::Notification<'_>,
        rpc::Response<'_>,
        rpc::ErrorResponse,
        rpc::ErrorObject,
        rpc::TraceContext,
    ];
    all.extend(super::schema::UNIONS.map(|(_, name)| Cow::Borrowed(name)));
    all
}

/// Types of the v1 vocabulary that v2 uses as they are.
fn shared_types() -> Vec<Cow<'static, str>> {
    names![
        protocol::AbsolutePathBuf,
        protocol::AgentPath,
        protocol::AuthMode,
        protocol::CollaborationMode,
        protocol::ContentItem,
        protocol::FileChange,
        protocol::ForcedLoginMethod,
        protocol::FunctionCallOutputBody,
        protocol::FunctionCallOutputContentItem,
        protocol::GhostCommit,
        protocol::ImageDetail,
        protocol::InputModality,
        protocol::LocalShellAction,
        protocol::LocalShellExecAction,
        protocol::LocalShellStatus,
        protocol::MacOsAutomationPermission,
        protocol::MacOsContactsPermission,
        protocol::MacOsPreferencesPermission,
        protocol::MessagePhase,
        protocol::ModeKind,
        protocol::ParsedCommand,
        protocol::Personality,
        protocol::PlanType,
        protocol::RealtimeConversationVersion,
        protocol::ReasoningEffort,
        protocol::ReasoningItemContent,
        protocol::ReasoningItemReasoningSummary,
        protocol::ReasoningSummary,
        protocol::Resource,
        protocol::ResourceTemplate,
        protocol::ResponseItem,
        protocol::ReviewDecision,
        protocol::ServiceTier,
        protocol::SessionSource,
        protocol::Settings,
        protocol::SubAgentSource,
        protocol::ThreadId,
        protocol::Tool,
        protocol::Verbosity,
        protocol::WebSearchAction,
        protocol::WebSearchContextSize,
        protocol::WebSearchLocation,
        protocol::WebSearchMode,
        protocol::WebSearchToolConfig,
    ]
}

/// Families that are older than v2.
fn older_types() -> Vec<Cow<'static, str>> {
    names![
        v2::ApplyPatchApprovalParams,
        v2::ApplyPatchApprovalResponse,
        v2::ClientInfo,
        v2::ConversationGitInfo,
        v2::ConversationSummary,
        v2::ExecCommandApprovalParams,
        v2::ExecCommandApprovalResponse,
        v2::FuzzyFileSearchMatchType,
        v2::FuzzyFileSearchParams,
        v2::FuzzyFileSearchResponse,
        v2::FuzzyFileSearchResult,
        v2::FuzzyFileSearchSessionCompletedNotification,
        v2::FuzzyFileSearchSessionStartParams,
        v2::FuzzyFileSearchSessionStartResponse,
        v2::FuzzyFileSearchSessionStopParams,
        v2::FuzzyFileSearchSessionStopResponse,
        v2::FuzzyFileSearchSessionUpdateParams,
        v2::FuzzyFileSearchSessionUpdateResponse,
        v2::FuzzyFileSearchSessionUpdatedNotification,
        v2::GetAuthStatusParams,
        v2::GetAuthStatusResponse,
        v2::GetConversationSummaryParams,
        v2::GetConversationSummaryResponse,
        v2::GitDiffToRemoteParams,
        v2::GitDiffToRemoteResponse,
        v2::GitSha,
        v2::InitializeCapabilities,
        v2::InitializeParams,
        v2::InitializeResponse,
    ]
}
