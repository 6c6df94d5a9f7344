//! Named permissions: which paths commands may read and write, and whether they have a network.

use std::path::{Path, PathBuf};

use codex_host_policy::{HostList, ListOwner};
use codex_protocol::{SandboxPolicy, normalize_path};
use codex_sandbox::{HostLimit, LimitedCommands};

use crate::config::network::{host_list, limit};
use crate::environment::Environment;
use crate::error::ConfigError;
use crate::schema::{ConfigFile, FileAccessLevel, FileRule, SandboxMode};
use crate::warning::ConfigWarning;

/// Permissions that have a name. For each path the most specific entry applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamedPermissions {
    /// File access. Paths without an entry may not be accessed.
    pub files: Vec<FileEntry>,
    /// Folders that are treated like the workspace.
    pub workspace_roots: Vec<PathBuf>,
    /// Whether commands may use the network.
    pub network: bool,
    /// The settings that limit the network to certain hosts, also those of the permissions that these add to.
    pub network_limits: Vec<HostLimit>,
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
    /// The workspace, or a path below it.
    Workspace(Option<PathBuf>),
}

/// The key that limits how deep patterns of paths are searched for. Patterns are refused.
const GLOB_DEPTH: &str = "glob_scan_max_depth";

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
    /// The settings that limit the network to certain hosts.
    pub host_limits: Vec<String>,
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
            host_limits: (resolved.as_ref().ok())
                .map(|own| own.host_limits(name))
                .unwrap_or_default(),
            sandbox_policy: resolved
                .and_then(|resolved| resolved.as_sandbox_policy(name))
                .map_err(|error| error.to_string()),
        }
    });
    configured.collect()
}

/// The limits of all permissions, for threads that choose them by name.
pub(super) fn limits_of_permissions(file: &ConfigFile, env: &Environment) -> Vec<HostLimit> {
    let all = file.permissions.iter().flatten();
    let limits = all.filter_map(|(name, _)| {
        let resolved = named_permissions(file, name, env, &mut Vec::new()).ok()?;
        let opening = resolved.opening_limit(name);
        Some(resolved.network_limits.into_iter().chain(opening))
    });
    limits.flatten().collect()
}

/// Resolves the named permissions, and those that they add to. If one of them has an unknown key, they grant nothing.
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
        workspace_roots: Vec::new(),
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
    let is_closed = chain.iter().any(|(_, permissions)| permissions.has_unknown);
    for (name, permissions) in chain.into_iter().rev() {
        let mut own = Vec::new();
        for (path, rule) in permissions.filesystem.iter().flatten() {
            add_rule(&mut own, path, rule, env, name, warnings)?;
        }
        base.files
            .retain(|entry| own.iter().all(|one| one.target != entry.target));
        base.files.extend(own);
        for (root, is_one) in permissions.workspace_roots.iter().flatten() {
            base.workspace_roots.retain(|other| other != root);
            if *is_one {
                base.workspace_roots.push(root.clone());
            }
        }
        if let Some(network) = &permissions.network {
            base.network = network.enabled.unwrap_or(base.network);
            // The keys are those of one list. The first one has it, the others are named with it.
            let mut hosts = Some(host_list(network, ListOwner::Permissions));
            for key in network.limiting_keys() {
                let setting = format!("`permissions.{name}.network.{key}`");
                let nothing = HostList::new(ListOwner::Permissions, Vec::new());
                let hosts = hosts.take().unwrap_or(Ok(nothing));
                let limit = limit(setting, LimitedCommands::Confined, hosts);
                base.network_limits.push(limit);
            }
        }
    }
    if is_closed {
        // The limits stay: what is closed is no less limited.
        return Ok(NamedPermissions {
            files: Vec::new(),
            workspace_roots: Vec::new(),
            network: false,
            ..base
        });
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
            entry(FileTarget::Workspace(None), write),
            entry(FileTarget::TmpDir, write),
            entry(FileTarget::Path("/tmp".into()), write),
        ],
        SandboxMode::DangerFullAccess => vec![entry(FileTarget::Root, write)],
    };
    NamedPermissions {
        files,
        workspace_roots: Vec::new(),
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
    if let FileRule::Number(_) = rule {
        return if path == GLOB_DEPTH {
            Ok(())
        } else {
            Err(ConfigError::setting(format!(
                "filesystem path `{path}` takes `read`, `write`, `deny`, or a table of paths with these"
            )))
        };
    }
    let Some(target) = target_of(path, env)? else {
        if denies(rule) {
            return Err(ConfigError::setting(format!(
                "permissions `{name}` deny the unknown special path `{path}`"
            )));
        }
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
        (FileRule::Number(_), _) => {}
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

fn denies(rule: &FileRule) -> bool {
    match rule {
        FileRule::Path(access) => *access == FileAccessLevel::None,
        FileRule::Below(rules) => rules
            .values()
            .any(|access| *access == FileAccessLevel::None),
        FileRule::Number(_) => false,
    }
}

/// Parses a path. `None` for an unknown special path.
fn target_of(path: &str, env: &Environment) -> Result<Option<FileTarget>, ConfigError> {
    Ok(match path {
        ":root" => Some(FileTarget::Root),
        ":minimal" => Some(FileTarget::Minimal),
        ":tmpdir" => Some(FileTarget::TmpDir),
        ":slash_tmp" => Some(FileTarget::Path("/tmp".into())),
        // The second name is the older one.
        ":workspace_roots" | ":project_roots" => Some(FileTarget::Workspace(None)),
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
        FileTarget::Workspace(_) => Ok(FileTarget::Workspace(Some(normalize_path(relative)))),
        FileTarget::Path(folder) => Ok(FileTarget::Path(normalize_path(&folder.join(relative)))),
        _ => Err(ConfigError::setting(format!(
            "filesystem path `{path}` does not support nested entries"
        ))),
    }
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
                entry(FileTarget::Workspace(None), FileAccessLevel::Write),
                entry(
                    FileTarget::Workspace(Some("docs/a".into())),
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
}
