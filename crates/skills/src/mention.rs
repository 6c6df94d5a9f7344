//! Finds the skills that a user mentions: by an input item, a link, or `$name`.

use std::collections::HashSet;

use crate::load::{Skill, SkillSet};

/// Names of common shell variables, which are not treated as mentions.
const VARIABLES: [&str; 11] = [
    "PATH",
    "HOME",
    "USER",
    "SHELL",
    "PWD",
    "TMPDIR",
    "TEMP",
    "TMP",
    "LANG",
    "TERM",
    "XDG_CONFIG_HOME",
];
/// Links to things other than skills.
const OTHER_LINKS: [&str; 3] = ["app://", "mcp://", "plugin://"];

/// A part of the input.
#[derive(Clone, Copy, Debug)]
pub enum SkillMention<'a> {
    /// An input item that names a skill.
    Item {
        name: &'a str,
        path: &'a str,
    },
    Text(&'a str),
}

/// What a text mentions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextMention<'a> {
    /// The target of a link `[$name](target)`.
    Link(&'a str),
    /// A name, as in `$name`.
    Name(&'a str),
}

/// What a text mentions, in order.
#[must_use]
pub fn text_mentions(text: &str) -> Vec<TextMention<'_>> {
    let mut mentions = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let is_link = rest[..at].ends_with('[');
        let after = &rest[at + 1..];
        let name = &after[..name_length(after)];
        rest = &after[name.len()..];
        if is_link && let Some((target, behind)) = link_target(rest) {
            rest = behind;
            mentions.push(TextMention::Link(target));
        } else if !name.is_empty() && !VARIABLES.iter().any(|one| one.eq_ignore_ascii_case(name)) {
            mentions.push(TextMention::Name(name));
        }
    }
    mentions
}

/// The enabled skills that an input mentions, without duplicates; those of input items come first. Names that others
/// have too, `taken`, do not count in texts.
#[must_use]
pub fn mentioned<'a>(
    skills: &'a SkillSet,
    input: &[SkillMention<'_>],
    taken: &[String],
) -> Vec<&'a Skill> {
    let mut finder = MentionFinder {
        skills,
        found: Vec::new(),
        paths: HashSet::new(),
    };
    let mut named: HashSet<&str> = taken.iter().map(String::as_str).collect();
    for part in input {
        if let SkillMention::Item { name, path } = part {
            named.insert(*name);
            finder.take_path(path);
        }
    }
    for part in input {
        if let SkillMention::Text(text) = part {
            finder.take_text(text, &named);
        }
    }
    finder.found
}

struct MentionFinder<'a> {
    skills: &'a SkillSet,
    found: Vec<&'a Skill>,
    paths: HashSet<&'a str>,
}

impl<'a> MentionFinder<'a> {
    fn take_path(&mut self, path: &str) {
        let wanted = path.strip_prefix("skill://").unwrap_or(path);
        let real = codex_mounts::canonicalize(wanted).ok();
        let real = real.as_ref().map(|path| path.to_string_lossy());
        let skills = self.skills;
        let mut enabled = skills.enabled();
        let skill = enabled.find(|skill| {
            let own = skill.metadata.path.as_str();
            own == wanted || real.as_deref() == Some(own)
        });
        self.take(skill);
    }

    fn take(&mut self, skill: Option<&'a Skill>) {
        if let Some(skill) = skill
            && self.paths.insert(&skill.metadata.path)
        {
            self.found.push(skill);
        }
    }

    fn take_text(&mut self, text: &str, named: &HashSet<&str>) {
        for mention in text_mentions(text) {
            match mention {
                TextMention::Link(target)
                    if OTHER_LINKS.iter().any(|other| target.starts_with(other)) => {}
                TextMention::Link(target) => self.take_path(target),
                TextMention::Name(name) if named.contains(name) => {}
                TextMention::Name(name) => self.take_name(name),
            }
        }
    }

    /// Adds the skill with this name, unless several skills have it.
    fn take_name(&mut self, name: &str) {
        let skills = self.skills;
        let mut matching = skills.enabled().filter(|skill| skill.metadata.name == name);
        let first = matching.next();
        if matching.next().is_none() {
            self.take(first);
        }
    }
}

fn name_length(text: &str) -> usize {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':' | b'-');
    text.bytes().take_while(|byte| is_part(*byte)).count()
}

/// The target in `](target)`, and the text after it.
fn link_target(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_prefix(']')?.trim_start().strip_prefix('(')?;
    let (target, behind) = inner.split_once(')')?;
    Some((target.trim(), behind))
}

#[cfg(test)]
mod tests {
    use codex_protocol::{SkillMetadata, SkillScope};

    use super::*;

    fn skills() -> SkillSet {
        let skill = |name: &str, path: &str, enabled| {
            Skill::for_tests(SkillMetadata {
                name: name.to_owned(),
                description: String::new(),
                short_description: None,
                interface: None,
                dependencies: None,
                path: path.to_owned(),
                scope: SkillScope::User,
                enabled,
            })
        };
        let all = vec![
            skill("demo", "/s/demo/SKILL.md", true),
            skill("plug:in-1", "/s/plug/SKILL.md", true),
            skill("twin", "/s/one/SKILL.md", true),
            skill("twin", "/s/two/SKILL.md", true),
            skill("off", "/s/off/SKILL.md", false),
            skill("home", "/s/home/SKILL.md", true),
        ];
        SkillSet {
            all,
            errors: Vec::new(),
        }
    }

    fn check(input: &[SkillMention<'_>], expected: &[&str]) {
        let skills = skills();
        let found = mentioned(&skills, input, &[]);
        let paths: Vec<&str> = found
            .iter()
            .map(|skill| skill.metadata.path.split('/').nth(2).unwrap())
            .collect();
        assert_eq!(paths, expected, "{input:?}");
    }

    #[test]
    fn names_count_where_they_are_clear() {
        let text =
            |text: &'static str, expected: &[&str]| check(&[SkillMention::Text(text)], expected);
        text("use $demo, please", &["demo"]);
        text("$demo$plug:in-1 $demo", &["demo", "plug"]);
        text("$demos and $ demo and demo", &[]);
        text("$twin $off $home $HOME é$", &[]);
    }

    #[test]
    fn links_go_by_their_target() {
        let text =
            |text: &'static str, expected: &[&str]| check(&[SkillMention::Text(text)], expected);
        text("see [$twin](/s/two/SKILL.md)", &["two"]);
        text("[$x] ( skill:///s/demo/SKILL.md )", &["demo"]);
        text("[$demo](app://demo) [$demo](mcp://x)", &[]);
        text("[$demo] without a target", &["demo"]);
        text("[$demo](unclosed", &["demo"]);
    }

    #[test]
    fn items_come_first_and_their_names_are_taken() {
        let item = |name: &'static str, path: &'static str| SkillMention::Item { name, path };
        let text = SkillMention::Text("$plug:in-1 and $demo");
        let demo = item("demo", "/s/demo/SKILL.md");
        check(&[text, demo], &["demo", "plug"]);
        check(&[text, item("demo", "/nowhere")], &["plug"]);
        check(&[item("off", "/s/off/SKILL.md")], &[]);
    }

    #[test]
    fn a_name_that_others_have_is_no_mention() {
        let (skills, taken) = (skills(), ["demo".to_owned()]);
        let text = [SkillMention::Text("$demo $plug:in-1")];
        let found = mentioned(&skills, &text, &taken);
        assert_eq!(found.len(), 1);
        let link = [SkillMention::Text("[$demo](/s/demo/SKILL.md)")];
        assert_eq!(mentioned(&skills, &link, &taken).len(), 1);
    }
}
