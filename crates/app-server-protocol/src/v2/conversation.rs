//! Summary of one stored thread, by an older method that calls threads conversations. Later
//! clients read the same facts with `thread/read`.

use codex_app_server_protocol_macros::Experimental;
use codex_protocol::{SessionSource, ThreadId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Names the thread to summarise; when both members are given, `rolloutPath` counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub enum GetConversationSummaryParams {
    /// By its file.
    RolloutPath {
        /// Path of the rollout file; a relative one is resolved against the home folder.
        rollout_path: String,
    },
    /// By its id.
    ConversationId {
        /// UUID of a thread that has been stored.
        conversation_id: ThreadId,
    },
}

/// What is known of the thread without loading it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetConversationSummaryResponse {
    /// The summary.
    pub summary: ConversationSummary,
}

/// A stored thread, as a list of conversations shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConversationSummary {
    /// UUID of the thread.
    pub conversation_id: ThreadId,
    /// Path of its rollout file.
    pub path: String,
    /// Beginning of the user's first message, empty when there is none.
    pub preview: String,
    /// When the thread was begun, in RFC 3339 form; null when not known.
    pub timestamp: Option<String>,
    /// When something was last added to it, in RFC 3339 form; null when not known.
    pub updated_at: Option<String>,
    /// Id of the provider that served the model.
    pub model_provider: String,
    /// Working folder the thread was begun in.
    pub cwd: String,
    /// Version of the program that began it.
    pub cli_version: String,
    /// Which kind of client began it: a name, or an object with `custom` or `subagent`.
    pub source: SessionSource,
    /// State of the repository when it was begun; null outside of one.
    pub git_info: Option<ConversationGitInfo>,
}

/// State of a repository; the members are snake_case on the wire.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConversationGitInfo {
    /// Id of the commit that was checked out.
    pub sha: Option<String>,
    /// Branch that was checked out; null when there was none.
    pub branch: Option<String>,
    /// Address of the remote `origin`; null when there was none.
    pub origin_url: Option<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[track_caller]
    fn check(params: Value, expected: Option<GetConversationSummaryParams>) {
        assert_eq!(serde_json::from_value(params).ok(), expected);
    }

    #[test]
    fn thread_path_wins_over_its_id() {
        let by_path = GetConversationSummaryParams::RolloutPath {
            rollout_path: "a.jsonl".to_owned(),
        };
        let by_id = GetConversationSummaryParams::ConversationId {
            conversation_id: ThreadId("t".to_owned()),
        };
        check(json!({"rolloutPath": "a.jsonl"}), Some(by_path.clone()));
        check(
            json!({"conversationId": "t", "rolloutPath": "a.jsonl"}),
            Some(by_path),
        );
        check(
            json!({"conversationId": "t", "rolloutPath": null}),
            Some(by_id),
        );
        check(json!({}), None);
    }
}
