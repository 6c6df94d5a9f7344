//! Questions that MCP servers put to the user: the request that passes them to the client, the
//! answer, and the flat form schema they may use. A schema that does not fit these types never
//! reaches a client.

use std::collections::BTreeMap;

use codex_app_server_protocol_macros::{Experimental, Tagged, sparse};
use codex_protocol::mark_members;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The constant `array`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum McpElicitationArrayType {
    /// Any number of the listed choices.
    Array,
}

/// A field answered with yes or no.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpElicitationBooleanSchema {
    /// Always `boolean`.
    #[serde(rename = "type")]
    pub kind: McpElicitationBooleanType,
    /// Label of the field; absent means its name in the form serves as label.
    pub title: Option<String>,
    /// Help text below the label.
    pub description: Option<String>,
    /// Answer to preselect; absent means none.
    pub default: Option<bool>,
}

/// The constant `boolean`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum McpElicitationBooleanType {
    /// True or false.
    Boolean,
}

/// A choice whose value and label differ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpElicitationConstOption {
    /// What goes into the answer.
    #[serde(rename = "const")]
    pub value: String,
    /// What the user sees.
    pub title: String,
}

/// A field answered by choosing among given values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum McpElicitationEnumSchema {
    /// Exactly one of them.
    SingleSelect(McpElicitationSingleSelectEnumSchema),
    /// Any number of them.
    MultiSelect(McpElicitationMultiSelectEnumSchema),
    /// Exactly one of them, with labels in a separate list.
    LegacyTitled(McpElicitationLegacyTitledEnumSchema),
}

/// Choice of one value in an older form of the protocol.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpElicitationLegacyTitledEnumSchema {
    /// Always `string`.
    #[serde(rename = "type")]
    pub kind: McpElicitationStringType,
    /// Label of the field; absent means its name in the form serves as label.
    pub title: Option<String>,
    /// Help text below the label.
    pub description: Option<String>,
    /// The values to choose from.
    #[serde(rename = "enum")]
    pub values: Vec<String>,
    /// Labels in the order of the values; absent means the values are their own labels.
    pub enum_names: Option<Vec<String>>,
    /// Value to preselect; absent means none.
    pub default: Option<String>,
}

/// Choice of several values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum McpElicitationMultiSelectEnumSchema {
    /// The values are their own labels.
    Untitled(McpElicitationUntitledMultiSelectEnumSchema),
    /// Each value has a label.
    Titled(McpElicitationTitledMultiSelectEnumSchema),
}

/// A field answered with a number.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpElicitationNumberSchema {
    /// Whether fractions are allowed.
    #[serde(rename = "type")]
    pub kind: McpElicitationNumberType,
    /// Label of the field; absent means its name in the form serves as label.
    pub title: Option<String>,
    /// Help text below the label.
    pub description: Option<String>,
    /// Smallest number accepted; absent means no limit.
    pub minimum: Option<f64>,
    /// Largest number accepted; absent means no limit.
    pub maximum: Option<f64>,
    /// Number to fill in beforehand; absent means none.
    pub default: Option<f64>,
}

/// Which numbers a field takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum McpElicitationNumberType {
    /// Any number.
    Number,
    /// Whole numbers only.
    Integer,
}

/// The constant `object`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum McpElicitationObjectType {
    /// Fields by name.
    Object,
}

/// One field of a form; fields do not nest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum McpElicitationPrimitiveSchema {
    /// A choice among given values.
    Enum(McpElicitationEnumSchema),
    /// Free text.
    String(McpElicitationStringSchema),
    /// A number.
    Number(McpElicitationNumberSchema),
    /// Yes or no.
    Boolean(McpElicitationBooleanSchema),
}

/// A form to show to the user.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpElicitationSchema {
    /// Address of the JSON Schema dialect, if the MCP server names one.
    #[serde(rename = "$schema")]
    pub schema: Option<String>,
    /// Always `object`.
    #[serde(rename = "type")]
    pub kind: McpElicitationObjectType,
    /// The fields by name; none makes it a plain confirmation.
    pub properties: BTreeMap<String, McpElicitationPrimitiveSchema>,
    /// Names of fields the user may not leave empty; absent means all are optional.
    pub required: Option<Vec<String>>,
}

/// Choice of one value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum McpElicitationSingleSelectEnumSchema {
    /// The values are their own labels.
    Untitled(McpElicitationUntitledSingleSelectEnumSchema),
    /// Each value has a label.
    Titled(McpElicitationTitledSingleSelectEnumSchema),
}

/// What a text has to look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum McpElicitationStringFormat {
    /// An email address.
    Email,
    /// An absolute address with its scheme.
    Uri,
    /// A day, as `YYYY-MM-DD`.
    Date,
    /// A moment in RFC 3339 form.
    DateTime,
}

/// A field answered with free text.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpElicitationStringSchema {
    /// Always `string`.
    #[serde(rename = "type")]
    pub kind: McpElicitationStringType,
    /// Label of the field; absent means its name in the form serves as label.
    pub title: Option<String>,
    /// Help text below the label.
    pub description: Option<String>,
    /// Fewest characters accepted; absent means no limit.
    pub min_length: Option<u32>,
    /// Most characters accepted; absent means no limit.
    pub max_length: Option<u32>,
    /// What the text has to look like; absent means anything goes.
    pub format: Option<McpElicitationStringFormat>,
    /// Text to fill in beforehand; absent means none.
    pub default: Option<String>,
}

/// The constant `string`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum McpElicitationStringType {
    /// Text.
    String,
}

/// Choices with labels, for choosing several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpElicitationTitledEnumItems {
    /// The choices in the order to show them.
    pub any_of: Vec<McpElicitationConstOption>,
}

/// Choice of several labelled values.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpElicitationTitledMultiSelectEnumSchema {
    /// Always `array`.
    #[serde(rename = "type")]
    pub kind: McpElicitationArrayType,
    /// Label of the field; absent means its name in the form serves as label.
    pub title: Option<String>,
    /// Help text below the label.
    pub description: Option<String>,
    /// Fewest choices accepted; absent means no limit.
    pub min_items: Option<u64>,
    /// Most choices accepted; absent means no limit.
    pub max_items: Option<u64>,
    /// The choices.
    pub items: McpElicitationTitledEnumItems,
    /// Values to preselect; absent means none.
    pub default: Option<Vec<String>>,
}

/// Choice of one labelled value.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpElicitationTitledSingleSelectEnumSchema {
    /// Always `string`.
    #[serde(rename = "type")]
    pub kind: McpElicitationStringType,
    /// Label of the field; absent means its name in the form serves as label.
    pub title: Option<String>,
    /// Help text below the label.
    pub description: Option<String>,
    /// The choices in the order to show them.
    pub one_of: Vec<McpElicitationConstOption>,
    /// Value to preselect; absent means none.
    pub default: Option<String>,
}

/// Choices without labels, for choosing several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpElicitationUntitledEnumItems {
    /// Always `string`.
    #[serde(rename = "type")]
    pub kind: McpElicitationStringType,
    /// The choices in the order to show them.
    #[serde(rename = "enum")]
    pub values: Vec<String>,
}

/// Choice of several values that are their own labels.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpElicitationUntitledMultiSelectEnumSchema {
    /// Always `array`.
    #[serde(rename = "type")]
    pub kind: McpElicitationArrayType,
    /// Label of the field; absent means its name in the form serves as label.
    pub title: Option<String>,
    /// Help text below the label.
    pub description: Option<String>,
    /// Fewest choices accepted; absent means no limit.
    pub min_items: Option<u64>,
    /// Most choices accepted; absent means no limit.
    pub max_items: Option<u64>,
    /// The choices.
    pub items: McpElicitationUntitledEnumItems,
    /// Values to preselect; absent means none.
    pub default: Option<Vec<String>>,
}

/// Choice of one value that is its own label.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpElicitationUntitledSingleSelectEnumSchema {
    /// Always `string`.
    #[serde(rename = "type")]
    pub kind: McpElicitationStringType,
    /// Label of the field; absent means its name in the form serves as label.
    pub title: Option<String>,
    /// Help text below the label.
    pub description: Option<String>,
    /// The choices in the order to show them.
    #[serde(rename = "enum")]
    pub values: Vec<String>,
    /// Value to preselect; absent means none.
    pub default: Option<String>,
}

/// Question for the user; also asks whether a tool of an MCP server may run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct McpServerElicitationRequestParams {
    /// Thread whose connection to the MCP server the question came over.
    pub thread_id: String,
    /// Turn that was running when it came; null when none was.
    pub turn_id: Option<String>,
    /// Name of the MCP server in the configuration.
    pub server_name: String,
    /// Machine that the MCP server belongs to; absent for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.171")]
    pub environment_id: Option<String>,
    /// What is asked, by `mode`.
    #[serde(flatten)]
    pub request: McpServerElicitationRequest,
}

/// What is asked, and how to answer.
#[derive(Clone, Debug, PartialEq, Serialize, Tagged, JsonSchema, Experimental)]
#[serde(
    tag = "mode",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[schemars(transform = mark_members::<Self>)]
pub enum McpServerElicitationRequest {
    /// The user fills in a form, or only agrees when the form has no fields.
    Form {
        /// Extra data; `codex_approval_kind` in it marks a question of this server's own. Null
        /// means none.
        #[serde(rename = "_meta", default)]
        meta: Value,
        /// Text to show above the form.
        message: String,
        /// The fields to fill in.
        requested_schema: McpElicitationSchema,
    },
    /// The user fills in a form that is more than flat fields; only clients that say so are asked.
    #[serde(rename = "openai/form")]
    #[since("0.169")]
    OpenaiForm {
        /// Extra data of the MCP server, passed on as it is; null means none.
        #[serde(rename = "_meta", default)]
        meta: Value,
        /// Text to show above the form.
        message: String,
        /// What the form asks for.
        requested_schema: Value,
    },
    /// The user does something on a web page.
    Url {
        /// Extra data of the MCP server, passed on as it is; null means none.
        #[serde(rename = "_meta", default)]
        meta: Value,
        /// Text that tells the user why to go there.
        message: String,
        /// Address to open, after the user has agreed.
        url: String,
        /// Id the MCP server gave the question.
        elicitation_id: String,
    },
}

/// What the user did with the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum McpServerElicitationAction {
    /// Agreed, and filled in what was asked.
    Accept,
    /// Said no.
    Decline,
    /// Closed the question without deciding.
    Cancel,
}

/// The user's answer; an error reply counts as `decline`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServerElicitationRequestResponse {
    /// What the user did.
    pub action: McpServerElicitationAction,
    /// Values by field name with `accept`; null stands for no fields and is usual otherwise.
    #[serde(default)]
    pub content: Value,
    /// Passed on to the MCP server; for tool approvals `persist` (`session`, `always`) has the answer remembered.
    #[serde(rename = "_meta", default)]
    pub meta: Value,
}
