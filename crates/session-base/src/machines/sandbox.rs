//! A sandbox policy by its meaning, for the machine that enforces it.
//!
//! Folders of this machine mean nothing there: what a policy allows of them is not passed on. What it forbids is.

use std::path::{Component, Path, PathBuf};

use codex_environments::RemotePath;
use codex_environments::wire::{
    AccessEntry, AccessMode, MissingPath, PROTECTED, PlaceKind, Sandbox, SandboxNetwork,
    SandboxPlace,
};
use codex_protocol::{ReadOnlyAccess, SandboxPolicy};

use super::place::RemotePlace;

/// A limit of the settings that cannot be passed on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{}`, which the settings deny or keep read-only, cannot be told to the other machine: it needs a path without `..`, in UTF-8",
    .0.display()
)]
pub struct UntoldLimit(PathBuf);

/// Whether a policy relies on a sandbox around this program, which does not reach other machines.
pub fn has_outer_sandbox(policy: &SandboxPolicy) -> bool {
    matches!(policy, SandboxPolicy::ExternalSandbox { .. })
}

/// The sandbox of a policy, with more folders that may be written. None if the policy confines nothing. `cwd` is the working folder
/// of the thread on this machine: what the policy says about it is about the folder there. Fails if a limit cannot be passed on.
pub fn sandbox_of(
    policy: &SandboxPolicy,
    has_network: bool,
    place: &RemotePlace,
    cwd: &Path,
    also_writable: &[RemotePath],
) -> Result<Option<Sandbox<RemotePath>>, UntoldLimit> {
    let mut entries = Vec::new();
    match policy {
        SandboxPolicy::DangerFullAccess | SandboxPolicy::ExternalSandbox { .. } => return Ok(None),
        SandboxPolicy::ReadOnly { access, .. } => add_reading(&mut entries, access, cwd)?,
        SandboxPolicy::WorkspaceWrite {
            writable_roots: _,
            read_only_access,
            network_access: _,
            exclude_tmpdir_env_var,
            exclude_slash_tmp,
            read_only_paths,
        } => {
            add_reading(&mut entries, read_only_access, cwd)?;
            entries.push(AccessEntry::special(
                PlaceKind::ProjectRoots,
                None,
                AccessMode::Write,
            ));
            if !exclude_slash_tmp {
                entries.push(AccessEntry::special(
                    PlaceKind::SlashTmp,
                    None,
                    AccessMode::Write,
                ));
            }
            if !exclude_tmpdir_env_var {
                entries.push(AccessEntry::special(
                    PlaceKind::Tmpdir,
                    None,
                    AccessMode::Write,
                ));
            }
            for path in read_only_paths {
                entries.push(limit(path, cwd, AccessMode::Read)?);
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
                ..AccessEntry::special(PlaceKind::ProjectRoots, subpath, AccessMode::Read)
            });
        }
    }
    let network = if has_network {
        SandboxNetwork::Enabled
    } else {
        SandboxNetwork::Restricted
    };
    let (cwd, roots) = (place.cwd.clone(), place.roots.clone());
    Ok(Some(Sandbox::of_entries(entries, network, cwd, roots)))
}

fn add_reading(
    entries: &mut Vec<AccessEntry<RemotePath>>,
    access: &ReadOnlyAccess,
    cwd: &Path,
) -> Result<(), UntoldLimit> {
    match access {
        ReadOnlyAccess::FullAccess => {
            entries.push(AccessEntry::special(
                PlaceKind::Root,
                None,
                AccessMode::Read,
            ));
        }
        ReadOnlyAccess::Restricted {
            include_platform_defaults,
            readable_roots,
            denied_paths,
        } => {
            if *include_platform_defaults {
                entries.push(AccessEntry::special(
                    PlaceKind::Minimal,
                    None,
                    AccessMode::Read,
                ));
            }
            for root in readable_roots {
                let root = Path::new(&root.0);
                if root.parent().is_none() {
                    entries.push(AccessEntry::special(
                        PlaceKind::Root,
                        None,
                        AccessMode::Read,
                    ));
                } else if cwd.starts_with(root) {
                    entries.push(AccessEntry::special(
                        PlaceKind::ProjectRoots,
                        None,
                        AccessMode::Read,
                    ));
                }
            }
            for path in denied_paths {
                entries.push(limit(path, cwd, AccessMode::Deny)?);
            }
        }
    }
    Ok(())
}

/// A limit about a path: below the working folder it is about that of the other machine, elsewhere about the same path.
fn limit(
    path: &Path,
    cwd: &Path,
    access: AccessMode,
) -> Result<AccessEntry<RemotePath>, UntoldLimit> {
    let untold = || UntoldLimit(path.to_owned());
    if path.components().any(|part| part == Component::ParentDir) {
        return Err(untold());
    }
    let below = if path.is_absolute() {
        path.strip_prefix(cwd).ok()
    } else {
        Some(path)
    };
    let text = |path: &Path| path.to_str().map(str::to_owned).ok_or_else(untold);
    let mut entry = match below {
        Some(below) => {
            let named = below.components().filter(|part| *part != Component::CurDir);
            let below = text(&named.collect::<PathBuf>())?;
            let subpath = (!below.is_empty()).then_some(below);
            AccessEntry::special(PlaceKind::ProjectRoots, subpath, access)
        }
        None => AccessEntry {
            path: SandboxPlace::Path {
                path: RemotePath::new(&text(path)?).ok_or_else(untold)?,
            },
            access,
            missing_path_behavior: None,
        },
    };
    entry.missing_path_behavior = Some(MissingPath::Skip);
    Ok(entry)
}

/// Whether a policy lets a real path be written without asking. `roots` are the real paths of the folders of the work.
pub fn may_write(
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
    let limits: Result<Vec<_>, _> = (read_only_paths.iter().chain(denied))
        .map(|path| limit(path, cwd, AccessMode::Read))
        .collect();
    // What cannot be passed on cannot be judged either.
    let Ok(limits) = limits else {
        return false;
    };
    let is_limited = limits.iter().any(|entry| match &entry.path {
        SandboxPlace::Path { path: limit } => path.below(limit).is_some(),
        SandboxPlace::Special { value } => {
            let subpath = value.subpath.as_deref().unwrap_or_default();
            (roots.iter()).any(|root| path.below(&root.join(subpath)).is_some())
        }
    });
    if is_limited {
        return false;
    }
    // The first part of the path below each folder that it is in.
    let in_roots: Vec<&str> = (roots.iter())
        .filter_map(|root| path.below(root)?.split('/').next())
        .collect();
    if in_roots.iter().any(|first| PROTECTED.contains(first)) {
        return false;
    }
    let in_tmp = RemotePath::new("/tmp").is_some_and(|tmp| path.below(&tmp).is_some());
    !in_roots.is_empty() || !exclude_slash_tmp && in_tmp
}

#[cfg(test)]
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
    fn remote_threads_get_limits_but_no_local_folders() {
        let mut entries = Vec::new();
        let access = ReadOnlyAccess::Restricted {
            include_platform_defaults: true,
            readable_roots: vec![
                codex_protocol::AbsolutePathBuf("/here".to_owned()),
                codex_protocol::AbsolutePathBuf("/other".to_owned()),
            ],
            denied_paths: vec!["/here/secret".into(), "/etc/shadow".into()],
        };
        add_reading(&mut entries, &access, Path::new("/here")).unwrap();
        let text = serde_json::to_string(&entries).unwrap();
        assert!(
            !text.contains("/other") && !text.contains("/here"),
            "{text}"
        );
        assert!(text.contains(r#""subpath":"secret""#), "{text}");
        assert!(text.contains("file:///etc/shadow"), "{text}");
    }

    #[cfg(unix)]
    #[test]
    fn a_limit_that_cannot_be_passed_on_is_named() {
        use std::os::unix::ffi::OsStrExt as _;
        let odd = std::ffi::OsStr::from_bytes(b"odd-\xff");
        let odd = [
            Path::new("a/../b"),
            Path::new("/here/../b"),
            Path::new(odd),
            &Path::new("/else").join(odd),
            Path::new("/else/../here/x"),
        ];
        for path in odd {
            let problem = limit(path, Path::new("/here"), AccessMode::Deny).unwrap_err();
            let name = path.display().to_string();
            assert!(problem.to_string().contains(&name), "{problem}");
            let access = ReadOnlyAccess::Restricted {
                include_platform_defaults: true,
                readable_roots: Vec::new(),
                denied_paths: vec![path.into()],
            };
            let refused = add_reading(&mut Vec::new(), &access, Path::new("/here"));
            assert_eq!(refused, Err(problem));
        }
    }

    #[test]
    fn limit_below_folder_is_relative_to_project() {
        for text in ["./a/b", "a/./b", "/here/a/b", "a//b/"] {
            let entry = limit(Path::new(text), Path::new("/here"), AccessMode::Deny).unwrap();
            let subpath = Some("a/b".to_owned());
            let expected = AccessEntry {
                missing_path_behavior: Some(MissingPath::Skip),
                ..AccessEntry::special(PlaceKind::ProjectRoots, subpath, AccessMode::Deny)
            };
            assert_eq!(entry, expected, "{text}");
        }
    }
}
