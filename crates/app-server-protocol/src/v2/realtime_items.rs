//! Items, texts and voices of live conversations.

use codex_app_server_protocol_macros::{Experimental, Tagged, sparse};
use codex_protocol::mark_members;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Params of `thread/realtime/appendSpeech`: adds text to be spoken to the live conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRealtimeAppendSpeechParams {
    /// Thread that it concerns.
    pub thread_id: String,
    /// Text of it.
    pub text: String,
}

/// Reply to `thread/realtime/appendSpeech`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadRealtimeAppendSpeechResponse {}

/// Payload of `thread/realtime/item/completed`: an item of the live conversation ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRealtimeItemCompletedNotification {
    /// Thread that it concerns.
    pub thread_id: String,
    /// The item.
    pub item: ThreadRealtimeItem,
}

/// Payload of `thread/realtime/item/started`: an item of the live conversation began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRealtimeItemStartedNotification {
    /// Thread that it concerns.
    pub thread_id: String,
    /// The item.
    pub item: ThreadRealtimeItem,
}

/// Payload of `thread/realtime/item/transcript/delta`: more text of an item of the live conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRealtimeItemTranscriptDeltaNotification {
    /// Thread that it concerns.
    pub thread_id: String,
    /// Text to append.
    pub delta: String,
    /// Item that it concerns.
    pub item_id: String,
}

/// Params of `thread/realtime/listVoices`: lists the voices of live conversations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
pub struct ThreadRealtimeListVoicesParams {}

/// Reply to `thread/realtime/listVoices`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRealtimeListVoicesResponse {
    /// The voices.
    pub voices: RealtimeVoicesList,
}

/// Payload of `thread/realtime/sdp`: the description of the live conversation's session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRealtimeSdpNotification {
    /// Thread that it concerns.
    pub thread_id: String,
    /// Description of the session.
    pub sdp: String,
}

/// Payload of `thread/realtime/transcript/delta`: more text of what is being spoken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRealtimeTranscriptDeltaNotification {
    /// Thread that it concerns.
    pub thread_id: String,
    /// Text to append.
    pub delta: String,
    /// Who speaks, or with which role.
    pub role: String,
}

/// Payload of `thread/realtime/transcript/done`: the text of what was spoken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRealtimeTranscriptDoneNotification {
    /// Thread that it concerns.
    pub thread_id: String,
    /// Who speaks, or with which role.
    pub role: String,
    /// Text of it.
    pub text: String,
}

/// An item of a live conversation.
// The members with underscores are those of the JSON Schema of the releases; their TypeScript has camel case, and so have the
// types for a release. None of these variants is sent here.
#[derive(Clone, Debug, PartialEq, Serialize, Tagged, JsonSchema, Experimental)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[schemars(transform = mark_members::<Self>)]
pub enum ThreadRealtimeItem {
    /// Realtime session started.
    RealtimeSessionStarted {
        /// Id of it.
        id: String,
        /// Session of the live conversation; null if unknown.
        realtime_session_id: String,
        /// When it was noticed, in Unix milliseconds; absent if unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[since("0.171")]
        observed_at_ms: Option<i64>,
    },
    /// Transcript segment.
    TranscriptSegment {
        /// Id of it.
        id: String,
        /// Session of the live conversation; null if unknown.
        realtime_session_id: String,
        /// When it was noticed, in Unix milliseconds; absent if unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[since("0.171")]
        observed_at_ms: Option<i64>,
        /// Who speaks, or with which role.
        role: ThreadRealtimeTranscriptRole,
        /// Text of it.
        text: String,
    },
    /// Bem item promoted.
    BemItemPromoted {
        /// Id of it.
        id: String,
        /// Session of the live conversation; null if unknown.
        realtime_session_id: String,
        /// When it was noticed, in Unix milliseconds; absent if unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[since("0.171")]
        observed_at_ms: Option<i64>,
        /// Item that it concerns.
        #[serde(rename = "item_id")]
        item_id: String,
        /// How the item is shown.
        presentation: ThreadRealtimeBemItemPresentation,
        /// Turn that it concerns.
        #[serde(rename = "turn_id")]
        turn_id: String,
    },
    /// Realtime session closed.
    RealtimeSessionClosed {
        /// Id of it.
        id: String,
        /// Session of the live conversation; null if unknown.
        realtime_session_id: String,
        /// When it was noticed, in Unix milliseconds; absent if unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[since("0.171")]
        observed_at_ms: Option<i64>,
        /// What came of it.
        outcome: ThreadRealtimeSessionOutcome,
    },
    /// A frame of the conversation; never sent here.
    #[since("0.171")]
    Frame {
        /// Id of it.
        id: String,
        /// Session of the live conversation; null if unknown.
        realtime_session_id: String,
        /// When it was noticed, in Unix milliseconds; absent if unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[since("0.171")]
        observed_at_ms: Option<i64>,
        /// What it carries.
        channels: ThreadRealtimeFrameChannels,
    },
    /// A turn has taken what was said; never sent here.
    #[since("0.171")]
    TurnInputAccepted {
        /// Id of it.
        id: String,
        /// Session of the live conversation; null if unknown.
        realtime_session_id: String,
        /// When it was noticed, in Unix milliseconds; absent if unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[since("0.171")]
        observed_at_ms: Option<i64>,
        /// The handover.
        #[serde(rename = "handoff_id")]
        handoff_id: String,
        /// Turn that it concerns.
        #[serde(rename = "turn_id")]
        turn_id: String,
        /// Whether the turn was started or steered.
        mode: ThreadRealtimeHandoffMode,
        /// Events that it comes from.
        #[serde(rename = "source_event_ids")]
        source_event_ids: Vec<String>,
        /// Item of the input.
        #[serde(rename = "input_item_id")]
        input_item_id: String,
        /// What was said.
        input: String,
    },
    /// What was said last is kept for the next turn; never sent here.
    #[since("0.171")]
    SessionEndInputSaved {
        /// Id of it.
        id: String,
        /// Session of the live conversation; null if unknown.
        realtime_session_id: String,
        /// When it was noticed, in Unix milliseconds; absent if unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[since("0.171")]
        observed_at_ms: Option<i64>,
        /// Events that it comes from.
        #[serde(rename = "source_event_ids")]
        source_event_ids: Vec<String>,
        /// Item of the input.
        #[serde(rename = "input_item_id")]
        input_item_id: String,
        /// What was said.
        input: String,
    },
}

/// What a frame of a live conversation carries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadRealtimeFrameChannels {
    /// Text of what was spoken.
    pub voice_transcript: ThreadRealtimeVoiceTranscript,
}

/// Text of what was spoken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadRealtimeVoiceTranscript {
    /// Who speaks.
    pub role: ThreadRealtimeTranscriptRole,
    /// Text of it.
    pub text: String,
}

/// How a turn takes what was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ThreadRealtimeHandoffMode {
    /// It begins with it.
    Start,
    /// It runs already.
    Steer,
}

/// Params of `thread/realtime/list`: lists what was said in the live conversations of a thread.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRealtimeListParams {
    /// Thread that it concerns.
    pub thread_id: String,
    /// Only items of this session.
    pub session_id: Option<String>,
    /// Only items that were noticed then or later, in Unix milliseconds.
    pub from_observed_at_ms: Option<i64>,
    /// Only items that were noticed then or earlier, in Unix milliseconds.
    pub to_observed_at_ms: Option<i64>,
    /// What to sort by; the time if absent.
    pub order: Option<ThreadRealtimeOrder>,
    /// Only items behind this position.
    pub after_position: Option<u64>,
    /// Only the item of this event.
    pub event_id: Option<String>,
    /// `nextCursor` of the page before; absent or null for the first page.
    pub cursor: Option<String>,
    /// Most entries of the page, at least 1; absent or null takes the default.
    pub limit: Option<u32>,
    /// `snapshotEnd` of the first page: later items are left out.
    pub snapshot_end: Option<u64>,
    /// Position that must be known; the coverage is `pending` until then.
    pub required_through_position: Option<u64>,
}

/// What items of live conversations are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub enum ThreadRealtimeOrder {
    /// When they were noticed.
    ObservedAt,
    /// Their positions.
    Position,
}

/// Reply to `thread/realtime/list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRealtimeListResponse {
    /// Entries of the page, in order.
    pub data: Vec<ThreadRealtimeEntry>,
    /// Where the next page begins; null on the last page.
    pub next_cursor: Option<String>,
    /// The position behind the last item that there is.
    pub snapshot_end: u64,
    /// The number of items that were looked at.
    pub projected_through_item_index: u64,
    /// Whether what was asked for is there.
    pub coverage: ThreadRealtimeCoverage,
}

/// An item of a live conversation, and where it stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRealtimeEntry {
    /// Place among the items of the thread.
    pub position: u64,
    /// The item.
    pub item: ThreadRealtimeItem,
}

/// Whether a list of items of live conversations has what was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ThreadRealtimeCoverage {
    /// Not yet.
    Pending,
    /// It has.
    Ready,
    /// The thread is not known.
    Unsupported,
}

/// How a live conversation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ThreadRealtimeSessionOutcome {
    /// Ended.
    Ended,
    /// Failed.
    Failed,
}

/// How an item is shown in a live conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Tagged, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum ThreadRealtimeBemItemPresentation {
    /// Whole item.
    WholeItem,
    /// Inline markdown.
    InlineMarkdown,
    /// Inline visualization.
    InlineVisualization {
        /// Place among the parts.
        index: u32,
    },
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ThreadRealtimeTranscriptRole {
    /// Assistant.
    Assistant,
    /// User.
    User,
}

/// Voices of live conversations, by version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct RealtimeVoicesList {
    /// Default voice of the first version.
    pub default_v1: RealtimeVoice,
    /// Default voice of the second version.
    pub default_v2: RealtimeVoice,
    /// Voices of the first version.
    pub v1: Vec<RealtimeVoice>,
    /// Voices of the second version.
    pub v2: Vec<RealtimeVoice>,
    /// Voices of the third version.
    #[serde(default)]
    #[since("0.169")]
    pub v3: Vec<RealtimeVoice>,
}

/// A voice of live conversations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub enum RealtimeVoice {
    /// Alloy.
    Alloy,
    /// Arbor.
    Arbor,
    /// Ash.
    Ash,
    /// Aube.
    #[since("0.169")]
    Aube,
    /// Ballad.
    Ballad,
    /// Breeze.
    Breeze,
    /// Bubbie.
    #[since("0.169")]
    Bubbie,
    /// Cedar.
    Cedar,
    /// Coral.
    Coral,
    /// Cove.
    Cove,
    /// Echo.
    Echo,
    /// Ember.
    Ember,
    /// Haetsal.
    #[since("0.169")]
    Haetsal,
    /// Hanul.
    #[since("0.169")]
    Hanul,
    /// Himari.
    #[since("0.169")]
    Himari,
    /// Juniper.
    Juniper,
    /// Leher.
    #[since("0.169")]
    Leher,
    /// Maple.
    Maple,
    /// Marin.
    Marin,
    /// Miko.
    #[since("0.169")]
    Miko,
    /// Neer.
    #[since("0.169")]
    Neer,
    /// Porto.
    #[since("0.169")]
    Porto,
    /// Rindo.
    #[since("0.169")]
    Rindo,
    /// Rio.
    #[since("0.169")]
    Rio,
    /// Rivage.
    #[since("0.169")]
    Rivage,
    /// Sage.
    Sage,
    /// Selva.
    #[since("0.169")]
    Selva,
    /// Shimmer.
    Shimmer,
    /// Sol.
    Sol,
    /// Sonna.
    #[since("0.169")]
    Sonna,
    /// Spruce.
    Spruce,
    /// Tinta.
    #[since("0.169")]
    Tinta,
    /// Vale.
    Vale,
    /// Verse.
    Verse,
    /// Viola.
    #[since("0.169")]
    Viola,
}
