//! The sandbox policy of named permissions.
//!
//! It allows no more than the permissions do. What a policy cannot express is left out if it would allow something, and
//! makes the permissions unusable if it would forbid something.

use std::path::{Path, PathBuf};

use codex_host_policy::{HostList, ListOwner};
use codex_protocol::{AbsolutePathBuf, ReadOnlyAccess, SandboxPolicy};
use codex_sandbox::{HostLimit, LimitedCommands, NetworkLimits};

use crate::config::permissions::{FileEntry, FileTarget, NamedPermissions};
use crate::error::ConfigError;
use crate::schema::FileAccessLevel;

/// The characters of patterns.
const PATTERN: [char; 3] = ['*', '?', '['];

impl NamedPermissions {
    /// The closest sandbox policy that allows no more than these permissions. `name` is theirs.
    pub(super) fn as_sandbox_policy(&self, name: &str) -> Result<SandboxPolicy, ConfigError> {
        let network_access = self.network_access();
        let unlimited = self.files
            == [FileEntry {
                target: FileTarget::Root,
                access: FileAccessLevel::Write,
            }];
        if unlimited && network_access {
            return Ok(SandboxPolicy::DangerFullAccess);
        }
        let access = self.read_access(name)?;
        let workspace = FileTarget::Workspace(None);
        if !self.grants(&workspace, FileAccessLevel::Write) {
            return Ok(SandboxPolicy::ReadOnly {
                access,
                network_access,
            });
        }
        let own = self.entries_with(FileAccessLevel::Write);
        let own = own.filter_map(|target| match target {
            FileTarget::Path(path) if path != Path::new("/tmp") => Some(path),
            _ => None,
        });
        let writable = own.chain(&self.workspace_roots);
        Ok(SandboxPolicy::WorkspaceWrite {
            writable_roots: writable.filter_map(|path| absolute(path)).collect(),
            read_only_access: access,
            network_access,
            exclude_tmpdir_env_var: !self.grants(&FileTarget::TmpDir, FileAccessLevel::Write),
            exclude_slash_tmp: !self
                .grants(&FileTarget::Path("/tmp".into()), FileAccessLevel::Write),
            read_only_paths: self.paths_with(FileAccessLevel::Read, name)?,
        })
    }

    /// Whether commands may use the whole network. One that is limited to hosts is closed in the policy, and opened by the
    /// limits.
    pub(super) fn network_access(&self) -> bool {
        self.network && self.network_limits.is_empty()
    }

    /// Why commands have no network although the permissions have one.
    pub(super) fn network_problem(&self) -> Option<String> {
        let mut limits = NetworkLimits::default();
        for limit in &self.network_limits {
            limits.add(limit.clone());
        }
        let explanation = limits.explanation(LimitedCommands::Confined);
        explanation.filter(|_| self.network)
    }

    /// The settings that limit the network, and the one that opens it for the listed hosts.
    pub(super) fn host_limits(&self, name: &str) -> Vec<String> {
        let limits = self.network_limits.iter().cloned();
        let limits = limits.chain(self.opening_limit(name));
        limits.map(|limit| limit.setting).collect()
    }

    /// What opens the network for the listed hosts; none if the permissions have no network, or no list.
    pub(super) fn opening_limit(&self, name: &str) -> Option<HostLimit> {
        (self.network && !self.network_limits.is_empty()).then(|| HostLimit {
            setting: format!("`permissions.{name}.network.enabled`"),
            commands: LimitedCommands::Confined,
            hosts: Some(HostList::new(ListOwner::Permissions, Vec::new())),
            opens: true,
        })
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

    /// The paths with this access: absolute ones, those below the workspace, and the same ones below each other root.
    fn paths_with(&self, access: FileAccessLevel, name: &str) -> Result<Vec<PathBuf>, ConfigError> {
        let mut paths = Vec::new();
        for target in self.entries_with(access) {
            match target {
                FileTarget::Path(path) => paths.push(plain(path, name)?),
                FileTarget::Workspace(Some(below)) => {
                    let below = plain(below, name)?;
                    paths.extend(self.workspace_roots.iter().map(|root| root.join(&below)));
                    paths.push(below);
                }
                _ => {}
            }
        }
        Ok(paths)
    }

    fn read_access(&self, name: &str) -> Result<ReadOnlyAccess, ConfigError> {
        let denies = |target: &FileTarget| {
            let mut denied = self.entries_with(FileAccessLevel::None);
            denied.any(|other| other == target)
        };
        if denies(&FileTarget::Workspace(None)) {
            return Err(ConfigError::setting(format!(
                "permissions `{name}` deny the workspace, in which commands run"
            )));
        }
        let reads = |target: &FileTarget| {
            self.grants(target, FileAccessLevel::Read)
                || self.grants(target, FileAccessLevel::Write)
        };
        let everything = reads(&FileTarget::Root) && !denies(&FileTarget::TmpDir);
        let denied_paths = self.paths_with(FileAccessLevel::None, name)?;
        if everything && denied_paths.is_empty() && !denies(&FileTarget::Minimal) {
            return Ok(ReadOnlyAccess::FullAccess);
        }
        let mut readable: Vec<PathBuf> = Vec::new();
        if everything && !denies(&FileTarget::Minimal) {
            readable.push(PathBuf::from("/"));
        } else {
            let entries = self.files.iter().filter_map(|entry| match &entry.target {
                FileTarget::Path(path) if entry.access != FileAccessLevel::None => Some(path),
                _ => None,
            });
            readable.extend(entries.cloned());
            if reads(&FileTarget::Workspace(None)) {
                readable.extend(self.workspace_roots.iter().cloned());
            }
        }
        Ok(ReadOnlyAccess::Restricted {
            include_platform_defaults: reads(&FileTarget::Minimal),
            readable_roots: readable.iter().filter_map(|path| absolute(path)).collect(),
            denied_paths,
        })
    }
}

/// A path that is no pattern. A pattern that covers all that is below a path stands for the path.
fn plain(path: &Path, name: &str) -> Result<PathBuf, ConfigError> {
    let text = path.to_string_lossy();
    let whole = text.strip_suffix("/**").unwrap_or(&text);
    if whole.contains(PATTERN) {
        return Err(ConfigError::setting(format!(
            "permissions `{name}` have the pattern `{text}`, which the sandbox cannot enforce; name the paths"
        )));
    }
    Ok(PathBuf::from(whole))
}

/// The form of paths in policies; `None` for a path that is not UTF-8.
pub(super) fn absolute(path: &Path) -> Option<AbsolutePathBuf> {
    path.to_str().map(|path| AbsolutePathBuf(path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::permissions::named_permissions;
    use crate::environment::Environment;
    use crate::schema::ConfigFile;

    fn named(text: &str) -> Result<NamedPermissions, String> {
        let text = format!("[permissions.p]\n{text}");
        let file: ConfigFile = toml::from_str(&text).unwrap();
        let mut env = Environment::with_home("/h/.codex");
        env.user_home = Some("/h".into());
        let permissions = named_permissions(&file, "p", &env, &mut Vec::new());
        permissions.map_err(|error| error.to_string())
    }

    fn unusable(text: &str) -> String {
        let policy = named(text).unwrap().as_sandbox_policy("p");
        policy.unwrap_err().to_string()
    }

    fn policy(text: &str) -> String {
        let policy = named(text).unwrap().as_sandbox_policy("p").unwrap();
        serde_json::to_string(&policy).unwrap()
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
    fn policy_of_a_host_limited_network_is_closed() {
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
            let permissions = named(&text).unwrap();
            let limits = permissions.host_limits("p");
            let is_open = policy(&text).contains("\"network_access\":true");
            assert_eq!(is_open, closed_by.is_none(), "{network}");
            let Some(key) = closed_by else {
                assert!(limits.is_empty(), "{limits:?}");
                continue;
            };
            let setting = format!("`permissions.p.network.{key}`");
            assert!(limits[0].starts_with(&setting), "{limits:?}");
            assert_eq!(limits[1], "`permissions.p.network.enabled`");
            // What limits single requests cannot be enforced, so nothing opens it.
            let unenforceable = ["mode", "mitm"].contains(&key);
            assert_eq!(permissions.network_limits[0].hosts.is_none(), unenforceable);
            if unenforceable {
                let problem = permissions.network_problem().unwrap();
                assert!(problem.contains(&setting), "{problem}");
            }
        }
        let closed = named("network = { domains = { 'a.test' = 'allow' } }").unwrap();
        assert_eq!(closed.network_problem(), None);
        assert_eq!(closed.host_limits("p"), ["`permissions.p.network.domains`"]);
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
            let permissions = named(&text).unwrap();
            assert!(
                permissions.network && !permissions.network_access(),
                "{own}"
            );
            let limits = permissions.host_limits("p");
            let inherited = "`permissions.q.network.domains`".to_owned();
            assert!(limits.contains(&inherited), "{limits:?}");
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
    }

    #[test]
    fn paths_in_the_workspace_are_excepted() {
        let workspace = r#"{"type":"workspace-write","#;
        let flags =
            r#""network_access":false,"exclude_tmpdir_env_var":true,"exclude_slash_tmp":true"#;
        for name in [":workspace_roots", ":project_roots"] {
            let own =
                |rules: &str| format!("filesystem = {{ ':root' = 'read', '{name}' = {rules} }}");
            assert_eq!(policy(&own("'write'")), format!("{workspace}{flags}}}"));
            assert_eq!(
                policy(&own("{ '.' = 'write', 'x/./y' = 'read' }")),
                format!(r#"{workspace}{flags},"read_only_paths":["x/y"]}}"#),
            );
            let access = r#""read_only_access":{"type":"restricted","include_platform_defaults":true,"readable_roots":["/"],"denied_paths":["x"]},"#;
            for deny in ["'x' = 'deny'", "'x' = 'none'", "'x/**' = 'deny'"] {
                assert_eq!(
                    policy(&own(&format!("{{ '.' = 'write', {deny} }}"))),
                    format!("{workspace}{access}{flags}}}"),
                );
            }
            let part = own("{ '.' = 'read', 'x' = 'write' }");
            assert_eq!(policy(&part), r#"{"type":"read-only"}"#);
        }
    }

    #[test]
    fn further_roots_are_treated_like_the_workspace() {
        let text = "extends = 'q'\nworkspace_roots = { '/a' = true, '/b' = false }\n\
                    [permissions.q]\nworkspace_roots = { '/b' = true, '/c' = true }\n\
                    filesystem = { ':minimal' = 'read', ':workspace_roots' = \
                    { '.' = 'write', 'x' = 'read', 'y' = 'deny' } }";
        let flags =
            r#""network_access":false,"exclude_tmpdir_env_var":true,"exclude_slash_tmp":true"#;
        assert_eq!(
            policy(text),
            format!(
                r#"{{"type":"workspace-write","writable_roots":["/c","/a"],"read_only_access":{{"type":"restricted","include_platform_defaults":true,"readable_roots":["/c","/a"],"denied_paths":["/c/y","/a/y","y"]}},{flags},"read_only_paths":["/c/x","/a/x","x"]}}"#
            ),
        );
    }

    #[test]
    fn denied_paths_are_part_of_the_policy() {
        let denied =
            "filesystem = { ':minimal' = 'read', '/a' = 'read', '/b' = 'read', '/b/c' = 'none' }";
        assert_eq!(
            policy(denied),
            r#"{"type":"read-only","access":{"type":"restricted","include_platform_defaults":true,"readable_roots":["/a","/b"],"denied_paths":["/b/c"]}}"#,
        );
        let without_tmp = "filesystem = { ':root' = 'read', ':tmpdir' = 'deny', '/a' = 'read' }";
        assert_eq!(
            policy(without_tmp),
            r#"{"type":"read-only","access":{"type":"restricted","include_platform_defaults":true,"readable_roots":["/a"]}}"#,
        );
    }

    #[test]
    fn unsupported_denials_make_permissions_unusable() {
        let pattern = unusable(
            "filesystem = { ':workspace_roots' = { '.' = 'write', '**/*.env' = 'deny' } }",
        );
        assert!(pattern.contains("the pattern `**/*.env`"), "{pattern}");
        let whole = unusable("filesystem = { ':root' = 'read', ':workspace_roots' = 'deny' }");
        assert!(whole.contains("deny the workspace"), "{whole}");
        let unknown = named("filesystem = { ':later' = 'deny' }").unwrap_err();
        assert!(unknown.contains("`:later`"), "{unknown}");
        let granted = named("filesystem = { ':later' = 'write', glob_scan_max_depth = 3 }");
        assert!(granted.unwrap().files.is_empty());
        assert!(named("filesystem = { other = 3 }").is_err());
    }
}
