//! Projects: groups of threads about the same folders.

use std::collections::BTreeMap;

use codex_app_server_protocol_macros::{Experimental, sparse};
use codex_protocol::mark_members;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::v2::SortDirection;

/// Payload of `project/changed`: a project was created, changed or deleted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectChangedNotification {
    /// What happened to it.
    pub change_type: ProjectChangeType,
    /// Project that it concerns.
    pub project_id: String,
}

/// Params of `project/create`: creates a project.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ProjectCreateParams {
    /// Key of the request: repeated, the first result is returned.
    pub idempotency_key: String,
    /// Values for programs, by name.
    pub metadata: Option<BTreeMap<String, String>>,
    /// Name for people.
    pub name: String,
    /// Folders that the project is about.
    pub roots: Vec<ProjectRoot>,
}

/// Reply to `project/create`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectCreateResponse {
    /// The project.
    pub project: Project,
}

/// Params of `project/delete`: deletes a project; its threads stay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ProjectDeleteParams {
    /// Project that it concerns.
    pub project_id: String,
}

/// Reply to `project/delete`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProjectDeleteResponse {}

/// Params of `project/import`: creates a project with threads.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ProjectImportParams {
    /// Key of the request: repeated, the first result is returned.
    pub idempotency_key: String,
    /// Values for programs, by name.
    pub metadata: Option<BTreeMap<String, String>>,
    /// Name for people.
    pub name: String,
    /// Folders that the project is about.
    pub roots: Vec<ProjectRoot>,
    /// Threads to file under it.
    pub threads: Option<Vec<String>>,
}

/// Reply to `project/import`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectImportResponse {
    /// The project.
    pub project: Project,
}

/// Params of `project/list`: pages through the projects.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ProjectListParams {
    /// `nextCursor` of the page before; absent or null for the first page.
    pub cursor: Option<String>,
    /// Most entries of the page; absent or null takes the default.
    pub limit: Option<u32>,
    /// Which way to go.
    pub sort_direction: Option<SortDirection>,
    /// What to sort by.
    pub sort_key: Option<ProjectSortKey>,
}

/// Reply to `project/list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectListResponse {
    /// Entries of the page, in order.
    pub data: Vec<Project>,
    /// Where the next page begins; null on the last page.
    pub next_cursor: Option<String>,
}

/// Params of `project/move`: changes the position of a project.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ProjectMoveParams {
    /// Project to put it before; absent or null puts it last.
    pub before_project_id: Option<String>,
    /// Project that it concerns.
    pub project_id: String,
}

/// Reply to `project/move`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProjectMoveResponse {}

/// Params of `project/read`: reads a project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ProjectReadParams {
    /// Project that it concerns.
    pub project_id: String,
}

/// Reply to `project/read`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectReadResponse {
    /// The project.
    pub project: Project,
}

/// Params of `project/update`: changes a project.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ProjectUpdateParams {
    /// Values for programs, by name.
    pub metadata: Option<BTreeMap<String, String>>,
    /// Name for people.
    pub name: Option<String>,
    /// Project that it concerns.
    pub project_id: String,
    /// Folders that the project is about.
    pub roots: Option<Vec<ProjectRoot>>,
}

/// Reply to `project/update`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectUpdateResponse {
    /// The project.
    pub project: Project,
}

/// Payload of `thread/project/updated`: a thread was filed under another project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadProjectUpdatedNotification {
    /// Thread that it concerns.
    pub thread_id: String,
    /// Project that it concerns.
    pub project_id: Option<String>,
}

/// What happened to a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ProjectChangeType {
    /// Created.
    Created,
    /// Deleted.
    Deleted,
    /// Updated.
    Updated,
}

/// A group of threads about the same folders.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct Project {
    /// Id of it.
    pub id: String,
    /// When it was created, in Unix seconds.
    pub created_at: i64,
    /// Values for programs, by name.
    pub metadata: BTreeMap<String, String>,
    /// Name for people.
    pub name: String,
    /// Place in the order, counted from zero.
    #[until("0.169")]
    pub position: u32,
    /// When a thread of it last changed, in Unix seconds; null without threads.
    pub recency_at: Option<i64>,
    /// Folders that the project is about.
    pub roots: Vec<ProjectRoot>,
    /// When it last changed, in Unix seconds.
    pub updated_at: i64,
}

/// A folder of a project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectRoot {
    /// Path on disk.
    pub path: String,
}

/// What projects are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ProjectSortKey {
    /// Position.
    Position,
    /// Recency at.
    RecencyAt,
}
