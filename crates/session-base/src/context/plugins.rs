//! The plugins that the model may use.

use std::fmt::Write;

use codex_plugins::InstalledPlugin;
use codex_skills::SkillSet;

use crate::turn_settings::TurnSettings;

/// The rules for using plugins.
const RULES: &str = include_str!("../../prompts/plugins.md").trim_ascii_end();

/// The section on plugins; none if no plugin offers anything.
pub(super) fn text(turn: &TurnSettings) -> Option<String> {
    let plugins = turn.plugins.as_ref()?;
    let skills = turn.skills.get();
    let mut lines = String::new();
    for plugin in plugins.iter() {
        if !has_contributions(plugin, skills.map(AsRef::as_ref)) {
            continue;
        }
        let name = &plugin.display_name;
        let _ = match &plugin.description {
            Some(description) => writeln!(lines, "- `{name}`: {description}"),
            None => writeln!(lines, "- `{name}`"),
        };
    }
    (!lines.is_empty()).then(|| {
        format!("<plugins_instructions>\n# Plugins\n\n{lines}\n{RULES}\n</plugins_instructions>")
    })
}

fn has_contributions(plugin: &InstalledPlugin, skills: Option<&SkillSet>) -> bool {
    let id = plugin.id.to_string();
    let has_skill = || {
        let mut enabled = skills.into_iter().flat_map(SkillSet::enabled);
        enabled.any(|skill| skill.plugin.as_deref() == Some(&id))
    };
    !plugin.mcp_servers.is_empty() || !plugin.apps.is_empty() || has_skill()
}
