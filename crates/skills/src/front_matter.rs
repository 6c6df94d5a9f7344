//! Parses the front matter of a `SKILL.md`: YAML between two lines of dashes.

use std::io;
use std::path::Path;

use crate::yaml::{self, YamlError};

/// Limit on the characters of a name.
const MAX_NAME: usize = 64;
/// Limit on the characters of a description.
const MAX_DESCRIPTION: usize = 1024;

/// The front matter of a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FrontMatter {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) short_description: Option<String>,
}

/// Why a skill cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SkillError {
    #[error("failed to read file: {0}")]
    Read(#[from] io::Error),
    #[error("failed to read file: longer than {0} bytes")]
    TooLong(u64),
    #[error("missing YAML frontmatter delimited by ---")]
    NoFrontMatter,
    #[error("invalid YAML: {0}")]
    Yaml(#[from] YamlError),
    #[error("missing field `description`")]
    NoDescription,
    #[error("invalid {field}: exceeds maximum length of {limit} characters")]
    FieldTooLong { field: &'static str, limit: usize },
}

/// Parses the front matter of the file at `path`.
pub(crate) fn parse(text: &str, path: &Path) -> Result<FrontMatter, SkillError> {
    let written = between_dashes(text).ok_or(SkillError::NoFrontMatter)?;
    let yaml = yaml::parse(&written)?;
    let name = yaml::text(&yaml["name"]).unwrap_or_else(|| folder_name(path));
    let description = yaml::text(&yaml["description"]).ok_or(SkillError::NoDescription)?;
    let short_description = yaml::text(&yaml["metadata"]["short-description"]);
    check_name(&name)?;
    check("description", &description, MAX_DESCRIPTION)?;
    if let Some(short) = &short_description {
        check("metadata.short-description", short, MAX_DESCRIPTION)?;
    }
    Ok(FrontMatter {
        name,
        description,
        short_description,
    })
}

fn between_dashes(text: &str) -> Option<String> {
    let mut lines = text.strip_prefix('\u{feff}').unwrap_or(text).lines();
    if lines.next()?.trim() != "---" {
        return None;
    }
    let mut written = String::new();
    for line in lines {
        if line.trim() == "---" {
            return (!written.trim().is_empty()).then_some(written);
        }
        written.push_str(line);
        written.push('\n');
    }
    None
}

fn folder_name(path: &Path) -> String {
    let folder = path.parent().and_then(Path::file_name);
    let name = folder.map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_else(|| "skill".to_owned())
}

/// Checks the length of a name, which may have that of a plugin in front.
pub(crate) fn check_name(name: &str) -> Result<(), SkillError> {
    check("name", name, MAX_NAME)
}

fn check(field: &'static str, text: &str, limit: usize) -> Result<(), SkillError> {
    if text.chars().count() <= limit {
        Ok(())
    } else {
        Err(SkillError::FieldTooLong { field, limit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(String, String), String> {
        let read = parse(text, Path::new("/skills/folder/SKILL.md"));
        let read = read.map_err(|error| error.to_string())?;
        Ok((read.name, read.description))
    }

    fn ok(text: &str, name: &str, description: &str) {
        let expected = (name.to_owned(), description.to_owned());
        assert_eq!(read(text), Ok(expected), "{text}");
    }

    #[test]
    fn name_and_description_are_read() {
        ok("---\nname: a\ndescription: b\n---\nbody", "a", "b");
        ok(
            "---\r\nname: a\r\ndescription: >\r\n  b\r\n  c\r\n---\r\n",
            "a",
            "b c",
        );
        ok(
            "---\ndescription: ' b   c '\nother: [1]\n---",
            "folder",
            "b c",
        );
        ok("--- \nname: 7\ndescription: \"x: y\"\n ---\n", "7", "x: y");
    }

    #[test]
    fn invalid_front_matter_gives_the_reason() {
        let missing = Err("missing YAML frontmatter delimited by ---".to_owned());
        for text in [
            "",
            "no",
            "---\n---\n",
            "---\nname: a\n",
            "\n---\na: b\n---\n",
        ] {
            assert_eq!(read(text), missing, "{text:?}");
        }
        let no_description = Err("missing field `description`".to_owned());
        assert_eq!(read("---\nname: a\n---"), no_description);
        assert_eq!(read("---\njust words\n---"), no_description);
        assert!(
            read("---\nname: [\n---")
                .unwrap_err()
                .starts_with("invalid YAML: ")
        );
        let long = format!("---\nname: {}\ndescription: b\n---", "a".repeat(65));
        let complaint = "invalid name: exceeds maximum length of 64 characters";
        assert_eq!(read(&long).unwrap_err(), complaint);
        let metadata = format!("metadata:\n  short-description: {}", "é".repeat(1025));
        let long = format!("---\ndescription: b\n{metadata}\n---");
        let field = "invalid metadata.short-description: ";
        assert!(read(&long).unwrap_err().starts_with(field));
    }
}
