//! Items, texts and voices of live conversations.

use codex_app_server_protocol_macros::{Experimental, Tagged};
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
#[derive(Clone, Debug, PartialEq, Serialize, Tagged, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum ThreadRealtimeItem {
    /// Realtime session started.
    RealtimeSessionStarted {
        /// Id of it.
        id: String,
        /// Session of the live conversation; null if unknown.
        realtime_session_id: String,
    },
    /// Transcript segment.
    TranscriptSegment {
        /// Id of it.
        id: String,
        /// Session of the live conversation; null if unknown.
        realtime_session_id: String,
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
        /// What came of it.
        outcome: ThreadRealtimeSessionOutcome,
    },
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
