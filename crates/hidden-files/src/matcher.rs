//! The patterns of one owner, and what they match.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::built_in;
use crate::pattern::{Pattern, PatternError, PatternPlace};
use crate::real_path::with_real_folders;

/// Who wants files to be hidden.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatternOwner {
    /// The built-in list. It applies to tools, and to commands in a sandbox as far as that can hide files.
    BuiltIn,
    /// The settings of the user or of the machine.
    Settings,
    /// The administrator: nobody allows an exception.
    Administrator,
    /// This file of a project.
    Project(PathBuf),
}

impl PatternOwner {
    /// Whose word counts if several hide the same file.
    pub(crate) fn strictness(&self) -> u8 {
        match self {
            Self::BuiltIn => 0,
            Self::Project(_) => 1,
            Self::Settings => 2,
            Self::Administrator => 3,
        }
    }

    /// The name of the setting or file, for messages.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::BuiltIn => "the built-in list of `secrets`".to_owned(),
            Self::Settings => "`secrets.deny_read`".to_owned(),
            Self::Administrator => "`secrets.deny_read` of the administrator".to_owned(),
            Self::Project(file) => format!("`{}`", file.display()),
        }
    }
}

/// The patterns of one owner.
#[derive(Clone, Debug)]
pub struct PatternList {
    pub(crate) owner: PatternOwner,
    /// The folder of a project's file. The patterns of others are about the whole file system.
    folder: Option<PathBuf>,
    lines: Gitignore,
    /// The text of a project's file.
    source: String,
    /// What cannot be read. Then everything below the folder is hidden.
    pub(crate) mistake: Option<String>,
    pub(crate) places: Vec<PatternPlace>,
}

impl PatternList {
    /// The patterns of settings. `home` is the home folder of the user.
    ///
    /// # Errors
    /// One of them cannot be used.
    pub fn of_settings(
        owner: PatternOwner,
        patterns: &[String],
        home: Option<&Path>,
    ) -> Result<Self, PatternError> {
        let patterns = patterns.iter().map(|text| Pattern::parse(text, home));
        let mut patterns = patterns.collect::<Result<Vec<_>, _>>()?;
        let behind_links = |pattern: &Pattern| {
            let real = pattern.folder().map(with_real_folders)?;
            pattern.behind_links(real)
        };
        let behind_links: Vec<_> = patterns.iter().filter_map(behind_links).collect();
        patterns.extend(behind_links);
        Self::of_patterns(owner, patterns)
    }

    /// The built-in list for a home folder.
    ///
    /// # Errors
    /// The home folder cannot be part of patterns.
    pub fn built_in(home: &Path) -> Result<Arc<Self>, PatternError> {
        built_in::list(home)
    }

    /// Settings that cannot be read: they hide everything.
    pub(crate) fn of_unknown_settings(problem: &str) -> Self {
        Self {
            owner: PatternOwner::Settings,
            folder: None,
            lines: Gitignore::empty(),
            source: String::new(),
            mistake: Some(problem.to_owned()),
            places: Vec::new(),
        }
    }

    pub(crate) fn of_patterns(
        owner: PatternOwner,
        patterns: Vec<Pattern>,
    ) -> Result<Self, PatternError> {
        let mut builder = builder(Path::new("/"));
        for pattern in &patterns {
            let added = builder.add_line(None, &pattern.line);
            added.map_err(|error| syntax(&pattern.line, &error))?;
        }
        let lines = builder.build();
        Ok(Self {
            owner,
            folder: None,
            source: String::new(),
            mistake: None,
            lines: lines.map_err(|error| syntax("", &error))?,
            places: patterns.into_iter().map(|pattern| pattern.place).collect(),
        })
    }

    /// The lines of a project's file, if it could be read.
    pub(crate) fn of_project(file: &Path, text: Result<&str, String>) -> Self {
        let folder = file.parent().unwrap_or(file).to_owned();
        let mut builder = builder(&folder);
        let mut mistake = text.as_ref().err().cloned();
        let text = text.unwrap_or_default();
        for line in text.trim_start_matches('\u{feff}').lines() {
            if let Err(error) = builder.add_line(None, line) {
                mistake.get_or_insert_with(|| format!("`{line}`: {error}"));
            }
        }
        let lines = builder.build().unwrap_or_else(|error| {
            mistake.get_or_insert_with(|| error.to_string());
            Gitignore::empty()
        });
        let has_lines = !lines.is_empty();
        Self {
            owner: PatternOwner::Project(file.to_owned()),
            lines,
            source: text.to_owned(),
            mistake,
            places: has_lines
                .then(|| PatternPlace::Below(folder.clone(), None))
                .into_iter()
                .collect(),
            folder: Some(folder),
        }
    }

    /// Whether another list of the same owner was made of the same lines.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.owner == other.owner && self.source == other.source && self.mistake == other.mistake
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.mistake.is_none()
    }

    /// Whether an entry of a folder that is not hidden itself is hidden.
    pub(crate) fn hides_entry(&self, path: &Path, is_folder: bool) -> bool {
        self.is_about(path)
            && (self.mistake.is_some() || self.lines.matched(path, is_folder).is_ignore())
    }

    /// Whether a path or a folder around it is hidden. What is not known to be a folder counts as a file.
    pub(crate) fn hides(&self, path: &Path, is_folder: bool) -> bool {
        let around: Vec<&Path> = (path.ancestors().skip(1))
            .take_while(|folder| self.is_about(folder))
            .collect();
        let mut folders = around.into_iter().rev();
        folders.any(|folder| self.hides_entry(folder, true)) || self.hides_entry(path, is_folder)
    }

    fn is_about(&self, path: &Path) -> bool {
        match &self.folder {
            Some(folder) => path != folder && path.starts_with(folder),
            None => path.parent().is_some(),
        }
    }
}

fn builder(root: &Path) -> GitignoreBuilder {
    let mut builder = GitignoreBuilder::new(root);
    // The builder always accepts the choice.
    let _ = builder.case_insensitive(codex_system::name::IGNORES_CASE);
    builder
}

fn syntax(pattern: &str, error: &ignore::Error) -> PatternError {
    PatternError::Syntax {
        pattern: pattern.to_owned(),
        problem: error.to_string(),
    }
}
