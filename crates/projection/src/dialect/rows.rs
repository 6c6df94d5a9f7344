//! The behaviours in which releases disagree: a row each, with its values by release and what they mean.
//!
//! The first value is that of 0.117, each other one holds from its release on. `own` is what this program does beside all
//! releases: only its own clients are served so. The table of docs/compatibility.md is made from these rows.

use codex_protocol::Release;

use crate::ItemIds;

/// The releases whose behaviour is known. A release between two of them counts as the later one.
const KNOWN_RELEASES: [Release; 5] = [
    Release::FIRST,
    Release::of_mark("0.140"),
    Release::of_mark("0.169"),
    Release::NEWEST,
    Release::OWN,
];

/// The behaviours of one release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    release: Release,
}

impl Dialect {
    /// The dialect of a release. What is newer than all known releases is spoken to like the newest one.
    pub fn of_release(release: Release) -> Self {
        let is_known = |known: &Release| release <= *known && *known != Release::OWN;
        let found = KNOWN_RELEASES.into_iter().find(is_known);
        Self {
            release: match release {
                Release::OWN => release,
                _ => found.unwrap_or(Release::NEWEST),
            },
        }
    }
}

/// When clients hear of a command that waits for an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandBegin {
    WhenItRuns,
    WhenItIsAskedAbout,
}

/// The ends of a declined command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeclinedCommandEnd {
    /// Without output, then with the text that the model gets.
    Twice,
    /// Without output.
    Bare,
    /// With that text.
    Full,
}

/// The hooks whose runs clients know, each with those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KnownHooks {
    /// Those of the five events of 0.117.
    First,
    /// Those around approvals, compactions and agents.
    Second,
    /// Those around requests, interrupts and ends of sessions, and tools of MCP servers.
    All,
}

/// The order of the list of features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatureOrder {
    OwnFirst,
    Catalogue,
}

/// The names by which the model is offered tools of MCP servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McpToolNames {
    Whole,
    InNamespaces,
    /// Other servers may refuse namespaces.
    InNamespacesOfHostedModels,
}

impl McpToolNames {
    /// Whether models are offered namespaces, hosted ones or others.
    pub fn are_in_namespaces(self, is_hosted: bool) -> bool {
        match self {
            Self::Whole => false,
            Self::InNamespaces => true,
            Self::InNamespacesOfHostedModels => is_hosted,
        }
    }
}

/// A row, as it is documented.
#[derive(Clone, Copy, Debug)]
#[cfg(test)]
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    /// From which release on, and what is done.
    pub(super) values: &'static [(&'static str, &'static str)],
}

macro_rules! behaviours {
    ($($(#[doc = $what:literal])+ $name:ident: $kind:ty {
        $first:expr, $first_text:literal; $($since:literal: $value:expr, $text:literal;)+
    })+) => {
        impl Dialect {
            $($(#[doc = $what])+
            pub fn $name(self) -> $kind {
                let mut value = $first;
                $(if self.release >= const { Release::of_mark($since) } {
                    value = $value;
                })+
                value
            })+
        }

        #[cfg(test)]
        pub(super) const ROWS: &[Row] = &[$(Row {
            name: stringify!($name),
            what: concat!($($what),+),
            values: &[("0.117", $first_text), $(($since, $text)),+],
        }),+];
    };
}

behaviours! {
    /// the schema of the traces that a server records; its user names the release
    trace_schema: u32 {
        1, "1";
        "0.169": 2, "2";
        "0.171": 3, "3";
    }
    /// ids of messages and reasoning in `thread/read`, `thread/resume`, `thread/fork` and `thread/rollback`; what is read
    /// back of messages
    item_ids: ItemIds {
        ItemIds::Numbered, "numbers (`item-1`); a message is one text, then the images; the message in which a turn was interrupted is read back";
        "0.169": ItemIds::Streamed, "those of the stream; the parts of a message are as they were sent, with skills and mentions; an interrupted message is left out";
    }
    /// ends of a command that a client declined
    declined_command_end: DeclinedCommandEnd {
        DeclinedCommandEnd::Twice, "two: without output, then with the text that the model gets";
        "0.169": DeclinedCommandEnd::Bare, "one, without output";
        "own": DeclinedCommandEnd::Full, "one, with the text that the model gets";
    }
    /// ends of a patch that a client declined
    declined_patch_ends_twice: bool {
        true, "two";
        "0.140": false, "one";
    }
    /// the end of a message, plan, reasoning, command or call that is unfinished when its turn is interrupted
    ends_interrupted_items: bool {
        false, "none of its own: the end of the turn is its end";
        "own": true, "before that of the turn";
    }
    /// the begin of a command that waits for approval or review
    command_begin: CommandBegin {
        CommandBegin::WhenItRuns, "when the command runs";
        "0.140": CommandBegin::WhenItIsAskedAbout, "before the approval";
    }
    /// `thread/readState/changed`
    has_read_states: bool {
        false, "not sent";
        "0.169": true, "sent at the end of a turn and after a revert";
    }
    /// `thread/checkpoint/created`
    has_checkpoints: bool {
        false, "not sent";
        "0.140": true, "sent";
    }
    /// `codexErrorInfo` of a request that the provider's rules on security forbid
    has_cyber_policy: bool {
        false, "`other`";
        "0.140": true, "`cyberPolicy`";
    }
    /// `codexErrorInfo` of a turn that a limit ended, of an unknown model, of too many requests, of missing capacity
    has_all_error_causes: bool {
        false, "`other`, of an unknown model `badRequest`";
        "0.169": true, "`sessionBudgetExceeded`, `modelNotFound`, `rateLimitExceeded`, `flexUnavailable` or `policyCapacityUnavailable`";
    }
    /// `codexErrorInfo` of a request that the provider's rules on biology forbid
    has_bio_policy: bool {
        false, "`other`";
        "0.171": true, "`bioPolicy`";
    }
    /// `thread/tokenUsage/updated` of a response
    counts_usage_after_calls: bool {
        false, "after the response, before the approvals of its calls; again with new limits of the account";
        "0.140": true, "after the calls, once for each response; again when a compaction begins, and before a turn that fails or is interrupted ends";
    }
    /// `thread/tokenUsage/updated` when a thread is resumed or forked
    tells_usage_of_opened_threads: bool {
        false, "not sent";
        "0.140": true, "sent, without `excludeTurns`";
    }
    /// paths in `turn/diff/updated` outside a repository
    has_relative_diffs: bool {
        false, "absolute";
        "0.140": true, "relative to the working folder";
    }
    /// paths of files that a command reads (`commandActions`)
    has_absolute_reads: bool {
        false, "as the command has them";
        "0.140": true, "absolute";
    }
    /// ids of `enteredReviewMode` and `exitedReviewMode` in notifications
    has_ids_of_review_items: bool {
        false, "the id of the turn";
        "0.169": true, "ids of their own";
    }
    /// `guardianWarning` after an automatic review
    has_review_warnings: bool {
        false, "not sent";
        "0.140": true, "sent";
    }
    /// `riskLevel` of an automatic review that calls an action critical
    has_critical_risk: bool {
        false, "`high`";
        "0.140": true, "`critical`";
    }
    /// ids of runs of hooks of tools in notifications
    has_calls_in_hook_runs: bool {
        false, "without the id of the call";
        "0.140": true, "with the id of the call";
    }
    /// `hook/started` and `hook/completed`
    known_hooks: KnownHooks {
        KnownHooks::First, "sent for the events of 0.117: `sessionStart`, `userPromptSubmit`, `preToolUse`, `postToolUse`, `stop`";
        "0.140": KnownHooks::Second, "also for `permissionRequest`, `preCompact`, `postCompact`, `subagentStart`, `subagentStop`";
        "0.169": KnownHooks::All, "sent for all events, also for hooks that are tools of MCP servers";
    }
    /// what happens with agents that have paths
    has_agent_activities: bool {
        false, "`collabAgentToolCall`";
        "0.140": true, "`subAgentActivity`";
    }
    /// answers of tools that a turn begins with
    has_tool_outputs: bool {
        false, "`dynamicToolCall`";
        "0.169": true, "`functionCallOutput`";
    }
    /// sound in messages of users
    has_audio: bool {
        false, "a text, `[audio]`";
        "0.169": true, "`audio` and `localAudio`";
    }
    /// what a realtime conversation says
    has_realtime_items: bool {
        false, "`thread/realtime/transcriptUpdated`; begins and ends of responses";
        "0.140": true, "items and `thread/realtime/transcript/delta`, `done`";
    }
    /// `thread/realtime/start` and `stop` while the feature `realtime_conversation` is off
    takes_any_realtime_request: bool {
        false, "refused";
        "0.169": true, "taken; `thread/realtime/error` says why there is no conversation";
    }
    /// the last `thread/unsubscribe`
    unloads_later: bool {
        false, "unloads the thread at once";
        "0.140": true, "unloads it after `thread_unload_delay_secs` of the configuration (60), if it is still idle and has no subscriber";
    }
    /// `thread/resume`, `thread/archive` and `thread/delete` of a thread that another process has loaded for such a client
    holds_loaded_threads: bool {
        false, "work while no turn of it runs";
        "0.169": true, "are refused until it is unloaded";
    }
    /// settings of a resumed thread
    keeps_settings: bool {
        false, "those of the configuration, with the model and effort of the last turn";
        "0.169": true, "as they were in its last turn of a newer client, or were changed after it";
    }
    /// folder, sandbox, approval policy and reviewer of a fork
    fork_keeps_policy: bool {
        false, "those of the configuration and the request, in the folder in which its source began";
        "0.169": true, "those of its source, if the request does not name others";
    }
    /// name, project and attachments of a fork
    fork_keeps_metadata: bool {
        false, "none";
        "0.140": true, "those of its source";
    }
    /// the turns in `thread/started` of a fork
    started_forks_have_turns: bool {
        true, "sent";
        "0.140": false, "not sent";
    }
    /// `thread/fork` with `ephemeral` and without `excludeTurns`
    side_threads_exclude_turns: bool {
        false, "works";
        "0.169": true, "refused";
    }
    /// the tools of the model for the goal of a thread
    has_goal_tools: bool {
        false, "not offered";
        "0.140": true, "offered";
        "own": false, "not offered";
    }
    /// the goal after `thread/resume`
    shows_goal_of_resumed: bool {
        false, "not sent";
        "0.140": true, "`thread/goal/updated` or `thread/goal/cleared`";
    }
    /// `reason` of a command that leaves the sandbox
    has_plain_reasons: bool {
        false, "what the engine says, then the words of the model in quotation marks";
        "0.140": true, "the words of the model alone if they are short and plain and do not speak of the sandbox; what the engine says is then a `warning` before the question, and `engineNotice` in it";
        "own": false, "what the engine says, then the words of the model in quotation marks";
    }
    /// `serviceTier: null` when a thread is opened
    null_is_default_tier: bool {
        false, "means the configured tier";
        "0.140": true, "means `default`";
    }
    /// `turn/start` without input
    takes_empty_turns: bool {
        false, "refused";
        "0.140": true, "asks the model as things stand";
    }
    /// plugins in repositories of their own
    lists_plugins_in_repositories: bool {
        false, "left out of `plugin/list`";
        "0.140": true, "listed, with the source `git`";
    }
    /// `thread/archive`, `thread/name/set`, `thread/metadata/update`, `thread/goal/set`, `thread/memoryMode/set` and
    /// `thread/inject_items` of a thread without a turn
    stores_threads_without_turns: bool {
        false, "refused, or the thread cannot be resumed yet";
        "0.140": true, "create its file, so it can be resumed";
    }
    /// new threads
    numbers_lines: bool {
        false, "files as 0.117 writes them";
        "0.169": true, "files whose lines have numbers, and a line for each item; a patch that cannot be applied to the files that are there is a `fileChange` that fails, with the changes that it asks for";
    }
    /// dynamic tools in the older form
    checks_all_dynamic_tools: bool {
        false, "may have any name";
        "0.140": true, "have names that models take; deferred ones have a namespace";
    }
    /// the order of `experimentalFeature/list`
    feature_order: FeatureOrder {
        FeatureOrder::OwnFirst, "that of 0.117";
        "0.169": FeatureOrder::Catalogue, "that of 0.169";
    }
    /// features that `experimentalFeature/enablement/set` cannot switch
    skips_unknown_features: bool {
        false, "refuse the request";
        "0.140": true, "are left out of the reply";
    }
    /// the exit code of `command/exec` that the client ended, without a terminal
    exit_code_of_stopped: i32 {
        -1, "-1";
        "0.140": 137, "137";
    }
    /// how the model is offered tools of MCP servers
    mcp_tool_names: McpToolNames {
        McpToolNames::Whole, "as `mcp__SERVER__TOOL`; calls find the tools in either form";
        "0.140": McpToolNames::InNamespaces, "as `TOOL` in the namespace `mcp__SERVER`; calls find the tools in either form";
        "own": McpToolNames::InNamespacesOfHostedModels, "in a namespace for models of the hosted service itself, else as `mcp__SERVER__TOOL`, as other servers may refuse namespaces";
    }
    /// `app/list/updated` while apps are fetched again
    tells_known_apps: bool {
        true, "the list that was known, then the new one if it differs";
        "0.140": false, "the new list alone";
    }
    /// reasoning efforts of models in `model/list`
    has_all_efforts: bool {
        false, "those that 0.117 knows";
        "0.140": true, "all";
    }
    /// `fs/readFile` of a folder
    refuses_folders_as_invalid: bool {
        false, "-32603";
        "0.169": true, "-32600";
    }
    /// the account in `account/read` if the settings name Amazon Bedrock
    has_bedrock_account: bool {
        false, "null";
        "0.140": true, "`amazonBedrock`";
    }
    /// `authMode` and `authMethod` of a personal access token
    has_personal_access_tokens: bool {
        false, "`chatgpt`";
        "0.140": true, "`personalAccessToken`";
    }
    /// `forcedChatgptWorkspaceId` in `config/read`
    has_workspace_lists: bool {
        false, "a text";
        "0.140": true, "a text or a list";
    }
    /// the name of an automatic reviewer
    has_auto_review: bool {
        false, "`guardian_subagent`";
        "0.140": true, "`auto_review`";
    }
    /// a failure in `externalAgentConfig/import`
    import_tells_failures: bool {
        false, "refuses the request";
        "0.140": true, "is told with the results";
    }
    /// `remoteControl/status/changed` after the handshake
    has_remote_control: bool {
        false, "not sent";
        "0.140": true, "sent";
    }
    /// the folder of the memories with `workspace-write`
    protects_memories: bool {
        false, "may be written, and is among `writableRoots`";
        "0.140": true, "may not be written";
    }
    /// `thread/settings/updated` after a turn that changes only the mode
    tells_changes_of_mode: bool {
        false, "not sent";
        "0.140": true, "sent";
    }
    /// limits of a sandbox policy on reading
    shows_read_limits: bool {
        true, "sent, unless they are those of named permissions";
        "0.140": false, "not sent; their name is";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dialect(release: &str) -> Dialect {
        Dialect::of_release(Release::parse(release).unwrap())
    }

    #[test]
    fn unknown_release_counts_as_next_known_one() {
        assert_eq!(dialect("0.116"), dialect("0.117"));
        assert_eq!(dialect("0.118"), dialect("0.140"));
        assert_eq!(dialect("0.141"), dialect("0.169"));
        assert_eq!(dialect("0.999"), dialect("0.171"));
        assert_ne!(dialect("0.171"), dialect("own"));
    }

    #[test]
    fn behaviour_has_the_value_of_its_last_matching_row() {
        let ends = ["0.117", "0.140", "0.169", "0.171", "own"]
            .map(|release| dialect(release).declined_command_end());
        use DeclinedCommandEnd::*;
        let expected = [Twice, Twice, Bare, Bare, Full];
        assert_eq!(ends, expected);
        assert!(!dialect("0.140").side_threads_exclude_turns());
        assert!(dialect("0.169").side_threads_exclude_turns());
    }

    #[test]
    fn namespaces_of_tools_depend_on_release_and_service() {
        let are_used = |release| {
            let names = dialect(release).mcp_tool_names();
            [true, false].map(|is_hosted| names.are_in_namespaces(is_hosted))
        };
        assert_eq!(are_used("0.117"), [false, false]);
        assert_eq!(are_used("0.140"), [true, true]);
        assert_eq!(are_used("own"), [true, false]);
    }

    #[test]
    fn dialect_rows_have_unique_names_and_ordered_releases() {
        let mut names: Vec<_> = ROWS.iter().map(|row| row.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ROWS.len());
        for row in ROWS {
            let releases = row
                .values
                .iter()
                .map(|(since, _)| Release::parse(since).unwrap());
            assert!(releases.clone().is_sorted(), "{}", row.name);
            assert!(
                releases
                    .clone()
                    .all(|release| KNOWN_RELEASES.contains(&release)),
                "{}",
                row.name
            );
        }
    }
}
