//! The context of the model: instructions, permissions, environment.
//!
//! It is made here as values; the turn records them. The first turn gets all of it, later ones only what has
//! changed since. [`TurnContext`] says what the model has, and is also a line of the rollout.

mod environment;
mod image_file;
mod permissions;
mod plugins;
mod skills;
mod user_input;

use std::sync::{Arc, LazyLock};

use codex_protocol::{CollaborationMode, ModeKind, ResponseItem, TurnContext};

use crate::history::{
    developer_message, user_message, wrapped_folder_instructions, wrapped_instructions,
};
use crate::turn_settings::TurnSettings;

pub use image_file::image_data_url;
pub use image_file::{IMAGE_LIMIT, ImageProblem, data_url, data_url_of};
pub use user_input::message_of;

/// The default instructions, for models without their own.
const BASE_INSTRUCTIONS: &str = include_str!("../../prompts/base.md");
/// The instructions of the plan mode, if the client gives none.
const PLAN_INSTRUCTIONS: &str = include_str!("../../prompts/plan_mode.md");

/// The instructions of the default mode, after another mode.
const DEFAULT_INSTRUCTIONS: &str = include_str!("../../prompts/default_mode.md");

/// The default instructions, shared by all threads.
pub fn base_instructions() -> Arc<str> {
    static SHARED_INSTRUCTIONS: LazyLock<Arc<str>> = LazyLock::new(|| Arc::from(BASE_INSTRUCTIONS));
    Arc::clone(&SHARED_INSTRUCTIONS)
}

/// The message that the turn was stopped. In a team, messages of the user are from people only.
pub fn turn_aborted_marker(is_in_team: bool) -> ResponseItem {
    let guidance = include_str!("../../prompts/turn_aborted.md").trim_end();
    let text = format!("<turn_aborted>\n{guidance}\n</turn_aborted>");
    if is_in_team {
        developer_message([text])
    } else {
        user_message([text])
    }
}

/// The whole context.
pub fn initial(turn: &TurnSettings, previous_model: Option<&str>) -> Vec<ResponseItem> {
    let mut sections = Vec::new();
    sections.extend(model_switch(turn, previous_model));
    let shown = turn.instructions.sections;
    if shown.permissions {
        sections.push(permissions::text(turn));
    }
    sections.extend(turn.instructions.developer.as_deref().map(str::to_owned));
    sections.extend(turn.memory_summary.as_deref().map(memory_section));
    if shown.modes && !is_plain(&turn.mode) {
        sections.extend(collaboration_mode(turn));
    }
    sections.extend(turn.realtime.started());
    sections.extend(personality(turn));
    if shown.apps && turn.apps.get().is_some_and(|apps| !apps.is_empty()) {
        sections.push(apps_section());
    }
    sections.extend(skills::text(turn));
    sections.extend(plugins::text(turn));
    let mut user = Vec::new();
    user.extend(
        turn.user_instructions()
            .map(|text| instructions_text(turn, "", text)),
    );
    user.extend(environment::full(turn));
    let team = turn.instructions.team.as_deref();
    let team = team.map(|hint| developer_message([hint.to_owned()]));
    let mut items = Vec::new();
    if !sections.is_empty() {
        items.push(developer_message(sections));
    }
    items.extend(team);
    if !user.is_empty() {
        items.push(user_message(user));
    }
    items
}

/// What has changed since the context was last recorded.
pub fn updates(
    turn: &TurnSettings,
    reference: &TurnContext,
    previous_model: Option<&str>,
) -> Vec<ResponseItem> {
    let mut sections = Vec::new();
    sections.extend(model_switch(turn, previous_model));
    let shown = turn.instructions.sections;
    let has_other_permissions = reference.approval_policy != turn.approval_policy
        || reference.sandbox_policy != turn.sandbox_policy;
    if shown.permissions && has_other_permissions {
        sections.push(permissions::text(turn));
    }
    let known_mode = reference.collaboration_mode.as_ref();
    let was_plain = known_mode.is_none_or(is_plain);
    if shown.modes && known_mode != Some(&turn.mode) && !(was_plain && is_plain(&turn.mode)) {
        sections.extend(collaboration_mode(turn));
    }
    sections.extend(
        match (reference.realtime_active, turn.realtime.is_active()) {
            (Some(true), false) => Some(turn.realtime.ended()),
            (Some(true), true) | (_, false) => None,
            (_, true) => turn.realtime.started(),
        },
    );
    if reference.personality != turn.personality && reference.model == turn.model.slug {
        sections.extend(personality(turn));
    }
    if reference.disabled_plugin_ids != turn.disabled_plugins {
        sections.push(skills::text(turn).unwrap_or_else(skills::none));
        sections.extend(plugins::text(turn));
    }
    let mut items = Vec::new();
    if !sections.is_empty() {
        items.push(developer_message(sections));
    }
    if let Some(text) = environment::changed(turn, reference) {
        items.push(user_message([text]));
    }
    items
}

/// The context that the model has after this turn has begun.
pub fn turn_context(turn: &TurnSettings) -> TurnContext {
    TurnContext {
        turn_id: Some(turn.id.to_string()),
        trace_id: None,
        cwd: turn.cwd.display().to_string(),
        current_date: Some(turn.date.clone()),
        timezone: Some(turn.timezone.clone()),
        approval_policy: turn.approval_policy,
        sandbox_policy: turn.sandbox_policy.clone(),
        network: None,
        model: turn.model.slug.clone(),
        personality: turn.personality,
        collaboration_mode: Some(turn.mode.clone()),
        realtime_active: Some(turn.realtime.is_active()),
        effort: turn.mode.settings.reasoning_effort.clone(),
        summary: turn.summary,
        // They do not change and are part of the history; repeating them in every turn would take too much
        // space.
        user_instructions: None,
        developer_instructions: turn.instructions.developer.as_deref().map(str::to_owned),
        final_output_json_schema: turn.output_schema.as_deref().cloned(),
        truncation_policy: Some(turn.model.truncation()),
        limits: (!turn.limits.is_empty()).then(|| Box::new(turn.limits)),
        turn_limits: Some(turn.turn_limits).filter(|limits| !limits.is_empty()),
        disabled_plugin_ids: turn.disabled_plugins.clone(),
        mentioned_apps: Vec::new(),
        without_environment: !turn.has_environment,
        environments: turn.environments.clone(),
    }
}

fn model_switch(turn: &TurnSettings, previous: Option<&str>) -> Option<String> {
    let previous = previous.filter(|previous| *previous != turn.model.slug)?;
    let own = turn.model.instructions(turn.personality);
    let instructions = own.as_deref().unwrap_or(BASE_INSTRUCTIONS);
    Some(format!(
        "<model_switch>\nUp to here the conversation was with another model, {previous}. From now on \
         these instructions hold:\n\n{instructions}\n</model_switch>"
    ))
}

/// The instructions of the plan mode, if the client gives none.
#[must_use]
pub fn plan_mode_instructions() -> &'static str {
    PLAN_INSTRUCTIONS.trim_end()
}

/// The instructions of the default mode after another one.
#[must_use]
pub fn default_mode_instructions() -> &'static str {
    DEFAULT_INSTRUCTIONS.trim_end()
}

/// Whether a mode is the default mode without instructions of the client.
fn is_plain(mode: &CollaborationMode) -> bool {
    mode.mode == ModeKind::Default && mode.settings.developer_instructions.is_none()
}

fn collaboration_mode(turn: &TurnSettings) -> Option<String> {
    let given = turn.mode.settings.developer_instructions.as_deref();
    let text = match (given, turn.mode.mode) {
        (Some(given), _) => given,
        (None, ModeKind::Plan) => plan_mode_instructions(),
        (None, ModeKind::Default) => default_mode_instructions(),
    };
    (!text.is_empty()).then(|| format!("<collaboration_mode>{text}</collaboration_mode>"))
}

/// The personality, if the model has a text for it that is not part of the instructions.
fn personality(turn: &TurnSettings) -> Option<String> {
    let text = turn.model.personality(turn.personality?)?;
    let is_new = !turn.instructions.base.contains(text);
    is_new.then(|| format!("<personality_spec>\n{text}\n</personality_spec>"))
}

fn memory_section(summary: &str) -> String {
    let rules = include_str!("../../prompts/memories.md").trim_ascii_end();
    format!("<memories>\n# Memories\n\n{rules}\n\n{summary}\n</memories>")
}

fn apps_section() -> String {
    let text = include_str!("../../prompts/apps.md").trim_ascii_end();
    format!("<apps_instructions>\n# Apps\n\n{text}\n</apps_instructions>")
}

/// Stands for the text of instruction files that are gone.
const NO_INSTRUCTIONS: &str = "There are none any more.";

/// What instruction files say whose text the model was told; none if they are gone.
pub fn present_instructions(text: &str) -> Option<&str> {
    (text != NO_INSTRUCTIONS).then_some(text)
}

/// The message that the instruction files have changed since the model got `known`; none if they say the same.
pub fn changed_instructions(turn: &TurnSettings, known: Option<&str>) -> Option<ResponseItem> {
    let known = known.and_then(present_instructions);
    let now = turn.user_instructions();
    if now == known {
        return None;
    }
    let text = now.unwrap_or(NO_INSTRUCTIONS);
    let about = if known.is_some() {
        " (changed: these hold in place of those above)"
    } else {
        ""
    };
    Some(user_message([instructions_text(turn, about, text)]))
}

/// The message that a folder which the model has entered has an instruction file.
pub fn folder_instructions(folder: &str, text: &str) -> ResponseItem {
    user_message([wrapped_folder_instructions(folder, text)])
}

fn instructions_text(turn: &TurnSettings, about: &str, text: &str) -> String {
    let cwd = turn.shown_cwd();
    wrapped_instructions(&format!("{cwd}{about}"), text)
}
