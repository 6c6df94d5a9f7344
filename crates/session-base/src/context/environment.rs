//! The environment of a turn, as text.

use std::fmt::Write;

use codex_protocol::{EnvironmentChoice, TurnContext};

use crate::turn_settings::TurnSettings;

/// What stands in place of folder and shell where commands cannot run.
const UNAVAILABLE_LOCAL: &str = r#"<environment id="local" status="unavailable" />"#;

/// All of it that the model gets.
pub(super) fn full(turn: &TurnSettings) -> Option<String> {
    let is_shown = turn.instructions.sections.environment;
    is_shown.then(|| block(turn, true))
}

/// The environment again, if it has changed.
pub(super) fn changed(turn: &TurnSettings, reference: &TurnContext) -> Option<String> {
    let cwd_changed = reference.cwd != turn.cwd.display().to_string()
        || reference.environments != turn.environments
        || reference.without_environment == turn.has_environment;
    let sections = turn.instructions.sections;
    let time_changed = reference.current_date.as_deref() != Some(&turn.date)
        || reference.timezone.as_deref() != Some(&turn.timezone);
    let changed = cwd_changed || (sections.time && time_changed);
    (sections.environment && changed).then(|| block(turn, cwd_changed))
}

/// The environments of a turn that has several.
fn several(turn: &TurnSettings) -> String {
    let mut text = "  <environments>\n".to_owned();
    for (number, environment) in turn.environments.iter().enumerate() {
        let (id, cwd) = (escaped(&environment.id), escaped(&environment.cwd));
        let shell = if environment.is_local() {
            shell_here(turn)
        } else {
            shell_elsewhere(turn, environment)
        };
        let is_primary = number == 0;
        let _ = write!(
            text,
            "    <environment id=\"{id}\" primary=\"{is_primary}\">\n      <cwd>{cwd}</cwd>\n      \
             <shell>{shell}</shell>\n    </environment>\n"
        );
    }
    text.push_str("  </environments>\n");
    text
}

fn shell_here(turn: &TurnSettings) -> String {
    let shell = turn.shell.file_stem().map(|stem| stem.to_string_lossy());
    shell.map_or("sh".to_owned(), |shell| shell.into_owned())
}

/// The name of a shell elsewhere, which its machine tells.
fn shell_elsewhere(turn: &TurnSettings, choice: &EnvironmentChoice) -> String {
    let known = turn.shells.get().and_then(|shells| shells.get(&choice.id));
    let known = known.or(choice.shell.as_ref());
    let name = known.map_or("unknown", |path| {
        path.rsplit('/').next().unwrap_or_default()
    });
    escaped(name)
}

/// Text of others between tags.
fn escaped(text: &str) -> String {
    let visible = codex_visible_text::visible_line(text);
    let visible = visible.replace('&', "&amp;").replace('<', "&lt;");
    visible.replace('>', "&gt;").replace('"', "&quot;")
}

fn block(turn: &TurnSettings, with_cwd: bool) -> String {
    let mut text = "<environment_context>\n".to_owned();
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "  <{name}>{value}</{name}>");
    };
    let is_known = turn.has_environment && turn.environments.len() < 2;
    if with_cwd && is_known {
        line("cwd", &turn.shown_cwd());
    }
    if turn.has_environment && !is_known {
        text.push_str(&several(turn));
    } else if let Some(first) = turn.first_elsewhere().filter(|_| turn.has_environment) {
        line("shell", &shell_elsewhere(turn, first));
    } else if turn.has_environment {
        line("shell", &shell_here(turn));
    } else {
        line("environments", UNAVAILABLE_LOCAL);
    }
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "  <{name}>{value}</{name}>");
    };
    if turn.instructions.sections.time {
        line("current_date", &turn.date);
        line("timezone", &turn.timezone);
    }
    text.push_str("</environment_context>");
    text
}
