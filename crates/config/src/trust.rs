//! Decides whether a project is trusted: `[projects."<path>"] trust_level`.
//!
//! Only the user, machine-wide settings and flags decide, never the project itself. Paths are compared after resolving
//! links, so links and trailing slashes do not matter.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use codex_protocol::normalize_path;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use crate::key_path::KeyPath;
use crate::project::ProjectFolders;

/// The user's decision about a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TrustLevel {
    /// The project's settings, rules, hooks and roles take effect.
    Trusted,
    /// They are ignored.
    Untrusted,
}

impl TrustLevel {
    /// The value in settings files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Trusted => "trusted",
            Self::Untrusted => "untrusted",
        }
    }

    fn parse(value: &Value) -> Option<Self> {
        let all = [Self::Trusted, Self::Untrusted];
        all.into_iter()
            .find(|level| value.as_str() == Some(level.as_str()))
    }
}

/// The key path of the decision about a project.
pub fn trust_key_path(folder: &Path) -> Option<KeyPath> {
    KeyPath::from_segments(["projects", folder.to_str()?, "trust_level"])
}

/// All trust decisions.
#[derive(Clone, Debug, Default)]
pub(crate) struct TrustRules {
    entries: Vec<TrustRule>,
}

#[derive(Clone, Debug)]
struct TrustRule {
    path: PathBuf,
    /// The resolved path, determined on first use; `None` if the path does not exist.
    real: OnceCell<Option<PathBuf>>,
    level: TrustLevel,
}

impl TrustRule {
    fn leads_to(&self, folder: &Path) -> bool {
        let real = self
            .real
            .get_or_init(|| codex_mounts::canonicalize(&self.path).ok());
        self.path == folder || real.as_deref() == Some(folder)
    }
}

/// A decision, and the folder it was made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TrustDecision {
    pub(crate) folder: PathBuf,
    pub(crate) level: TrustLevel,
}

impl TrustRules {
    /// Reads the decisions from a table. Values of a wrong type are skipped here; decoding reports them.
    pub(crate) fn from_table(table: &Table) -> Self {
        let projects = table.get("projects").and_then(Value::as_table);
        let entries = projects
            .into_iter()
            .flatten()
            .filter_map(|(path, project)| {
                let level = TrustLevel::parse(project.get("trust_level")?)?;
                Some(TrustRule {
                    path: normalize_path(Path::new(path)),
                    real: OnceCell::new(),
                    level,
                })
            });
        Self {
            entries: entries.collect(),
        }
    }

    /// The trusted folders and the worktrees of their repositories, with links resolved.
    pub(crate) fn trusted_folders(&self) -> Vec<PathBuf> {
        let trusted = self
            .entries
            .iter()
            .filter(|rule| rule.level == TrustLevel::Trusted);
        let folders = trusted.filter_map(|rule| codex_mounts::canonicalize(&rule.path).ok());
        folders
            .flat_map(|folder| {
                let worktrees = ProjectFolders::worktrees(&folder);
                std::iter::once(folder).chain(worktrees)
            })
            .collect()
    }

    /// The decision about a folder of a project: for the folder itself, else for the project root, else for the
    /// repository. Distrust also applies to everything below: otherwise a command could create a repository there, which
    /// would be the root of a project without a decision.
    pub(crate) fn decide(&self, folder: &Path, project: &ProjectFolders) -> Option<TrustDecision> {
        if self.entries.is_empty() {
            return None;
        }
        let candidates = [
            Some(folder),
            Some(&project.root),
            project.repository.as_deref(),
        ];
        let candidates = candidates.into_iter().flatten();
        let decision = |candidate: &Path| {
            let level = self.level_of(candidate)?;
            Some(TrustDecision {
                folder: candidate.to_path_buf(),
                level,
            })
        };
        candidates
            .into_iter()
            .find_map(decision)
            .or_else(|| self.distrust_around(folder))
    }

    fn distrust_around(&self, folder: &Path) -> Option<TrustDecision> {
        if !(self.entries.iter()).any(|rule| rule.level == TrustLevel::Untrusted) {
            return None;
        }
        let around = folder
            .ancestors()
            .find(|around| self.level_of(around) == Some(TrustLevel::Untrusted))?;
        Some(TrustDecision {
            folder: around.to_path_buf(),
            level: TrustLevel::Untrusted,
        })
    }

    fn level_of(&self, folder: &Path) -> Option<TrustLevel> {
        let plain = normalize_path(folder);
        if let Some(rule) = self.entries.iter().find(|rule| rule.path == plain) {
            return Some(rule.level);
        }
        let real = codex_mounts::canonicalize(folder).ok()?;
        // Contradicting entries for the same folder count as untrusted.
        let levels = self.entries.iter().filter(|rule| rule.leads_to(&real));
        levels
            .map(|rule| rule.level)
            .max_by_key(|level| *level == TrustLevel::Untrusted)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn rules(entries: &[(&Path, &str)]) -> TrustRules {
        let mut table = Table::new();
        for (path, level) in entries {
            let path = KeyPath::from_segments(["projects", path.to_str().unwrap(), "trust_level"]);
            crate::value::set(
                &mut table,
                path.unwrap().segments(),
                Value::String((*level).to_owned()),
            );
        }
        TrustRules::from_table(&table)
    }

    #[test]
    fn the_nearest_decision_counts() {
        let project = ProjectFolders {
            cwd: PathBuf::from("/r/a/b"),
            root: PathBuf::from("/r/a"),
            repository: Some(PathBuf::from("/r")),
        };
        let folder = Path::new("/r/a/b");
        let decide = |entries: &[(&Path, &str)]| {
            rules(entries)
                .decide(folder, &project)
                .map(|decision| (decision.folder, decision.level))
        };
        let (b, a, r) = (Path::new("/r/a/b/"), Path::new("/r/./a"), Path::new("/r"));
        let untrusted = |path: &str| Some((PathBuf::from(path), TrustLevel::Untrusted));
        let trusted = |path: &str| Some((PathBuf::from(path), TrustLevel::Trusted));
        assert_eq!(decide(&[]), None);
        assert_eq!(decide(&[(r, "trusted")]), trusted("/r"));
        assert_eq!(
            decide(&[(r, "trusted"), (a, "untrusted")]),
            untrusted("/r/a")
        );
        assert_eq!(
            decide(&[(a, "untrusted"), (b, "trusted")]),
            trusted("/r/a/b")
        );
        assert_eq!(decide(&[(Path::new("/r/x"), "trusted")]), None);
        assert_eq!(decide(&[(r, "maybe")]), None);
        let around = Path::new("/");
        assert_eq!(decide(&[(around, "trusted")]), None);
        assert_eq!(decide(&[(around, "untrusted")]), untrusted("/"));
        let nearer = decide(&[(around, "untrusted"), (r, "trusted")]);
        assert_eq!(nearer, trusted("/r"));
    }

    #[cfg(unix)]
    #[test]
    fn links_lead_to_the_same_decision() {
        let top = tempfile::tempdir().unwrap();
        let real = top.path().join("real");
        let link = top.path().join("link");
        fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        for (written, asked) in [(&real, &link), (&link, &real)] {
            let project = ProjectFolders::discover(asked, &[]);
            let decision = rules(&[(written, "trusted")]).decide(asked, &project);
            assert_eq!(decision.unwrap().level, TrustLevel::Trusted);
        }
    }
}
