//! Sections: groups of threads that the user made.

use codex_app_server_protocol_macros::{Experimental, sparse};
use codex_protocol::Update;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Payload of `thread/section/changed`: a thread was moved to another section.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSectionChangedNotification {
    /// Thread that it concerns.
    pub thread_id: String,
    /// Section that it concerns.
    pub section_id: Option<String>,
}

/// Params of `thread/section/move`: moves a thread to a section, or out of it.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSectionMoveParams {
    /// Thread that it concerns.
    pub thread_id: String,
    /// Thread to put it before; absent or null puts it last.
    pub before_thread_id: Option<String>,
    /// Section that it concerns.
    pub section_id: Option<String>,
}

/// Reply to `thread/section/move`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadSectionMoveResponse {}

/// Params of `threadSection/create`: creates a section.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSectionCreateParams {
    /// How clients show it; null without a choice.
    pub appearance: Option<ThreadSectionAppearance>,
    /// Name for people.
    pub name: String,
}

/// Reply to `threadSection/create`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSectionCreateResponse {
    /// The section.
    pub section: ThreadSection,
}

/// Params of `threadSection/delete`: deletes a section; its threads stay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSectionDeleteParams {
    /// Section that it concerns.
    pub section_id: String,
}

/// Reply to `threadSection/delete`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadSectionDeleteResponse {}

/// Params of `threadSection/list`: lists the sections.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSectionListParams {
    /// `nextCursor` of the page before; absent or null for the first page.
    pub cursor: Option<String>,
    /// Most entries of the page; absent or null takes the default.
    pub limit: Option<u32>,
}

/// Reply to `threadSection/list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSectionListResponse {
    /// Entries of the page, in order.
    pub data: Vec<ThreadSection>,
    /// Where the next page begins; null on the last page.
    pub next_cursor: Option<String>,
}

/// Params of `threadSection/update`: changes a section.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSectionUpdateParams {
    /// How clients show it; null without a choice.
    #[serde(default)]
    pub appearance: Update<ThreadSectionAppearance>,
    /// Name for people.
    pub name: String,
    /// Section that it concerns.
    pub section_id: String,
}

/// Reply to `threadSection/update`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSectionUpdateResponse {
    /// The section.
    pub section: ThreadSection,
}

/// A group of threads that the user made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSection {
    /// Id of it.
    pub id: String,
    /// How clients show it; null without a choice.
    pub appearance: Option<ThreadSectionAppearance>,
    /// Name for people.
    pub name: String,
}

/// How clients show a section.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSectionAppearance {
    /// Colour, in the client's words.
    pub color: Option<String>,
    /// Icon, in the client's words.
    pub icon: Option<String>,
}
