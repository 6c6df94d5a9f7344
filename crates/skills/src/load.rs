//! From roots and rules to skills.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use codex_protocol::{SkillErrorInfo, SkillMetadata, SkillScope};

use crate::front_matter::{self, FrontMatter};
use crate::interface;
use crate::scan::scan;
use crate::scripts::has_scripts;

/// The largest file that is read.
const FILE_LIMIT: u64 = 1024 * 1024;

/// A folder to look for skills in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// The folder. It need not exist.
    pub path: PathBuf,
    /// Whose its skills are.
    pub scope: SkillScope,
    /// Whether its skills may bring scripts along.
    pub trusted: bool,
}

/// Which skills a rule is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Selector {
    /// The one with this file.
    Path(PathBuf),
    /// All with this name.
    Name(String),
}

/// Turns skills on or off. Later rules win.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rule {
    /// Which.
    pub selector: Selector,
    /// On or off.
    pub enabled: bool,
}

/// A skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// What it says of itself, where it is, and whether it is on.
    pub metadata: SkillMetadata,
    /// Whether the model may use it without being told to.
    pub is_implicit: bool,
    /// Whether it stays off because it brings scripts along that nobody trusts.
    withheld: bool,
}

#[cfg(test)]
impl Skill {
    pub(crate) fn for_tests(metadata: SkillMetadata) -> Self {
        Self {
            metadata,
            is_implicit: true,
            withheld: false,
        }
    }
}

/// The skills of some roots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skills {
    /// By scope, name and path; also those that are off.
    pub all: Vec<Skill>,
    /// What could not be read, and what is off for another reason than a rule.
    pub errors: Vec<SkillErrorInfo>,
}

impl Skills {
    /// Those that are on.
    pub fn enabled(&self) -> impl Iterator<Item = &Skill> {
        self.all.iter().filter(|skill| skill.metadata.enabled)
    }
}

/// Looks for skills. Of files that several roots lead to, the first root counts.
#[must_use]
pub fn load(roots: &[Root], rules: &[Rule]) -> Skills {
    load_from(roots, rules).0
}

/// The same, and the folders on which the answer depends.
pub(crate) fn load_from(roots: &[Root], rules: &[Rule]) -> (Skills, HashSet<PathBuf>) {
    let mut skills = Skills::default();
    let mut seen = HashSet::new();
    let mut folders = HashSet::new();
    for root in roots {
        let found = scan(&root.path, root.scope);
        folders.insert(root.path.clone());
        folders.extend(found.folders);
        for file in found.files {
            if seen.insert(file.clone()) {
                take(&mut skills, root, &file);
            }
        }
    }
    for rule in rules {
        apply(rule, &mut skills.all);
    }
    skills.all.sort_by_cached_key(|skill| {
        let metadata = &skill.metadata;
        let rank = match metadata.scope {
            SkillScope::Repo => 0,
            SkillScope::User => 1,
            SkillScope::System => 2,
            SkillScope::Admin => 3,
        };
        (rank, metadata.name.clone(), metadata.path.clone())
    });
    (skills, folders)
}

fn take(skills: &mut Skills, root: &Root, file: &Path) {
    let shown = file.display().to_string();
    let complain = |message: String| SkillErrorInfo {
        path: shown.clone(),
        message,
    };
    let read = match read(file) {
        Ok(read) => read,
        // The user has no part in what comes with the program.
        Err(_) if root.scope == SkillScope::System => return,
        Err(message) => return skills.errors.push(complain(message)),
    };
    let folder = file.parent().unwrap_or(file);
    let extras = interface::read(folder);
    if !extras.is_for_us {
        return;
    }
    let withheld = !root.trusted && has_scripts(folder);
    if withheld {
        let message = "off until the project is trusted, because the skill brings scripts along";
        skills.errors.push(complain(message.to_owned()));
    }
    skills.all.push(Skill {
        metadata: SkillMetadata {
            name: read.name,
            description: read.description,
            short_description: read.short_description,
            interface: extras.interface,
            dependencies: extras.dependencies,
            path: shown,
            scope: root.scope,
            enabled: !withheld,
        },
        is_implicit: extras.is_implicit,
        withheld,
    });
}

fn read(file: &Path) -> Result<FrontMatter, String> {
    let unreadable = |error: std::io::Error| format!("failed to read file: {error}");
    let length = fs::metadata(file).map_err(unreadable)?.len();
    if length > FILE_LIMIT {
        return Err(format!(
            "failed to read file: longer than {FILE_LIMIT} bytes"
        ));
    }
    let text = fs::read_to_string(file).map_err(unreadable)?;
    front_matter::parse(&text, file)
}

fn apply(rule: &Rule, skills: &mut [Skill]) {
    let path = match &rule.selector {
        Selector::Path(path) => path.canonicalize().unwrap_or_else(|_| path.clone()),
        Selector::Name(_) => PathBuf::new(),
    };
    for skill in skills {
        let metadata = &mut skill.metadata;
        let is_meant = match &rule.selector {
            Selector::Path(_) => Path::new(&metadata.path) == path,
            Selector::Name(name) => metadata.name == *name,
        };
        if is_meant {
            metadata.enabled = rule.enabled && !skill.withheld;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Home(tempfile::TempDir);

    impl Home {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn write(&self, path: &str, text: &str) -> PathBuf {
            let path = self.0.path().canonicalize().unwrap().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            path
        }

        fn skill(&self, folder: &str, name: &str) -> PathBuf {
            let text = format!("---\nname: {name}\ndescription: about {name}\n---\nbody\n");
            self.write(&format!("{folder}/SKILL.md"), &text)
        }

        fn root(&self, path: &str, scope: SkillScope) -> Root {
            Root {
                path: self.0.path().join(path),
                scope,
                trusted: true,
            }
        }
    }

    fn on(skills: &Skills) -> Vec<&str> {
        skills
            .enabled()
            .map(|skill| skill.metadata.name.as_str())
            .collect()
    }

    #[test]
    fn scopes_come_in_their_order_and_a_file_counts_once() {
        let home = Home::new();
        home.skill("user/b", "b");
        home.skill("user/a", "a");
        home.skill("repo/z", "z");
        let roots = [
            home.root("user", SkillScope::User),
            home.root("repo", SkillScope::Repo),
            home.root("user/a", SkillScope::Repo),
            home.root("none", SkillScope::Admin),
        ];
        let skills = load(&roots, &[]);
        assert_eq!(on(&skills), ["z", "a", "b"]);
        assert!(skills.errors.is_empty());
    }

    #[test]
    fn a_bad_file_is_told_unless_it_came_with_the_program() {
        let home = Home::new();
        let bad = home.write("user/bad/SKILL.md", "no");
        let skills = load(&[home.root("user", SkillScope::User)], &[]);
        assert_eq!(skills.errors[0].path, bad.display().to_string());
        assert!(skills.all.is_empty());
        let skills = load(&[home.root("user", SkillScope::System)], &[]);
        assert!(skills.errors.is_empty());
    }

    #[test]
    fn the_last_rule_wins() {
        let home = Home::new();
        let file = home.skill("user/a", "a");
        home.skill("user/b", "a");
        let roots = [home.root("user", SkillScope::User)];
        let name = |enabled| Rule {
            selector: Selector::Name("a".to_owned()),
            enabled,
        };
        let path = |enabled| Rule {
            selector: Selector::Path(file.clone()),
            enabled,
        };
        assert_eq!(on(&load(&roots, &[name(false)])).len(), 0);
        assert_eq!(on(&load(&roots, &[name(false), path(true)])).len(), 1);
        assert_eq!(on(&load(&roots, &[path(false), name(true)])).len(), 2);
    }

    #[test]
    fn scripts_of_a_project_that_is_not_trusted_stay_off_whatever_a_rule_says() {
        let home = Home::new();
        home.skill("repo/plain", "plain");
        let file = home.skill("repo/wild", "wild");
        home.write("repo/wild/scripts/go.sh", "rm -rf /");
        let mut root = home.root("repo", SkillScope::Repo);
        assert_eq!(on(&load(&[root.clone()], &[])), ["plain", "wild"]);
        root.trusted = false;
        let rule = Rule {
            selector: Selector::Path(file.clone()),
            enabled: true,
        };
        let skills = load(&[root], &[rule]);
        assert_eq!(on(&skills), ["plain"]);
        assert_eq!(skills.all.len(), 2);
        assert_eq!(skills.errors[0].path, file.display().to_string());
    }
}
