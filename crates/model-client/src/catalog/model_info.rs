//! The data about a model, in the format of servers' lists.
//!
//! A server may know more than this program: an unknown value is replaced by the least capable known one, and the rest of
//! the entry is used.

use codex_protocol::{InputModality, Personality, ReasoningEffort, ReasoningSummary, Verbosity};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::prices::ModelPrices;
use crate::request::Reasoning;

/// The capabilities and defaults of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// The name that requests use.
    pub slug: String,
    /// The display name.
    pub display_name: String,
    pub description: Option<String>,
    /// The default reasoning effort.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_reasoning_level: Option<ReasoningEffort>,
    /// The selectable reasoning efforts.
    pub supported_reasoning_levels: Vec<ReasoningLevel>,
    /// The preferred kind of shell tool.
    pub shell_type: ShellType,
    /// Whether the model is listed.
    pub visibility: Visibility,
    /// Whether the model is available without a ChatGPT login.
    pub supported_in_api: bool,
    /// The sort key in lists, lowest first.
    pub priority: i32,
    /// An announcement for users who see the model for the first time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub availability_nux: Option<AvailabilityNux>,
    /// The recommended successor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upgrade: Option<ModelUpgrade>,
    /// The instructions; if absent, those of the engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_instructions: Option<String>,
    /// The instructions as a template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_messages: Option<ModelMessages>,
    /// Whether the model reasons and accepts reasoning options.
    pub supports_reasoning_summaries: bool,
    /// The default kind of reasoning summary.
    #[serde(default = "auto_summary", deserialize_with = "summary")]
    pub default_reasoning_summary: ReasoningSummary,
    /// Whether the length of answers can be chosen.
    pub support_verbosity: bool,
    /// The default length of answers.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "deserialize_known"
    )]
    pub default_verbosity: Option<Verbosity>,
    /// The form of the patch tool that the model supports.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "deserialize_known"
    )]
    pub apply_patch_tool_type: Option<ApplyPatchToolType>,
    /// How the model calls tools; by default as the features say.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "deserialize_known"
    )]
    pub tool_mode: Option<ToolMode>,
    /// The form of agents that the model works with; by default as the features say.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "deserialize_known"
    )]
    pub multi_agent_version: Option<AgentsVersion>,
    /// The content types of web search results.
    #[serde(default)]
    pub web_search_tool_type: WebSearchToolType,
    /// The limit on tool output in the history.
    pub truncation_policy: TruncationPolicy,
    /// Whether the model may call several tools at once.
    pub supports_parallel_tool_calls: bool,
    /// Whether the model accepts images in full resolution.
    #[serde(default)]
    pub supports_image_detail_original: bool,
    /// The size of the context window in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<i64>,
    /// The number of tokens at which the history is compacted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_compact_token_limit: Option<i64>,
    /// The usable part of the context window.
    #[serde(default = "usual_window_percent")]
    pub effective_context_window_percent: i64,
    /// Tools that only this model gets.
    #[serde(default)]
    pub experimental_supported_tools: Vec<String>,
    /// The supported kinds of input.
    #[serde(default = "text_and_images", deserialize_with = "known_modalities")]
    pub input_modalities: Vec<InputModality>,
    /// Whether the model can search for deferred tools.
    #[serde(default)]
    pub supports_search_tool: bool,
    /// The service tiers that can be chosen.
    #[serde(default, deserialize_with = "known_tiers")]
    pub service_tiers: Vec<OfferedTier>,
    /// Names for faster tiers.
    #[serde(default, deserialize_with = "or_default")]
    pub additional_speed_tiers: Vec<String>,
    /// The tier that the model is meant to run in.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "deserialize_known"
    )]
    pub default_service_tier: Option<String>,
    /// What the effort `ultra` is in requests: agents do the rest of it.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "deserialize_known"
    )]
    pub multi_agent_reasoning_effort: Option<ReasoningEffort>,
    /// What tokens cost. No list of a server has this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<ModelPrices>,
}

/// The effort with which a model shares its work among agents.
const ULTRA: &str = "ultra";

/// Stands for the text of the personality in a template.
const PERSONALITY_VARIABLE: &str = "{{ personality }}";

fn auto_summary() -> ReasoningSummary {
    ReasoningSummary::Auto
}

fn summary<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ReasoningSummary, D::Error> {
    deserialize_known(deserializer).map(|known| known.unwrap_or_else(auto_summary))
}

/// Parses a value; none if it is unknown to this version.
fn deserialize_known<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).ok())
}

fn or_default<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    deserialize_known(deserializer).map(Option::unwrap_or_default)
}

fn known_tiers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<OfferedTier>, D::Error> {
    let values: Vec<Value> = or_default(deserializer)?;
    Ok(values
        .into_iter()
        .filter_map(|value| serde_json::from_value(value).ok())
        .collect())
}

fn known_modalities<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<InputModality>, D::Error> {
    let values = Vec::<Value>::deserialize(deserializer)?.into_iter();
    Ok(values
        .filter_map(|value| serde_json::from_value(value).ok())
        .collect())
}

fn usual_window_percent() -> i64 {
    95
}

fn text_and_images() -> Vec<InputModality> {
    vec![InputModality::Text, InputModality::Image]
}

impl ModelInfo {
    /// The reasoning options for a request, given the user's choice; none if the model has none.
    pub fn reasoning(
        &self,
        effort: Option<ReasoningEffort>,
        summary: Option<ReasoningSummary>,
    ) -> Option<Reasoning> {
        self.supports_reasoning_summaries.then(|| Reasoning {
            effort: effort
                .or_else(|| self.default_reasoning_level.clone())
                .map(|effort| self.sent_effort(effort)),
            summary: Some(summary.unwrap_or(self.default_reasoning_summary)),
        })
    }

    /// The effort as servers know it. `ultra` is a choice of people, for as much thought as the model has, and agents; a
    /// model without known efforts is sent what was chosen.
    fn sent_effort(&self, effort: ReasoningEffort) -> ReasoningEffort {
        if effort.as_str() != ULTRA {
            return effort;
        }
        let levels = self.supported_reasoning_levels.iter().rev();
        let mut levels = levels.map(|level| &level.effort);
        let highest = levels.find(|level| level.as_str() != ULTRA);
        let of_model = self.multi_agent_reasoning_effort.as_ref().or(highest);
        of_model.cloned().unwrap_or(effort)
    }

    /// The length of answers for a request, given the user's choice.
    pub fn verbosity(&self, chosen: Option<Verbosity>) -> Option<Verbosity> {
        if !self.support_verbosity {
            return None;
        }
        chosen.or(self.default_verbosity)
    }

    /// The usable size of the context window in tokens.
    pub fn effective_context_window(&self) -> Option<i64> {
        let window = self.context_window?;
        Some(window.saturating_mul(self.effective_context_window_percent) / 100)
    }

    /// The number of tokens at which the history is compacted: nine tenths of the window, or less if the model data say
    /// so.
    pub fn auto_compact_limit(&self) -> Option<i64> {
        let of_window = self
            .context_window
            .map(|window| window.saturating_mul(9) / 10);
        [of_window, self.auto_compact_token_limit]
            .into_iter()
            .flatten()
            .min()
    }

    /// Whether the choice of a personality has an effect.
    pub fn takes_personality(&self) -> bool {
        let messages = self.model_messages.as_ref();
        let variables = messages.and_then(|messages| messages.instructions_variables.as_ref());
        variables.is_some_and(|texts| {
            texts.personality_friendly.is_some() && texts.personality_pragmatic.is_some()
        })
    }

    /// The limit for the output of a tool.
    pub fn truncation(&self) -> codex_protocol::TruncationPolicy {
        codex_protocol::TruncationPolicy {
            mode: match self.truncation_policy.mode {
                TruncationMode::Bytes => codex_protocol::TruncationMode::Bytes,
                TruncationMode::Tokens => codex_protocol::TruncationMode::Tokens,
            },
            limit: u64::try_from(self.truncation_policy.limit).unwrap_or(0),
        }
    }

    /// The instructions made for the model, if there are any.
    pub fn instructions(&self, personality: Option<Personality>) -> Option<String> {
        let messages = self.model_messages.as_ref();
        let template = messages.and_then(|messages| messages.instructions_template.as_deref());
        let Some(template) = template else {
            return self.base_instructions.clone();
        };
        let variables = messages.and_then(|messages| messages.instructions_variables.as_ref());
        let text = match personality {
            Some(personality) => self.personality(personality),
            None => variables.and_then(|texts| texts.personality_default.as_deref()),
        };
        Some(template.replace(PERSONALITY_VARIABLE, text.unwrap_or_default()))
    }

    /// Whether the model accepts images.
    pub fn takes_images(&self) -> bool {
        self.input_modalities.contains(&InputModality::Image)
    }

    /// The text of a personality, if the model has one.
    pub fn personality(&self, personality: Personality) -> Option<&str> {
        let variables = self
            .model_messages
            .as_ref()?
            .instructions_variables
            .as_ref()?;
        match personality {
            Personality::None => None,
            Personality::Friendly => variables.personality_friendly.as_deref(),
            Personality::Pragmatic => variables.personality_pragmatic.as_deref(),
        }
    }
}

/// A selectable reasoning effort.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReasoningLevel {
    pub effort: ReasoningEffort,
    pub description: String,
}

/// A service tier that can be chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedTier {
    pub id: String,
    pub name: String,
    pub description: String,
}

impl OfferedTier {
    pub(super) fn priority() -> Self {
        Self {
            id: "priority".to_owned(),
            name: "Fast".to_owned(),
            description: "Answers sooner and uses more of the limits".to_owned(),
        }
    }
}

/// A kind of shell tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShellType {
    /// A function that takes an argument list.
    Default,
    /// The built-in shell tool of the Responses API.
    Local,
    /// Sessions with input and output.
    UnifiedExec,
    /// No shell tool.
    Disabled,
    /// A function that takes a command line.
    #[serde(other)]
    ShellCommand,
}

/// Where a model is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// In lists.
    List,
    /// Not available.
    None,
    /// Available by name only.
    #[serde(other)]
    Hide,
}

/// An announcement for users who see a model for the first time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AvailabilityNux {
    pub message: String,
}

/// The recommended successor of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelUpgrade {
    pub model: String,
    /// The text for users.
    pub migration_markdown: String,
}

/// Instructions as a template.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelMessages {
    /// The template, with a placeholder for the personality.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions_template: Option<String>,
    /// The values of the placeholder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions_variables: Option<InstructionsVariables>,
}

/// The texts of the personalities.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstructionsVariables {
    /// Used if no personality is chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub personality_default: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub personality_friendly: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub personality_pragmatic: Option<String>,
}

/// A form of the patch tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApplyPatchToolType {
    /// Free text.
    Freeform,
    /// A function with JSON arguments.
    Function,
}

/// A form of agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentsVersion {
    /// None.
    Disabled,
    /// Agents by id.
    V1,
    /// Agents by path.
    V2,
}

/// How a model calls tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolMode {
    /// Itself.
    Direct,
    /// Itself and in scripts.
    CodeMode,
    /// In scripts alone.
    CodeModeOnly,
}

/// The content types of web search results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WebSearchToolType {
    TextAndImage,
    #[default]
    #[serde(other)]
    Text,
}

/// A limit on tool output in the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TruncationPolicy {
    /// The unit.
    pub mode: TruncationMode,
    pub limit: i64,
}

impl TruncationPolicy {
    /// A limit in bytes.
    pub const fn bytes(limit: i64) -> Self {
        let mode = TruncationMode::Bytes;
        Self { mode, limit }
    }

    /// A limit in tokens.
    pub const fn tokens(limit: i64) -> Self {
        let mode = TruncationMode::Tokens;
        Self { mode, limit }
    }
}

/// The unit of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TruncationMode {
    Bytes,
    /// Estimated tokens.
    #[serde(other)]
    Tokens,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn minimal() -> ModelInfo {
        serde_json::from_value(json!({
            "slug": "m", "display_name": "M", "description": null,
            "supported_reasoning_levels": [{"effort": "low", "description": "d"}],
            "shell_type": "shell_command", "visibility": "list", "supported_in_api": true,
            "priority": 1, "supports_reasoning_summaries": true, "support_verbosity": false,
            "truncation_policy": {"mode": "tokens", "limit": 5},
            "supports_parallel_tool_calls": false, "unknown": [1],
        }))
        .unwrap()
    }

    #[test]
    fn an_entry_reads_with_its_defaults_and_survives_writing() {
        let info = minimal();
        assert_eq!(info.default_reasoning_summary, ReasoningSummary::Auto);
        assert_eq!(info.effective_context_window_percent, 95);
        assert!(info.takes_images());
        let json = serde_json::to_string(&info).unwrap();
        assert_eq!(serde_json::from_str::<ModelInfo>(&json).unwrap(), info);
    }

    #[test]
    fn unknown_values_keep_the_rest_of_an_entry() {
        let mut entry = serde_json::to_value(minimal()).unwrap();
        entry["default_reasoning_level"] = json!("ultra");
        entry["supported_reasoning_levels"] = json!([{"effort": "max", "description": "d"}]);
        for field in [
            "shell_type",
            "visibility",
            "web_search_tool_type",
            "default_verbosity",
        ] {
            entry[field] = json!("newer");
        }
        entry["default_reasoning_summary"] = json!("newer");
        entry["apply_patch_tool_type"] = json!("newer");
        entry["tool_mode"] = json!("newer");
        entry["multi_agent_version"] = json!("v9");
        entry["truncation_policy"] = json!({"mode": "newer", "limit": 5});
        entry["input_modalities"] = json!(["text", "audio"]);
        let info: ModelInfo = serde_json::from_value(entry).unwrap();
        assert_eq!(info.default_reasoning_level.unwrap().as_str(), "ultra");
        assert_eq!(info.supported_reasoning_levels[0].effort.as_str(), "max");
        assert_eq!(info.shell_type, ShellType::ShellCommand);
        assert_eq!(info.visibility, Visibility::Hide);
        assert_eq!(info.web_search_tool_type, WebSearchToolType::Text);
        assert_eq!(info.default_verbosity, None);
        assert_eq!(info.default_reasoning_summary, ReasoningSummary::Auto);
        assert_eq!(info.apply_patch_tool_type, None);
        assert_eq!(info.tool_mode, None);
        assert_eq!(info.multi_agent_version, None);
        assert_eq!(info.truncation_policy, TruncationPolicy::tokens(5));
        assert_eq!(info.input_modalities, [InputModality::Text]);
    }

    #[test]
    fn choices_fall_back_to_the_model() {
        let mut info = minimal();
        info.default_reasoning_level = Some(ReasoningEffort::Medium);
        let reasoning = info
            .reasoning(None, Some(ReasoningSummary::Concise))
            .unwrap();
        assert_eq!(reasoning.effort, Some(ReasoningEffort::Medium));
        assert_eq!(reasoning.summary, Some(ReasoningSummary::Concise));
        assert_eq!(info.verbosity(Some(Verbosity::High)), None);
        info.support_verbosity = true;
        assert_eq!(info.verbosity(Some(Verbosity::High)), Some(Verbosity::High));
    }

    #[test]
    fn limits_follow_the_window() {
        let mut info = minimal();
        assert_eq!(info.auto_compact_limit(), None);
        info.context_window = Some(1000);
        assert_eq!(info.effective_context_window(), Some(950));
        assert_eq!(info.auto_compact_limit(), Some(900));
        info.auto_compact_token_limit = Some(10);
        assert_eq!(info.auto_compact_limit(), Some(10));
    }
}
