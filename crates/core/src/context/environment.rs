//! The environment of a turn, as text.

use std::fmt::Write;

use codex_protocol::TurnContext;

use crate::turn_settings::TurnSettings;

/// What stands in place of folder and shell where commands cannot run.
const UNAVAILABLE: &str = r#"<environment id="local" status="unavailable" />"#;

/// All of it that the model gets.
pub(crate) fn full(turn: &TurnSettings) -> Option<String> {
    let is_shown = turn.instructions.sections.environment;
    is_shown.then(|| block(turn, true))
}

/// The environment again, if it has changed.
pub(crate) fn changed(turn: &TurnSettings, reference: &TurnContext) -> Option<String> {
    let cwd_changed = reference.cwd != turn.cwd.display().to_string()
        || reference.without_environment == turn.has_environment;
    let sections = turn.instructions.sections;
    let time_changed = reference.current_date.as_deref() != Some(&turn.date)
        || reference.timezone.as_deref() != Some(&turn.timezone);
    let changed = cwd_changed || (sections.time && time_changed);
    (sections.environment && changed).then(|| block(turn, cwd_changed))
}

fn block(turn: &TurnSettings, with_cwd: bool) -> String {
    let mut text = "<environment_context>\n".to_owned();
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "  <{name}>{value}</{name}>");
    };
    if with_cwd && turn.has_environment {
        line("cwd", &turn.cwd.display().to_string());
    }
    if turn.has_environment {
        let shell = turn.shell.file_stem().map(|stem| stem.to_string_lossy());
        line("shell", shell.as_deref().unwrap_or("sh"));
    } else {
        line("environments", UNAVAILABLE);
    }
    if turn.instructions.sections.time {
        line("current_date", &turn.date);
        line("timezone", &turn.timezone);
    }
    text.push_str("</environment_context>");
    text
}
