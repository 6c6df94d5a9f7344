//! A pattern of settings, in the syntax of gitignore.

use std::path::{Path, PathBuf};

/// Why a pattern cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    #[error("the pattern `{0}` must begin with `**/`, `~/` or `/`")]
    Beginning(String),
    #[error("the pattern `{0}` hides everything")]
    Everything(String),
    #[error("the pattern `{0}` has `..` or a line break in it")]
    Unclear(String),
    #[error("the pattern `{0}` is below `~`, and the home folder of the user is not known")]
    NoHome(String),
    #[error("the pattern `{pattern}` cannot be read: {problem}")]
    Syntax { pattern: String, problem: String },
}

/// Where the files of a pattern can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PatternPlace {
    /// At one path.
    Path(PathBuf),
    /// Below a folder, at most this number of names deep.
    Below(PathBuf, Option<usize>),
    /// Anywhere in a workspace.
    Workspace,
}

/// A pattern as a line of gitignore whose root is that of the file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    pub(crate) line: String,
    pub(crate) place: PatternPlace,
    /// What follows in the line after a folder of the place.
    pub(crate) rest: String,
}

/// The characters of patterns.
const SPECIAL_CHARACTERS: [char; 6] = ['*', '?', '[', ']', '{', '}'];

impl Pattern {
    /// Parses a pattern. `home` is the home folder of the user.
    pub(crate) fn parse(text: &str, home: Option<&Path>) -> Result<Self, PatternError> {
        let own = || text.to_owned();
        let is_unclear = text.contains(['\n', '\r']) || text.split('/').any(|name| name == "..");
        if is_unclear {
            return Err(PatternError::Unclear(own()));
        }
        // All that is below a folder is hidden with the folder.
        let trimmed = text.trim_end_matches("/**").trim_end_matches('/');
        let is_everything = trimmed.chars().all(|letter| "*/~".contains(letter));
        if is_everything && !text.is_empty() {
            return Err(PatternError::Everything(own()));
        }
        if trimmed.starts_with("**/") {
            return Ok(Self {
                line: trimmed.to_owned(),
                place: PatternPlace::Workspace,
                rest: String::new(),
            });
        }
        let line = match trimmed.strip_prefix("~/") {
            Some(below) => {
                let home = home.and_then(Path::to_str);
                let home = home.ok_or_else(|| PatternError::NoHome(own()))?;
                let home = home.replace(std::path::MAIN_SEPARATOR, "/");
                format!("{}/{below}", escaped(home.trim_end_matches('/')))
            }
            None if trimmed.starts_with('/') => trimmed.to_owned(),
            None => return Err(PatternError::Beginning(own())),
        };
        let (place, rest) = place_of(&line);
        Ok(Self { line, place, rest })
    }

    /// Its folder, or the path that it names.
    pub(crate) fn folder(&self) -> Option<&Path> {
        match &self.place {
            PatternPlace::Path(folder) | PatternPlace::Below(folder, _) => Some(folder),
            PatternPlace::Workspace => None,
        }
    }

    /// The same pattern where the links of its folder lead, which is `real`; none if there are no links.
    pub(crate) fn behind_links(&self, real: PathBuf) -> Option<Self> {
        let folder = self.folder()?;
        let text = real.to_str().filter(|_| real != *folder)?;
        Some(Self {
            line: format!("{}{}", escaped(text), self.rest),
            place: match self.place {
                PatternPlace::Below(_, depth) => PatternPlace::Below(real, depth),
                _ => PatternPlace::Path(real),
            },
            rest: self.rest.clone(),
        })
    }
}

fn escaped(path: &str) -> String {
    let mut escaped = String::with_capacity(path.len());
    for letter in path.chars() {
        if SPECIAL_CHARACTERS.contains(&letter) || letter == '\\' {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

/// The place of a pattern that is anchored at the root of the file system.
fn place_of(line: &str) -> (PatternPlace, String) {
    let names: Vec<&str> = line.split('/').filter(|name| !name.is_empty()).collect();
    let plain: Vec<String> = names.iter().map_while(|name| unescaped(name)).collect();
    let mut folder = PathBuf::from("/");
    folder.extend(&plain);
    if plain.len() == names.len() {
        return (PatternPlace::Path(folder), String::new());
    }
    let is_deep = names.contains(&"**");
    let rest = &names[plain.len()..];
    let depth = (!is_deep).then_some(rest.len());
    let rest = rest.iter().map(|name| format!("/{name}")).collect();
    (PatternPlace::Below(folder, depth), rest)
}

/// The name that a part of a pattern stands for; none if there are several.
fn unescaped(part: &str) -> Option<String> {
    let mut name = String::with_capacity(part.len());
    let mut letters = part.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => name.push(letters.next()?),
            letter if SPECIAL_CHARACTERS.contains(&letter) => return None,
            letter => name.push(letter),
        }
    }
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (String, PatternPlace) {
        let pattern = Pattern::parse(text, Some(Path::new("/h/o[1]"))).unwrap();
        (pattern.line, pattern.place)
    }

    #[test]
    fn patterns_limit_the_searched_folders() {
        let below = |folder: &str, depth| PatternPlace::Below(folder.into(), depth);
        for (text, line, place) in [
            ("**/.env", "**/.env", PatternPlace::Workspace),
            (
                "~/.aws/**",
                "/h/o\\[1\\]/.aws",
                PatternPlace::Path("/h/o[1]/.aws".into()),
            ),
            ("/etc/*.key", "/etc/*.key", below("/etc", Some(1))),
            ("~/a/*/b", "/h/o\\[1\\]/a/*/b", below("/h/o[1]/a", Some(2))),
            ("/srv/**/x", "/srv/**/x", below("/srv", None)),
            (
                "/srv/a\\*b",
                "/srv/a\\*b",
                PatternPlace::Path("/srv/a*b".into()),
            ),
        ] {
            assert_eq!(parsed(text), (line.to_owned(), place), "{text}");
        }
    }

    #[test]
    fn patterns_that_are_unclear_are_refused() {
        for text in [
            "", ".env", "a/b", "../x", "!**/x", "/a/../b", "**", "/**", "~", "~/**", "/", "**/*",
            "a\nb",
        ] {
            assert!(
                Pattern::parse(text, Some(Path::new("/h"))).is_err(),
                "{text}"
            );
        }
        assert!(Pattern::parse("~/x", None).is_err());
    }
}
