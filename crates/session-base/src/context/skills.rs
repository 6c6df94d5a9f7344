//! The skills that the model may use without being asked.

use std::fmt::Write;

use crate::turn_settings::TurnSettings;

/// The rules for using skills.
const RULES: &str = include_str!("../../prompts/skills.md").trim_ascii_end();

/// The section on skills; none if there are no skills.
pub(super) fn text(turn: &TurnSettings) -> Option<String> {
    // The files are on this machine, where the model cannot read them. A user who mentions one gives the model its text.
    if turn.first_elsewhere().is_some() {
        return None;
    }
    let skills = turn.skills.get()?;
    let mut lines = String::new();
    for skill in skills.enabled().filter(|skill| skill.is_implicit) {
        let metadata = &skill.metadata;
        let path = metadata.path.replace('\\', "/");
        let (name, description) = (&metadata.name, &metadata.description);
        let _ = writeln!(lines, "- {name}: {description} (file: {path})");
    }
    (!lines.is_empty()).then(|| {
        format!("<skills_instructions>\n# Skills\n\n{lines}\n{RULES}\n</skills_instructions>")
    })
}

/// The section for the time after the last skill is gone.
pub(super) fn none() -> String {
    "<skills_instructions>\nThere are no skills any more.\n</skills_instructions>".to_owned()
}
