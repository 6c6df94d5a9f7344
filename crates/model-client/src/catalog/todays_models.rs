//! The models of today as a table. What they have in common is in [`model`].

use codex_protocol::{InputModality, ReasoningEffort, ReasoningSummary, Verbosity};

use super::bundled::{reasoning_level, upgrade};
use super::{
    AgentsVersion, ApplyPatchToolType, ModelInfo, OfferedTier, ShellType, ToolMode,
    TruncationPolicy, Visibility, WebSearchToolType,
};

/// The highest reasoning effort that can be chosen.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Highest {
    Xhigh,
    Max,
    Ultra,
}

/// The service tiers that can be chosen.
#[derive(Clone, Copy, PartialEq)]
enum Tiers {
    None,
    Fast,
    FastByDefault,
}

/// A row of the table.
struct ModelRow {
    slug: &'static str,
    display_name: &'static str,
    description: &'static str,
    visibility: Visibility,
    highest: Highest,
    /// Whether it thinks a fair amount by default, not a little.
    medium_by_default: bool,
    window: i64,
    tiers: Tiers,
    agents: Option<AgentsVersion>,
    /// Whether the effort `ultra` is `xhigh` in requests, not `max`.
    ultra_is_xhigh: bool,
    upgrade: Option<&'static str>,
    /// Whether its answers are long by default.
    is_verbose: bool,
    /// Whether it calls tools itself, not from scripts alone.
    calls_tools: bool,
    /// Its place in lists, if not that in this table.
    priority: Option<i32>,
}

const fn row(
    slug: &'static str,
    display_name: &'static str,
    description: &'static str,
) -> ModelRow {
    ModelRow {
        slug,
        display_name,
        description,
        visibility: Visibility::List,
        highest: Highest::Ultra,
        medium_by_default: false,
        window: 272_000,
        tiers: Tiers::Fast,
        agents: Some(AgentsVersion::V2),
        ultra_is_xhigh: false,
        upgrade: None,
        is_verbose: false,
        calls_tools: false,
        priority: None,
    }
}

/// In the order in which they are listed.
#[rustfmt::skip]
const ROWS: [ModelRow; 14] = {
    use AgentsVersion::V1;
    use Tiers::FastByDefault;
    use Visibility::Hide;
    [
        ModelRow { window: 500_000, ultra_is_xhigh: true, ..row("gpt-6.2-sol", "GPT-6.2-Sol", "For everyday work on code: quick and able.") },
        ModelRow { ultra_is_xhigh: true, ..row("gpt-6.2-astra", "GPT-6.2-Astra", "For the hardest work: the most able.") },
        ModelRow { window: 500_000, ultra_is_xhigh: true, ..row("gpt-6.1-terra", "GPT-6.1 Terra", "For work with images and screens: economical.") },
        ModelRow { window: 500_000, ultra_is_xhigh: true, ..row("gpt-6.1-sol", "GPT-6.1-Sol", "For everyday work, of the generation before.") },
        ModelRow { ultra_is_xhigh: true, ..row("gpt-6-astra", "GPT-6-Astra", "For hard work, of the generation before.") },
        ModelRow { medium_by_default: true, tiers: FastByDefault, ..row("gpt-6-sol", "GPT-6-Sol", "For everyday work, of an older generation.") },
        ModelRow { highest: Highest::Max, medium_by_default: true, tiers: FastByDefault, ..row("gpt-6-luna", "GPT-6-Luna", "For easy work: quick and cheap.") },
        ModelRow { upgrade: Some("gpt-6-sol"), ..row("gpt-5.6-sol", "GPT-5.6-Sol", "For everyday work, two generations back.") },
        ModelRow { medium_by_default: true, upgrade: Some("gpt-6-sol"), ..row("gpt-5.6-terra", "GPT-5.6-Terra", "A middle way, two generations back.") },
        ModelRow { highest: Highest::Max, medium_by_default: true, agents: Some(V1), upgrade: Some("gpt-6-luna"), ..row("gpt-5.6-luna", "GPT-5.6-Luna", "For easy work, two generations back.") },
        ModelRow { visibility: Hide, tiers: Tiers::None, ..row("gpt-daybreak-blue-latest", "Daybreak Blue", "For the defence of computer systems.") },
        ModelRow { visibility: Hide, medium_by_default: true, window: 372_000, tiers: Tiers::None, is_verbose: true, ..row("gpt-daybreak-red-latest", "Daybreak Red", "For research on the security of computer systems, by those who may.") },
        ModelRow { highest: Highest::Xhigh, medium_by_default: true, agents: None, upgrade: Some("gpt-6-sol"), calls_tools: true, ..row("gpt-5.5", "GPT-5.5", "For code, three generations back.") },
        ModelRow { visibility: Hide, highest: Highest::Max, medium_by_default: true, agents: Some(V1), priority: Some(43), ..row("codex-auto-review", "Codex Auto Review", "Reviews approvals by itself.") },
    ]
};

pub(super) fn models() -> impl Iterator<Item = ModelInfo> {
    (1..).zip(&ROWS).map(|(place, row)| model(row, place))
}

fn model(row: &ModelRow, place: i32) -> ModelInfo {
    ModelInfo {
        slug: row.slug.to_owned(),
        display_name: row.display_name.to_owned(),
        description: Some(row.description.to_owned()),
        default_reasoning_level: Some(if row.medium_by_default {
            ReasoningEffort::Medium
        } else {
            ReasoningEffort::Low
        }),
        supported_reasoning_levels: efforts(row.highest).map(reasoning_level).collect(),
        shell_type: ShellType::UnifiedExec,
        visibility: row.visibility,
        supported_in_api: true,
        priority: row.priority.unwrap_or(place),
        availability_nux: None,
        upgrade: row.upgrade.map(|to| upgrade(row.slug, to)),
        base_instructions: None,
        model_messages: None,
        supports_reasoning_summaries: true,
        default_reasoning_summary: ReasoningSummary::None,
        support_verbosity: true,
        default_verbosity: Some(if row.is_verbose {
            Verbosity::High
        } else {
            Verbosity::Low
        }),
        tool_mode: (!row.calls_tools).then_some(ToolMode::CodeModeOnly),
        multi_agent_version: row.agents,
        apply_patch_tool_type: Some(ApplyPatchToolType::Freeform),
        web_search_tool_type: WebSearchToolType::TextAndImage,
        truncation_policy: TruncationPolicy::tokens(10_000),
        supports_parallel_tool_calls: row.calls_tools,
        supports_image_detail_original: true,
        context_window: Some(row.window),
        auto_compact_token_limit: None,
        effective_context_window_percent: 95,
        experimental_supported_tools: Vec::new(),
        input_modalities: vec![InputModality::Text, InputModality::Image],
        supports_search_tool: true,
        service_tiers: if row.tiers == Tiers::None {
            Vec::new()
        } else {
            vec![OfferedTier::priority()]
        },
        additional_speed_tiers: if row.tiers == Tiers::None {
            Vec::new()
        } else {
            vec!["fast".to_owned()]
        },
        default_service_tier: (row.tiers == Tiers::FastByDefault).then(|| "priority".to_owned()),
        multi_agent_reasoning_effort: row.ultra_is_xhigh.then_some(ReasoningEffort::Xhigh),
        prices: None,
    }
}

fn efforts(highest: Highest) -> impl Iterator<Item = ReasoningEffort> {
    use ReasoningEffort::{High, Low, Medium, Xhigh};
    let newer = [(Highest::Max, "max"), (Highest::Ultra, "ultra")];
    let newer = newer.into_iter().filter(move |(from, _)| highest >= *from);
    [Low, Medium, High, Xhigh]
        .into_iter()
        .chain(newer.map(|(_, name)| ReasoningEffort::Other(name.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(slug: &str) -> ModelInfo {
        models().find(|model| model.slug == slug).unwrap()
    }

    #[test]
    fn default_model_has_the_window_and_efforts_of_today() {
        let newest = found("gpt-6.2-sol");
        assert_eq!(newest.priority, 1);
        assert_eq!(newest.effective_context_window(), Some(475_000));
        let efforts = newest.supported_reasoning_levels.iter();
        let efforts: Vec<_> = efforts.map(|level| level.effort.as_str()).collect();
        assert_eq!(efforts, ["low", "medium", "high", "xhigh", "max", "ultra"]);
        let described = |level: &super::super::ReasoningLevel| !level.description.is_empty();
        assert!(newest.supported_reasoning_levels.iter().all(described));
        assert_eq!(newest.tool_mode, Some(ToolMode::CodeModeOnly));
        assert_eq!(found("gpt-5.5").tool_mode, None);
        assert_eq!(found("codex-auto-review").priority, 43);
    }

    #[test]
    fn ultra_is_an_effort_of_the_model_in_requests() {
        let sent = |slug: &str, effort: &str| {
            let effort = ReasoningEffort::Other(effort.to_owned());
            let reasoning = found(slug).reasoning(Some(effort), None).unwrap();
            reasoning.effort.unwrap().as_str().to_owned()
        };
        assert_eq!(sent("gpt-6.2-sol", "ultra"), "xhigh");
        assert_eq!(sent("gpt-6-sol", "ultra"), "max");
        assert_eq!(sent("gpt-6-sol", "max"), "max");
        assert_eq!(sent("gpt-5.5", "ultra"), "xhigh");
    }
}
