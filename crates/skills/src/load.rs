//! Loads skills from roots and applies rules.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use codex_protocol::{SkillErrorInfo, SkillMetadata, SkillScope};

use crate::front_matter::{self, FrontMatter, SkillError};
use crate::interface;
use crate::plugin_names::PluginNames;
use crate::scan::scan;
use crate::scripts::has_scripts;

/// Limit on the size of a skill file.
const FILE_LIMIT: u64 = 1024 * 1024;

/// A folder to search for skills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillRoot {
    /// The path, which need not exist.
    pub path: PathBuf,
    /// The scope of its skills.
    pub scope: SkillScope,
    /// Whether its skills may contain scripts.
    pub trusted: bool,
    /// The id of the installed plugin that it is of.
    pub plugin: Option<Arc<str>>,
}

/// Selects the skills of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SkillSelector {
    /// The skill with this file.
    Path(PathBuf),
    /// All skills with this name.
    Name(String),
}

/// Enables or disables skills. Later rules take precedence.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SkillToggle {
    pub selector: SkillSelector,
    pub enabled: bool,
}

/// A skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// Its metadata, location and state.
    pub metadata: SkillMetadata,
    /// Whether the model may use the skill without an explicit request.
    pub is_implicit: bool,
    /// The id of the installed plugin that the skill is of.
    pub plugin: Option<Arc<str>>,
    /// Whether the skill stays disabled because it contains untrusted scripts.
    withheld: bool,
}

impl Skill {
    /// A skill that was read elsewhere.
    #[must_use]
    pub fn new(metadata: SkillMetadata, is_implicit: bool) -> Self {
        Self {
            metadata,
            is_implicit,
            plugin: None,
            withheld: false,
        }
    }
}

#[cfg(test)]
impl Skill {
    pub(crate) fn for_tests(metadata: SkillMetadata) -> Self {
        Self {
            metadata,
            is_implicit: true,
            plugin: None,
            withheld: false,
        }
    }
}

/// The skills of some roots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkillSet {
    /// All skills, including disabled ones, sorted by scope, name and path.
    pub all: Vec<Skill>,
    /// Files that cannot be read, and skills that are disabled for other reasons than a rule.
    pub errors: Vec<SkillErrorInfo>,
}

impl SkillSet {
    /// The enabled skills.
    pub fn enabled(&self) -> impl Iterator<Item = &Skill> {
        self.all.iter().filter(|skill| skill.metadata.enabled)
    }
}

/// Loads skills. If several roots lead to the same file, the first applies.
#[must_use]
pub fn load(roots: &[SkillRoot], rules: &[SkillToggle]) -> SkillSet {
    load_from(roots, rules).0
}

/// The folders on which the skills of these roots depend, without reading a skill.
pub(crate) fn folders_below(roots: &[SkillRoot]) -> HashSet<PathBuf> {
    let mut folders = HashSet::new();
    for root in roots {
        folders.insert(root.path.clone());
        folders.extend(scan(&root.path, root.scope).folders);
    }
    folders
}

/// Like [`load`], and returns the folders on which the result depends.
pub(crate) fn load_from(
    roots: &[SkillRoot],
    rules: &[SkillToggle],
) -> (SkillSet, HashSet<PathBuf>) {
    let mut skills = SkillSet::default();
    let mut seen = HashSet::new();
    let mut folders = HashSet::new();
    let mut plugins = PluginNames::default();
    for root in roots {
        let found = scan(&root.path, root.scope);
        folders.insert(root.path.clone());
        folders.extend(found.folders);
        for file in found.files {
            if seen.insert(file.clone()) {
                take(&mut skills, root, &file, &mut plugins);
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

fn take(skills: &mut SkillSet, root: &SkillRoot, file: &Path, plugins: &mut PluginNames) {
    let shown = file.display().to_string();
    let complain = |message: String| SkillErrorInfo {
        path: shown.clone(),
        message,
    };
    let folder = file.parent().unwrap_or(file);
    // Skills of this program are in no plugin.
    let plugin = match root.scope {
        SkillScope::System => None,
        _ => plugins.above(folder),
    };
    let read = match read(file, plugin.as_deref()) {
        Ok(read) => read,
        // Errors in bundled skills are not the user's concern.
        Err(_) if root.scope == SkillScope::System => return,
        Err(error) => return skills.errors.push(complain(error.to_string())),
    };
    let extras = interface::read(folder);
    if !extras.is_for_this_product {
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
        plugin: root.plugin.clone(),
        withheld,
    });
}

fn read(file: &Path, plugin: Option<&str>) -> Result<FrontMatter, SkillError> {
    let length = codex_mounts::metadata(file)?.len();
    if length > FILE_LIMIT {
        return Err(SkillError::TooLong(FILE_LIMIT));
    }
    let text = codex_regular_file::read_text(file, FILE_LIMIT)?;
    let mut read = front_matter::parse(&text, file)?;
    if let Some(plugin) = plugin {
        read.name = format!("{plugin}:{}", read.name);
        front_matter::check_name(&read.name)?;
    }
    Ok(read)
}

fn apply(rule: &SkillToggle, skills: &mut [Skill]) {
    let path = match &rule.selector {
        SkillSelector::Path(path) => {
            codex_mounts::canonicalize(path).unwrap_or_else(|_| path.clone())
        }
        SkillSelector::Name(_) => PathBuf::new(),
    };
    for skill in skills {
        let metadata = &mut skill.metadata;
        let is_meant = match &rule.selector {
            SkillSelector::Path(_) => Path::new(&metadata.path) == path,
            SkillSelector::Name(name) => metadata.name == *name,
        };
        if is_meant {
            metadata.enabled = rule.enabled && !skill.withheld;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    struct Home(tempfile::TempDir);

    impl Home {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn write(&self, path: &str, text: &str) -> PathBuf {
            let path = dunce::canonicalize(self.0.path()).unwrap().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            path
        }

        fn skill(&self, folder: &str, name: &str) -> PathBuf {
            let text = format!("---\nname: {name}\ndescription: about {name}\n---\nbody\n");
            self.write(&format!("{folder}/SKILL.md"), &text)
        }

        fn root(&self, path: &str, scope: SkillScope) -> SkillRoot {
            SkillRoot {
                path: self.0.path().join(path),
                scope,
                trusted: true,
                plugin: None,
            }
        }
    }

    fn on(skills: &SkillSet) -> Vec<&str> {
        skills
            .enabled()
            .map(|skill| skill.metadata.name.as_str())
            .collect()
    }

    #[test]
    fn skill_scopes_are_ordered_and_files_unique() {
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
    fn invalid_skill_file_is_reported_unless_bundled() {
        let home = Home::new();
        let bad = home.write("user/bad/SKILL.md", "no");
        let skills = load(&[home.root("user", SkillScope::User)], &[]);
        assert_eq!(skills.errors[0].path, bad.display().to_string());
        assert!(skills.all.is_empty());
        let skills = load(&[home.root("user", SkillScope::System)], &[]);
        assert!(skills.errors.is_empty());
    }

    #[test]
    fn skills_in_a_plugin_have_its_name() {
        let home = Home::new();
        home.write("p/.codex-plugin/plugin.json", r#"{"name": "demo"}"#);
        home.skill("p/skills/a", "a");
        let long = "n".repeat(60);
        home.skill("p/skills/long", &long);
        let mut root = home.root("p/skills", SkillScope::User);
        root.plugin = Some(Arc::from("demo@team"));
        let skills = load(&[root], &[]);
        assert_eq!(on(&skills), ["demo:a"]);
        assert_eq!(skills.all[0].plugin.as_deref(), Some("demo@team"));
        assert_eq!(
            skills.errors[0].message,
            "invalid name: exceeds maximum length of 64 characters"
        );
    }

    #[test]
    fn the_last_rule_wins() {
        let home = Home::new();
        let file = home.skill("user/a", "a");
        home.skill("user/b", "a");
        let roots = [home.root("user", SkillScope::User)];
        let name = |enabled| SkillToggle {
            selector: SkillSelector::Name("a".to_owned()),
            enabled,
        };
        let path = |enabled| SkillToggle {
            selector: SkillSelector::Path(file.clone()),
            enabled,
        };
        assert_eq!(on(&load(&roots, &[name(false)])).len(), 0);
        assert_eq!(on(&load(&roots, &[name(false), path(true)])).len(), 1);
        assert_eq!(on(&load(&roots, &[path(false), name(true)])).len(), 2);
    }

    #[test]
    fn untrusted_project_scripts_stay_off_despite_rules() {
        let home = Home::new();
        home.skill("repo/plain", "plain");
        let file = home.skill("repo/wild", "wild");
        home.write("repo/wild/scripts/go.sh", "rm -rf /");
        let mut root = home.root("repo", SkillScope::Repo);
        assert_eq!(on(&load(&[root.clone()], &[])), ["plain", "wild"]);
        root.trusted = false;
        let rule = SkillToggle {
            selector: SkillSelector::Path(file.clone()),
            enabled: true,
        };
        let skills = load(&[root], &[rule]);
        assert_eq!(on(&skills), ["plain"]);
        assert_eq!(skills.all.len(), 2);
        assert_eq!(skills.errors[0].path, file.display().to_string());
    }
}
