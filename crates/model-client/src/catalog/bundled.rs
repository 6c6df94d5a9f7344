//! The built-in catalogue: the models of today, and those that older clients know, as a table.

use codex_protocol::{InputModality, ReasoningEffort, ReasoningSummary, Verbosity};

use super::{
    ApplyPatchToolType, InstructionsVariables, ModelInfo, ModelMessages, ModelUpgrade,
    ReasoningLevel, ShellType, TruncationPolicy, Visibility, WebSearchToolType, todays_models,
};

/// The text of the friendly personality.
const FRIENDLY_STYLE: &str = "Work like a colleague who is glad to be asked. Be warm and encouraging, also when \
    something goes wrong, and take the user's aims and limits as yours. Explain unfamiliar things without \
    talking down, say \"we\" where you do something together, and notice what went well. Warmth never \
    replaces honesty: say plainly what is wrong, what you do not know and what was not checked.";

/// The text of the pragmatic personality.
const PRAGMATIC_STYLE: &str = "Work like an experienced engineer with little time: to the point, in few words, \
    without praise or small talk, polite and calm. Judge by what works and what it costs. Name risks and \
    better ways plainly, and say what is decided, what is open and what comes next.";

const TOKENS: TruncationPolicy = TruncationPolicy::tokens(10_000);
const BYTES: TruncationPolicy = TruncationPolicy::bytes(10_000);

/// Whether the length of answers can be chosen, and its default.
#[derive(Clone, Copy, PartialEq)]
enum VerbositySupport {
    Fixed,
    Free,
    LowByDefault,
}

/// What kinds of input a model supports.
#[derive(Clone, Copy, PartialEq)]
enum ImageSupport {
    Text,
    Images,
    FullImages,
}

/// The reasoning efforts that a model supports.
#[derive(Clone, Copy)]
enum EffortLevels {
    LowToXhigh,
    LowToHigh,
    MinimalToHigh,
    MediumAndHigh,
}

/// A row of the table.
struct ModelRow {
    slug: &'static str,
    priority: i32,
    visibility: Visibility,
    efforts: EffortLevels,
    verbosity: VerbositySupport,
    parallel: bool,
    truncation: TruncationPolicy,
    images: ImageSupport,
    /// Older models without a shell tool that takes a command line.
    plain_shell: bool,
    /// Whether the personality can be chosen.
    has_personalities: bool,
    /// The recommended successor.
    upgrade: Option<&'static str>,
    description: &'static str,
}

const fn row(
    slug: &'static str,
    priority: i32,
    visibility: Visibility,
    efforts: EffortLevels,
) -> ModelRow {
    ModelRow {
        slug,
        priority,
        visibility,
        efforts,
        verbosity: VerbositySupport::Fixed,
        parallel: false,
        truncation: TOKENS,
        images: ImageSupport::Images,
        plain_shell: false,
        has_personalities: false,
        upgrade: None,
        description: "",
    }
}

/// The successors that older models recommend.
const NEWEST: Option<&str> = Some("gpt-5.4");
const NEWEST_FOR_CODE: Option<&str> = Some("gpt-5.3-codex");

/// Added to the priority of these models: they are listed after those of today.
const AFTER_TODAYS: i32 = 50;

#[rustfmt::skip]
const ROWS: [ModelRow; 13] = {
    use EffortLevels::*;
    use VerbositySupport::*;
    use Visibility::*;
    [
        ModelRow { verbosity: LowByDefault, parallel: true, images: ImageSupport::FullImages, upgrade: NEWEST, has_personalities: true, description: "For coding: plans and carries out long tasks.", ..row("gpt-5.3-codex", 0, List, LowToXhigh) },
        ModelRow { verbosity: LowByDefault, parallel: true, images: ImageSupport::FullImages, has_personalities: true, description: "For everything: the broadest knowledge, strong at code.", ..row("gpt-5.4", 0, List, LowToXhigh) },
        ModelRow { parallel: true, upgrade: NEWEST, has_personalities: true, description: "For coding, of the generation before.", ..row("gpt-5.2-codex", 3, List, LowToXhigh) },
        ModelRow { upgrade: NEWEST, description: "For coding at length, of an older generation.", ..row("gpt-5.1-codex-max", 4, List, LowToXhigh) },
        ModelRow { upgrade: NEWEST_FOR_CODE, description: "For coding, of an older generation.", ..row("gpt-5.1-codex", 5, Hide, LowToHigh) },
        ModelRow { verbosity: LowByDefault, parallel: true, truncation: BYTES, upgrade: NEWEST, description: "For everything, of the generation before.", ..row("gpt-5.2", 6, List, LowToXhigh) },
        ModelRow { verbosity: LowByDefault, parallel: true, truncation: BYTES, upgrade: NEWEST_FOR_CODE, description: "For everything, of an older generation.", ..row("gpt-5.1", 7, Hide, LowToHigh) },
        ModelRow { upgrade: NEWEST_FOR_CODE, description: "For coding, of the first of these generations.", ..row("gpt-5-codex", 10, Hide, LowToHigh) },
        ModelRow { verbosity: Free, truncation: BYTES, plain_shell: true, upgrade: NEWEST_FOR_CODE, description: "For everything, of the first of these generations.", ..row("gpt-5", 11, Hide, MinimalToHigh) },
        ModelRow { verbosity: Free, truncation: BYTES, plain_shell: true, images: ImageSupport::Text, description: "An open model for machines of one's own.", ..row("gpt-oss-120b", 11, Hide, LowToHigh) },
        ModelRow { verbosity: Free, truncation: BYTES, plain_shell: true, images: ImageSupport::Text, description: "A small open model for machines of one's own.", ..row("gpt-oss-20b", 11, Hide, LowToHigh) },
        ModelRow { upgrade: NEWEST, description: "For coding: small, quick and cheap.", ..row("gpt-5.1-codex-mini", 12, List, MediumAndHigh) },
        ModelRow { upgrade: NEWEST_FOR_CODE, description: "For coding: small, quick and cheap, of an older generation.", ..row("gpt-5-codex-mini", 13, Hide, MediumAndHigh) },
    ]
};

/// The built-in catalogue.
pub(super) fn models() -> Vec<ModelInfo> {
    let older = ROWS.iter().map(|row| ModelInfo {
        priority: row.priority + AFTER_TODAYS,
        ..model(row)
    });
    todays_models::models().chain(older).collect()
}

/// Conservative assumptions about an unknown model.
pub(super) fn fallback(name: &str) -> ModelInfo {
    ModelInfo {
        slug: name.to_owned(),
        display_name: name.to_owned(),
        supported_reasoning_levels: Vec::new(),
        default_reasoning_level: None,
        supports_reasoning_summaries: false,
        apply_patch_tool_type: None,
        tool_mode: None,
        multi_agent_version: None,
        shell_type: ShellType::Default,
        ..model(&ModelRow {
            truncation: BYTES,
            ..row("", 99, Visibility::None, EffortLevels::LowToHigh)
        })
    }
}

fn model(row: &ModelRow) -> ModelInfo {
    let local = row.images == ImageSupport::Text;
    let newest = row.images == ImageSupport::FullImages;
    let mut input_modalities = vec![InputModality::Text];
    if !local {
        input_modalities.push(InputModality::Image);
    }
    ModelInfo {
        slug: row.slug.to_owned(),
        display_name: row.slug.to_owned(),
        description: (!row.description.is_empty()).then(|| row.description.to_owned()),
        default_reasoning_level: Some(ReasoningEffort::Medium),
        supported_reasoning_levels: levels(row.efforts),
        shell_type: if row.plain_shell {
            ShellType::Default
        } else {
            ShellType::ShellCommand
        },
        visibility: row.visibility,
        supported_in_api: true,
        priority: row.priority,
        availability_nux: None,
        upgrade: row.upgrade.map(|model| upgrade(row.slug, model)),
        base_instructions: None,
        model_messages: row.has_personalities.then(personalities),
        supports_reasoning_summaries: true,
        default_reasoning_summary: if newest {
            ReasoningSummary::None
        } else {
            ReasoningSummary::Auto
        },
        support_verbosity: row.verbosity != VerbositySupport::Fixed,
        default_verbosity: (row.verbosity == VerbositySupport::LowByDefault)
            .then_some(Verbosity::Low),
        tool_mode: None,
        multi_agent_version: None,
        apply_patch_tool_type: (row.slug != "gpt-5").then_some(ApplyPatchToolType::Freeform),
        web_search_tool_type: WebSearchToolType::Text,
        truncation_policy: row.truncation,
        supports_parallel_tool_calls: row.parallel,
        supports_image_detail_original: newest,
        context_window: Some(if local { 128_000 } else { 272_000 }),
        auto_compact_token_limit: None,
        effective_context_window_percent: 95,
        experimental_supported_tools: Vec::new(),
        input_modalities,
        supports_search_tool: false,
        service_tiers: Vec::new(),
        additional_speed_tiers: Vec::new(),
        default_service_tier: None,
        multi_agent_reasoning_effort: None,
        prices: None,
    }
}

/// The texts of the personalities; the other instructions are in the engine.
fn personalities() -> ModelMessages {
    ModelMessages {
        instructions_template: None,
        instructions_variables: Some(InstructionsVariables {
            personality_default: None,
            personality_friendly: Some(FRIENDLY_STYLE.to_owned()),
            personality_pragmatic: Some(PRAGMATIC_STYLE.to_owned()),
        }),
    }
}

pub(super) fn upgrade(from: &str, to: &str) -> ModelUpgrade {
    ModelUpgrade {
        model: to.to_owned(),
        migration_markdown: format!(
            "**{to}** does what {from} does, and does it better. {from} stays available."
        ),
    }
}

fn levels(efforts: EffortLevels) -> Vec<ReasoningLevel> {
    use ReasoningEffort::*;

    let efforts: &[ReasoningEffort] = match efforts {
        EffortLevels::LowToXhigh => &[Low, Medium, High, Xhigh],
        EffortLevels::LowToHigh => &[Low, Medium, High],
        EffortLevels::MinimalToHigh => &[Minimal, Low, Medium, High],
        EffortLevels::MediumAndHigh => &[Medium, High],
    };
    efforts.iter().cloned().map(reasoning_level).collect()
}

/// A selectable effort with its description.
pub(super) fn reasoning_level(effort: ReasoningEffort) -> ReasoningLevel {
    let description = match effort.as_str() {
        "none" => "Answers without thinking first",
        "minimal" => "Answers fastest, for what is plain",
        "low" => "Answers fast, with a little thought",
        "medium" => "Weighs speed against depth, for everyday work",
        "high" => "Thinks longer, for what is hard",
        "xhigh" => "Thinks very long, for the hardest problems",
        "max" => "Thinks as long as the model can",
        "ultra" => "Thinks as long as it can, and shares the work among agents",
        _ => "",
    };
    ReasoningLevel {
        effort,
        description: description.to_owned(),
    }
}
