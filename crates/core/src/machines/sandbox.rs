//! A sandbox policy by its meaning, for the machine that enforces it.
//!
//! Folders of this machine mean nothing there: what a policy allows of them is not passed on. What it forbids is.

use std::path::{Component, Path};

use codex_environments::RemotePath;
use codex_environments::wire::{
    AccessEntry, AccessMode, FileSystemAccess, MissingPath, Permissions, PlaceKind, Sandbox,
    SandboxNetwork, SandboxPlace, SpecialPlace, WindowsLevel, WindowsProxySettings,
};
use codex_protocol::{ReadOnlyAccess, SandboxPolicy};

use super::place::RemotePlace;

/// What is kept read-only in each folder of the work.
const PROTECTED: [&str; 4] = [".git", ".agents", ".codex", ".aws"];

/// Whether a policy relies on a sandbox around this program, which does not reach other machines.
pub(crate) fn has_outer_sandbox(policy: &SandboxPolicy) -> bool {
    matches!(policy, SandboxPolicy::ExternalSandbox { .. })
}

/// The sandbox of a policy, with more folders that may be written. None if the policy confines nothing. `cwd` is the working folder
/// of the thread on this machine: what the policy says about it is about the folder there.
pub(crate) fn sandbox_of(
    policy: &SandboxPolicy,
    has_network: bool,
    place: &RemotePlace,
    cwd: &Path,
    also_writable: &[RemotePath],
) -> Option<Sandbox<RemotePath>> {
    let mut entries = Vec::new();
    match policy {
        SandboxPolicy::DangerFullAccess | SandboxPolicy::ExternalSandbox { .. } => return None,
        SandboxPolicy::ReadOnly { access, .. } => add_reading(&mut entries, access, cwd),
        SandboxPolicy::WorkspaceWrite {
            writable_roots: _,
            read_only_access,
            network_access: _,
            exclude_tmpdir_env_var,
            exclude_slash_tmp,
            read_only_paths,
        } => {
            add_reading(&mut entries, read_only_access, cwd);
            entries.push(special(PlaceKind::ProjectRoots, None, AccessMode::Write));
            if !exclude_slash_tmp {
                entries.push(special(PlaceKind::SlashTmp, None, AccessMode::Write));
            }
            if !exclude_tmpdir_env_var {
                entries.push(special(PlaceKind::Tmpdir, None, AccessMode::Write));
            }
            for path in read_only_paths {
                entries.extend(limit(path, cwd, AccessMode::Read));
            }
        }
    }
    for path in also_writable {
        entries.push(AccessEntry {
            path: SandboxPlace::Path { path: path.clone() },
            access: AccessMode::Write,
            missing_path_behavior: None,
        });
    }
    let is_writable = entries
        .iter()
        .any(|entry| entry.access == AccessMode::Write);
    if is_writable {
        for name in PROTECTED {
            let subpath = Some(name.to_owned());
            entries.push(AccessEntry {
                missing_path_behavior: Some(MissingPath::Skip),
                ..special(PlaceKind::ProjectRoots, subpath, AccessMode::Read)
            });
        }
    }
    Some(Sandbox {
        permissions: Permissions::Managed {
            file_system: FileSystemAccess::Restricted { entries },
            network: if has_network {
                SandboxNetwork::Enabled
            } else {
                SandboxNetwork::Restricted
            },
        },
        cwd: Some(place.cwd.clone()),
        workspace_roots: place.roots.clone(),
        windows_level: WindowsLevel::Disabled,
        windows_proxy_settings: WindowsProxySettings::Reconcile,
        use_legacy_landlock: false,
    })
}

fn special(
    kind: PlaceKind,
    subpath: Option<String>,
    access: AccessMode,
) -> AccessEntry<RemotePath> {
    AccessEntry {
        path: SandboxPlace::Special {
            value: SpecialPlace { kind, subpath },
        },
        access,
        missing_path_behavior: None,
    }
}

fn add_reading(entries: &mut Vec<AccessEntry<RemotePath>>, access: &ReadOnlyAccess, cwd: &Path) {
    match access {
        ReadOnlyAccess::FullAccess => {
            entries.push(special(PlaceKind::Root, None, AccessMode::Read));
        }
        ReadOnlyAccess::Restricted {
            include_platform_defaults,
            readable_roots,
            denied_paths,
        } => {
            if *include_platform_defaults {
                entries.push(special(PlaceKind::Minimal, None, AccessMode::Read));
            }
            for root in readable_roots {
                let root = Path::new(&root.0);
                if root.parent().is_none() {
                    entries.push(special(PlaceKind::Root, None, AccessMode::Read));
                } else if cwd.starts_with(root) {
                    entries.push(special(PlaceKind::ProjectRoots, None, AccessMode::Read));
                }
            }
            for path in denied_paths {
                entries.extend(limit(path, cwd, AccessMode::Deny));
            }
        }
    }
}

/// A limit about a path: below the working folder it is about that of the other machine, elsewhere about the same path.
fn limit(path: &Path, cwd: &Path, access: AccessMode) -> Option<AccessEntry<RemotePath>> {
    let below = if path.is_absolute() {
        path.strip_prefix(cwd).ok()
    } else {
        Some(path)
    };
    let mut entry = match below {
        Some(below) => {
            let parts = below.components().map(|part| match part {
                Component::Normal(name) => name.to_str(),
                _ => None,
            });
            let parts: Vec<&str> = parts.collect::<Option<_>>()?;
            let subpath = (!parts.is_empty()).then(|| parts.join("/"));
            special(PlaceKind::ProjectRoots, subpath, access)
        }
        None => AccessEntry {
            path: SandboxPlace::Path {
                path: RemotePath::new(path.to_str()?)?,
            },
            access,
            missing_path_behavior: None,
        },
    };
    entry.missing_path_behavior = Some(MissingPath::Skip);
    Some(entry)
}

/// Whether a policy lets a real path be written without asking. `roots` are the real paths of the folders of the work.
pub(crate) fn may_write(
    policy: &SandboxPolicy,
    path: &RemotePath,
    roots: &[RemotePath],
    cwd: &Path,
) -> bool {
    let SandboxPolicy::WorkspaceWrite {
        exclude_slash_tmp,
        read_only_access,
        read_only_paths,
        ..
    } = policy
    else {
        return *policy == SandboxPolicy::DangerFullAccess;
    };
    let mut parts = path.as_str().split('/').skip(1);
    if parts.any(|part| matches!(part, "" | "." | "..")) {
        return false;
    }
    let denied: &[_] = match read_only_access {
        ReadOnlyAccess::Restricted { denied_paths, .. } => denied_paths,
        ReadOnlyAccess::FullAccess => &[],
    };
    let limits: Vec<_> = (read_only_paths.iter().chain(denied))
        .map(|path| limit(path, cwd, AccessMode::Read))
        .collect();
    // What cannot be passed on cannot be judged either.
    if limits.iter().any(Option::is_none) {
        return false;
    }
    let is_limited = limits.iter().flatten().any(|entry| match &entry.path {
        SandboxPlace::Path { path: limit } => below(path, limit.as_str()).is_some(),
        SandboxPlace::Special { value } => {
            let subpath = value.subpath.as_deref().unwrap_or_default();
            roots.iter().any(|root| {
                let limit = root.join(subpath);
                below(path, limit.as_str()).is_some()
            })
        }
    });
    if is_limited {
        return false;
    }
    let in_root = roots.iter().any(|root| match below(path, root.as_str()) {
        Some(rest) => {
            let first = rest.split('/').next().unwrap_or_default();
            !PROTECTED.contains(&first)
        }
        None => false,
    });
    let is_protected = roots.iter().any(|root| {
        below(path, root.as_str())
            .is_some_and(|rest| PROTECTED.contains(&rest.split('/').next().unwrap_or_default()))
    });
    !is_protected && (in_root || !exclude_slash_tmp && below(path, "/tmp").is_some())
}

/// The part of a path below a folder; empty for the folder itself.
fn below<'a>(path: &'a RemotePath, folder: &str) -> Option<&'a str> {
    let rest = path.as_str().strip_prefix(folder.trim_end_matches('/'))?;
    match rest.strip_prefix('/') {
        Some(rest) => Some(rest),
        None => rest.is_empty().then_some(""),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn workspace(read_only: &[&str]) -> SandboxPolicy {
        SandboxPolicy::WorkspaceWrite {
            writable_roots: vec![codex_protocol::AbsolutePathBuf("/cache".to_owned())],
            read_only_access: ReadOnlyAccess::FullAccess,
            network_access: false,
            exclude_tmpdir_env_var: true,
            exclude_slash_tmp: true,
            read_only_paths: read_only.iter().map(Into::into).collect(),
        }
    }

    fn path(text: &str) -> RemotePath {
        RemotePath::new(text).unwrap()
    }

    #[test]
    fn only_the_folders_of_the_work_may_be_written() {
        let roots = [path("/there"), path("/also")];
        let may = |policy: &SandboxPolicy, text: &str| {
            may_write(policy, &path(text), &roots, Path::new("/here"))
        };
        let policy = workspace(&["/here/kept", "fixed", "/there/x"]);
        for allowed in ["/there/a", "/also/b/c", "/there/a.git"] {
            assert!(may(&policy, allowed), "{allowed}");
        }
        for refused in [
            "/therefore",
            "/here/a",
            "/cache/a",
            "/tmp/a",
            "/there/.git/config",
            "/there/.codex",
            "/there/kept/a",
            "/also/fixed",
            "/there/x/y",
            "/there/../etc/a",
            "/there//a",
            "/",
        ] {
            assert!(!may(&policy, refused), "{refused}");
        }
        let read_only = SandboxPolicy::ReadOnly {
            access: ReadOnlyAccess::FullAccess,
            network_access: true,
        };
        assert!(!may(&read_only, "/there/a"));
        assert!(may(&SandboxPolicy::DangerFullAccess, "/etc/a"));
        // A sandbox around this program is none there.
        let outer = SandboxPolicy::ExternalSandbox {
            network_access: codex_protocol::NetworkAccess::Enabled,
        };
        assert!(!may(&outer, "/there/a"));
    }

    #[test]
    fn limits_are_passed_on_and_folders_of_this_machine_are_not() {
        let mut entries = Vec::new();
        let access = ReadOnlyAccess::Restricted {
            include_platform_defaults: true,
            readable_roots: vec![
                codex_protocol::AbsolutePathBuf("/here".to_owned()),
                codex_protocol::AbsolutePathBuf("/other".to_owned()),
            ],
            denied_paths: vec!["/here/secret".into(), "/etc/shadow".into()],
        };
        add_reading(&mut entries, &access, Path::new("/here"));
        let text = serde_json::to_string(&entries).unwrap();
        assert!(
            !text.contains("/other") && !text.contains("/here"),
            "{text}"
        );
        assert!(text.contains(r#""subpath":"secret"},"#) || text.contains(r#""subpath":"secret""#));
        assert!(text.contains("file:///etc/shadow"), "{text}");
    }
}
