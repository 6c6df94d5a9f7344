//! Skills in a recorded request: the list for the model, and the texts of those that were mentioned.

use codex_protocol::{SkillMetadata, SkillScope};
use codex_skills::{Skill, SkillSet};
use serde_json::Value;

/// The skills that a request lists.
pub(crate) fn skills_of(request: &Value) -> SkillSet {
    let sections = texts(request).filter(|text| text.starts_with("<skills_instructions>"));
    let lines = sections.take(1).flat_map(str::lines);
    SkillSet {
        all: lines.filter_map(skill_of).collect(),
        errors: Vec::new(),
    }
}

/// The skill of a line `- NAME: DESCRIPTION (file: PATH)`.
fn skill_of(line: &str) -> Option<Skill> {
    let (name, rest) = line.strip_prefix("- ")?.split_once(": ")?;
    let (description, path) = rest.strip_suffix(')')?.rsplit_once(" (file: ")?;
    let metadata = SkillMetadata {
        name: name.to_owned(),
        description: description.to_owned(),
        short_description: None,
        interface: None,
        dependencies: None,
        path: path.to_owned(),
        scope: SkillScope::User,
        enabled: true,
    };
    Some(Skill::new(metadata, true))
}

/// The text of a skill that a request contains because the user mentioned it.
pub(crate) fn text_of_skill(request: &Value, path: &str) -> Option<String> {
    let path = format!("</name>\n<path>{path}</path>\n");
    let all: Vec<&str> = texts(request).collect();
    all.into_iter().rev().find_map(|text| {
        let (head, text) = text.split_once(&path)?;
        let text = text.strip_suffix("\n</skill>")?;
        head.starts_with("<skill>\n<name>").then(|| text.to_owned())
    })
}

/// The texts of the messages of a request.
pub(crate) fn texts(request: &Value) -> impl Iterator<Item = &str> {
    let items = request["input"].as_array().into_iter().flatten();
    let parts = items.flat_map(|item| item["content"].as_array().into_iter().flatten());
    parts.filter_map(|part| part["text"].as_str())
}
