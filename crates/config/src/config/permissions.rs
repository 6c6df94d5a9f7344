//! Named permissions: which paths commands may read and write.

use std::path::{Path, PathBuf};

use codex_protocol::{AbsolutePathBuf, ReadOnlyAccess, SandboxPolicy, normalize_path};
use codex_sandbox::{HostLimit, LimitedCommands, NetworkLimits, NetworkMode};

use crate::environment::Environment;
use crate::error::ConfigError;
use crate::schema::{ConfigFile, FileAccessLevel, FileRule, SandboxMode};
use crate::warning::ConfigWarning;

/// Permissions that have a name. For each path the most specific entry applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamedPermissions {
    /// File access. Paths without an entry may not be accessed.
    pub files: Vec<FileEntry>,
    /// Whether commands may use the network.
    pub network: bool,
    /// The settings that limit the network to certain hosts, also those of the permissions that these add to.
    pub network_limits: Vec<String>,
}

/// The access to a path and everything below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileEntry {
    pub target: FileTarget,
    pub access: FileAccessLevel,
}

/// A path in named permissions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FileTarget {
    /// An absolute path.
    Path(PathBuf),
    /// The whole file system.
    Root,
    /// The folders that programs need to run.
    Minimal,
    /// The folder for temporary files.
    TmpDir,
    /// The project folder, or a path below it.
    ProjectRoots(Option<PathBuf>),
}

/// The most permissions that build on each other.
const LONGEST_CHAIN: usize = 16;

/// Permissions of the configuration, as clients choose them.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfiguredPermissions {
    /// The name.
    pub id: String,
    pub description: Option<String>,
    /// The name of the permissions that these add to.
    pub extends: Option<String>,
    /// The closest sandbox policy that allows no more, or why they cannot be used.
    pub sandbox_policy: Result<SandboxPolicy, String>,
    /// Why that policy has no network although the permissions have one.
    pub network_problem: Option<String>,
}

/// All permissions of the configuration.
pub(super) fn configured_permissions(
    file: &ConfigFile,
    env: &Environment,
) -> Vec<ConfiguredPermissions> {
    let all = file.permissions.iter().flatten();
    let configured = all.map(|(name, own)| {
        let resolved = named_permissions(file, name, env, &mut Vec::new());
        ConfiguredPermissions {
            id: name.clone(),
            description: own.description.clone(),
            extends: own.extends.clone(),
            network_problem: resolved.as_ref().ok().and_then(|own| own.network_problem()),
            sandbox_policy: match resolved {
                Ok(resolved) => Ok(resolved.as_sandbox_policy()),
                Err(error) => Err(error.to_string()),
            },
        }
    });
    configured.collect()
}

/// Resolves the named permissions, and those that they add to.
pub(super) fn named_permissions(
    file: &ConfigFile,
    name: &str,
    env: &Environment,
    warnings: &mut Vec<ConfigWarning>,
) -> Result<NamedPermissions, ConfigError> {
    let all = file.permissions.as_ref().ok_or_else(|| {
        ConfigError::setting("default_permissions requires a `[permissions]` table")
    })?;
    let mut chain = Vec::new();
    let mut base = NamedPermissions {
        files: Vec::new(),
        network: false,
        network_limits: Vec::new(),
    };
    let mut next = Some(name);
    while let Some(name) = next {
        if let Some(mode) = SandboxMode::of_permissions(name) {
            base = built_in(mode);
            break;
        }
        let permissions = all.get(name).ok_or_else(|| {
            ConfigError::setting(format!(
                "default_permissions refers to undefined profile `{name}`"
            ))
        })?;
        if chain.len() == LONGEST_CHAIN {
            let message = format!("the permissions `{name}` extend too many others, or themselves");
            return Err(ConfigError::setting(message));
        }
        chain.push((name, permissions));
        next = permissions.extends.as_deref();
    }
    for (name, permissions) in chain.into_iter().rev() {
        let mut own = Vec::new();
        for (path, rule) in permissions.filesystem.iter().flatten() {
            add_rule(&mut own, path, rule, env, name, warnings)?;
        }
        base.files
            .retain(|entry| own.iter().all(|one| one.target != entry.target));
        base.files.extend(own);
        if let Some(network) = &permissions.network {
            base.network = network.enabled.unwrap_or(base.network);
            let limits = network.limiting_keys().into_iter();
            let limits = limits.map(|key| format!("`permissions.{name}.network.{key}`"));
            base.network_limits.extend(limits);
        }
    }
    if base.files.is_empty() {
        warnings.push(ConfigWarning::new(format!(
            "Permissions `{name}` have no `filesystem` entries, so they grant no access to files."
        )));
    }
    Ok(base)
}

/// What built-in permissions grant.
fn built_in(mode: SandboxMode) -> NamedPermissions {
    let entry = |target, access| FileEntry { target, access };
    let (read, write) = (FileAccessLevel::Read, FileAccessLevel::Write);
    let files = match mode {
        SandboxMode::ReadOnly => vec![entry(FileTarget::Root, read)],
        SandboxMode::WorkspaceWrite => vec![
            entry(FileTarget::Root, read),
            entry(FileTarget::ProjectRoots(None), write),
            entry(FileTarget::TmpDir, write),
            entry(FileTarget::Path("/tmp".into()), write),
        ],
        SandboxMode::DangerFullAccess => vec![entry(FileTarget::Root, write)],
    };
    NamedPermissions {
        files,
        network: mode == SandboxMode::DangerFullAccess,
        network_limits: Vec::new(),
    }
}

fn add_rule(
    files: &mut Vec<FileEntry>,
    path: &str,
    rule: &FileRule,
    env: &Environment,
    name: &str,
    warnings: &mut Vec<ConfigWarning>,
) -> Result<(), ConfigError> {
    let Some(target) = target_of(path, env)? else {
        warnings.push(ConfigWarning::new(format!(
            "Permissions `{name}` name the unknown special path `{path}`; it grants nothing."
        )));
        return Ok(());
    };
    match (rule, target) {
        (FileRule::Path(access), target) => files.push(FileEntry {
            target,
            access: *access,
        }),
        (FileRule::Below(rules), target) => {
            for (below, access) in rules {
                let target = below_target(&target, path, below)?;
                files.push(FileEntry {
                    target,
                    access: *access,
                });
            }
        }
    }
    Ok(())
}

/// Parses a path. `None` for an unknown special path.
fn target_of(path: &str, env: &Environment) -> Result<Option<FileTarget>, ConfigError> {
    Ok(match path {
        ":root" => Some(FileTarget::Root),
        ":minimal" => Some(FileTarget::Minimal),
        ":tmpdir" => Some(FileTarget::TmpDir),
        ":project_roots" => Some(FileTarget::ProjectRoots(None)),
        special if special.starts_with(':') => None,
        path if Path::new(path).is_absolute() || path.starts_with("~/") || path == "~" => Some(
            FileTarget::Path(env.path_base(Path::new("/")).absolute(path)),
        ),
        path => {
            return Err(ConfigError::setting(format!(
                "filesystem path `{path}` must be absolute, use `~/...`, or start with `:`"
            )));
        }
    })
}

fn below_target(target: &FileTarget, path: &str, below: &str) -> Result<FileTarget, ConfigError> {
    if below == "." {
        return Ok(target.clone());
    }
    let relative = Path::new(below);
    let inside = relative.is_relative() && !normalize_path(relative).starts_with("..");
    match target {
        _ if !inside => Err(ConfigError::setting(format!(
            "filesystem path `{below}` below `{path}` must be relative and stay below it"
        ))),
        FileTarget::ProjectRoots(_) => Ok(FileTarget::ProjectRoots(Some(normalize_path(relative)))),
        FileTarget::Path(folder) => Ok(FileTarget::Path(normalize_path(&folder.join(relative)))),
        _ => Err(ConfigError::setting(format!(
            "filesystem path `{path}` does not support nested entries"
        ))),
    }
}

impl NamedPermissions {
    /// Whether commands may use the network. One that is limited to hosts is closed.
    fn network_access(&self) -> bool {
        let wanted = if self.network {
            NetworkMode::Enabled
        } else {
            NetworkMode::Restricted
        };
        self.limits().network(wanted, LimitedCommands::Confined) == NetworkMode::Enabled
    }

    fn limits(&self) -> NetworkLimits {
        let mut limits = NetworkLimits::default();
        for setting in &self.network_limits {
            limits.add(HostLimit {
                setting: setting.clone(),
                commands: LimitedCommands::Confined,
            });
        }
        limits
    }

    /// Why commands have no network although the permissions have one.
    pub(super) fn network_problem(&self) -> Option<String> {
        let limits = self.limits();
        let explanation = limits.explanation(LimitedCommands::Confined);
        explanation.filter(|_| self.network)
    }

    /// The closest sandbox policy that allows no more than these permissions.
    pub(super) fn as_sandbox_policy(&self) -> SandboxPolicy {
        let network_access = self.network_access();
        let unlimited = self.files
            == [FileEntry {
                target: FileTarget::Root,
                access: FileAccessLevel::Write,
            }];
        if unlimited && network_access {
            return SandboxPolicy::DangerFullAccess;
        }
        let access = self.read_access();
        if !self.grants(&FileTarget::ProjectRoots(None), FileAccessLevel::Write)
            || !self.workspace_is_whole()
        {
            return SandboxPolicy::ReadOnly {
                access,
                network_access,
            };
        }
        let writable =
            self.entries_with(FileAccessLevel::Write)
                .filter_map(|target| match target {
                    FileTarget::Path(path)
                        if path != Path::new("/tmp")
                            && self.is_whole(path, FileAccessLevel::Write) =>
                    {
                        absolute(path)
                    }
                    _ => None,
                });
        SandboxPolicy::WorkspaceWrite {
            writable_roots: writable.collect(),
            read_only_access: access,
            network_access,
            exclude_tmpdir_env_var: !self.grants(&FileTarget::TmpDir, FileAccessLevel::Write),
            exclude_slash_tmp: !self
                .grants(&FileTarget::Path("/tmp".into()), FileAccessLevel::Write),
        }
    }

    fn entries_with(&self, access: FileAccessLevel) -> impl Iterator<Item = &FileTarget> {
        let entries = self
            .files
            .iter()
            .filter(move |entry| entry.access == access);
        entries.map(|entry| &entry.target)
    }

    /// Whether a target is granted by its own entry or by the entry for the root.
    fn grants(&self, target: &FileTarget, access: FileAccessLevel) -> bool {
        let own = self.files.iter().find(|entry| entry.target == *target);
        let everything = || {
            self.files
                .iter()
                .find(|entry| entry.target == FileTarget::Root)
        };
        own.or_else(everything)
            .is_some_and(|entry| entry.access == access)
    }

    /// Whether the whole workspace is writable.
    fn workspace_is_whole(&self) -> bool {
        self.files.iter().all(|entry| match &entry.target {
            FileTarget::ProjectRoots(_) => entry.access == FileAccessLevel::Write,
            // The location of the workspace is not known here.
            FileTarget::Path(_) => entry.access != FileAccessLevel::None,
            _ => true,
        })
    }

    /// Whether every path below `folder` has at least this access.
    fn is_whole(&self, folder: &Path, access: FileAccessLevel) -> bool {
        self.files.iter().all(|entry| match &entry.target {
            FileTarget::Path(path) if path.starts_with(folder) => {
                entry.access == access || entry.access == FileAccessLevel::Write
            }
            _ => true,
        })
    }

    fn read_access(&self) -> ReadOnlyAccess {
        let nothing_denied = self
            .files
            .iter()
            .all(|entry| entry.access != FileAccessLevel::None);
        let root = &FileTarget::Root;
        let everything =
            self.grants(root, FileAccessLevel::Read) || self.grants(root, FileAccessLevel::Write);
        if everything && nothing_denied {
            return ReadOnlyAccess::FullAccess;
        }
        let minimal = FileTarget::Minimal;
        let roots = self.files.iter().filter_map(|entry| match &entry.target {
            FileTarget::Path(path)
                if entry.access != FileAccessLevel::None
                    && self.is_whole(path, FileAccessLevel::Read) =>
            {
                absolute(path)
            }
            _ => None,
        });
        ReadOnlyAccess::Restricted {
            include_platform_defaults: self.grants(&minimal, FileAccessLevel::Read)
                || self.grants(&minimal, FileAccessLevel::Write),
            readable_roots: roots.collect(),
        }
    }
}

/// The form of paths in policies; `None` for a path that is not UTF-8.
pub(super) fn absolute(path: &Path) -> Option<AbsolutePathBuf> {
    path.to_str().map(|path| AbsolutePathBuf(path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> Result<(NamedPermissions, usize), String> {
        let text = format!("[permissions.p]\n{text}");
        let file: ConfigFile = toml::from_str(&text).unwrap();
        let mut env = Environment::with_home("/h/.codex");
        env.user_home = Some("/h".into());
        let mut warnings = Vec::new();
        let permissions = named_permissions(&file, "p", &env, &mut warnings);
        permissions
            .map(|permissions| (permissions, warnings.len()))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn paths_are_resolved() {
        let (permissions, warnings) = named(
            "filesystem = { '/x' = 'read', '~/y' = 'write', ':unknown' = 'write', ':tmpdir' = 'none', \
             ':project_roots' = { '.' = 'write', 'docs/./a' = 'read' } }",
        )
        .unwrap();
        let entry = |target, access| FileEntry { target, access };
        assert_eq!(
            permissions.files,
            [
                entry(FileTarget::Path("/x".into()), FileAccessLevel::Read),
                entry(FileTarget::ProjectRoots(None), FileAccessLevel::Write),
                entry(
                    FileTarget::ProjectRoots(Some("docs/a".into())),
                    FileAccessLevel::Read
                ),
                entry(FileTarget::TmpDir, FileAccessLevel::None),
                entry(FileTarget::Path("/h/y".into()), FileAccessLevel::Write),
            ],
        );
        assert_eq!(warnings, 1);
        assert_eq!(named("").unwrap().1, 1);
    }

    #[test]
    fn bad_paths_are_errors() {
        let table = [
            (
                "filesystem = { 'x' = 'read' }",
                "filesystem path `x` must be absolute, use `~/...`, or start with `:`",
            ),
            (
                "filesystem = { ':root' = { 'a' = 'read' } }",
                "filesystem path `:root` does not support nested entries",
            ),
            (
                "filesystem = { ':project_roots' = { '../a' = 'read' } }",
                "filesystem path `../a` below `:project_roots` must be relative and stay below it",
            ),
        ];
        for (text, expected) in table {
            assert_eq!(named(text).unwrap_err(), expected);
        }
    }

    fn policy(text: &str) -> String {
        let (permissions, _) = named(text).unwrap();
        serde_json::to_string(&permissions.as_sandbox_policy()).unwrap()
    }

    #[test]
    fn permissions_add_to_others() {
        let text = "extends = ':workspace'\nfilesystem = { '/opt' = 'write', ':tmpdir' = 'read' }";
        assert_eq!(
            policy(text),
            r#"{"type":"workspace-write","writable_roots":["/opt"],"network_access":false,"exclude_tmpdir_env_var":true,"exclude_slash_tmp":false}"#,
        );
        let online = "extends = ':read-only'\nnetwork = { enabled = true }";
        assert_eq!(
            policy(online),
            r#"{"type":"read-only","network_access":true}"#
        );
        let problem = named("extends = 'p'").unwrap_err();
        assert!(problem.contains("extend too many others"), "{problem}");
        assert!(
            named("extends = 'q'")
                .unwrap_err()
                .contains("undefined profile `q`")
        );
    }

    #[test]
    fn a_network_that_is_limited_to_hosts_is_closed() {
        for (network, closed_by) in [
            ("enabled = true", None),
            (
                "enabled = true, domains = { 'a.test' = 'allow' }",
                Some("domains"),
            ),
            (
                "enabled = true, domains = { '*' = 'allow' }",
                Some("domains"),
            ),
            ("enabled = true, domains = {}", Some("domains")),
            (
                "enabled = true, domains = { 'a.test' = 'deny' }",
                Some("domains"),
            ),
            (
                "enabled = true, allowed_domains = []",
                Some("allowed_domains"),
            ),
            (
                "enabled = true, denied_domains = ['a']",
                Some("denied_domains"),
            ),
            ("enabled = true, mode = 'limited'", Some("mode")),
            ("enabled = true, mode = 'full'", None),
            ("enabled = true, mitm = { hooks = [] }", Some("mitm")),
        ] {
            let text = format!("extends = ':read-only'\nnetwork = {{ {network} }}");
            let (permissions, _) = named(&text).unwrap();
            let problem = permissions.network_problem();
            let is_open = policy(&text).contains("\"network_access\":true");
            assert_eq!(is_open, closed_by.is_none(), "{network}");
            let setting = closed_by.map(|key| format!("`permissions.p.network.{key}`"));
            let named = setting.map(|setting| problem.as_deref().unwrap().contains(&setting));
            assert_eq!(named, closed_by.map(|_| true), "{network}: {problem:?}");
        }
        let closed = named("network = { domains = { 'a.test' = 'allow' } }").unwrap();
        assert_eq!(closed.0.network_problem(), None);
    }

    #[test]
    fn limits_of_a_network_are_inherited() {
        let parent = "[permissions.q]\nextends = ':workspace'\n\
                      network = { enabled = true, domains = { 'a.test' = 'allow' } }\n";
        for own in [
            "",
            "network = { enabled = true }",
            "network = { domains = {} }",
        ] {
            let text = format!("extends = 'q'\n{own}\n{parent}");
            let (permissions, _) = named(&text).unwrap();
            assert!(
                permissions.network && !permissions.network_access(),
                "{own}"
            );
            let problem = permissions.network_problem().unwrap();
            assert!(
                problem.contains("`permissions.q.network.domains`"),
                "{problem}"
            );
        }
    }

    #[test]
    fn the_policy_allows_no_more() {
        let everything = "filesystem = { ':root' = 'write' }\nnetwork = { enabled = true }";
        assert_eq!(policy(everything), r#"{"type":"danger-full-access"}"#);
        let read = "filesystem = { ':root' = 'read' }";
        assert_eq!(policy(read), r#"{"type":"read-only"}"#);
        let usual = "filesystem = { ':root' = 'read', ':project_roots' = 'write', '/w' = 'write', \
                     ':tmpdir' = 'write' }";
        assert_eq!(
            policy(usual),
            r#"{"type":"workspace-write","writable_roots":["/w"],"network_access":false,"exclude_tmpdir_env_var":false,"exclude_slash_tmp":true}"#,
        );
        let hole =
            "filesystem = { ':root' = 'read', ':project_roots' = { '.' = 'write', 'x' = 'read' } }";
        assert_eq!(policy(hole), r#"{"type":"read-only"}"#);
        let denied =
            "filesystem = { ':minimal' = 'read', '/a' = 'read', '/b' = 'read', '/b/c' = 'none' }";
        assert_eq!(
            policy(denied),
            r#"{"type":"read-only","access":{"type":"restricted","include_platform_defaults":true,"readable_roots":["/a"]}}"#,
        );
    }
}
