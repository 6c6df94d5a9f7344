//! The sandbox of a request, by meaning: resolved to folders of this machine, where it is enforced.

use std::path::{Path, PathBuf};

use codex_environments::wire::{
    AccessEntry, AccessMode, FileSystemAccess, PROTECTED, Permissions, PlaceKind, Sandbox,
    SandboxNetwork, SandboxPlace,
};
use codex_sandbox::{
    ConfinementPolicy, LaunchPlan, NetworkMode, PolicyContext, ReadAccess, WorkspaceWrite, plan,
    probe,
};
use serde::Deserialize;

use crate::file_uri::FileUri;
use crate::refusal::Refusal;

/// The sandbox as it is asked for.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct RequestedSandbox(Sandbox<FileUri>);

/// What a request may touch, as folders of this machine.
#[derive(Debug, Default, PartialEq, Eq)]
struct PathRules {
    reads_everything: bool,
    writes_everything: bool,
    has_programs: bool,
    readable: Vec<PathBuf>,
    writable: Vec<PathBuf>,
    read_only: Vec<PathBuf>,
    denied: Vec<PathBuf>,
}

impl RequestedSandbox {
    /// How to launch a command in this sandbox, in `cwd`. Without a sandbox, everything is allowed.
    pub(crate) fn plan(requested: Option<&Self>, cwd: &Path) -> Result<LaunchPlan, Refusal> {
        let Some(requested) = requested else {
            return Ok(LaunchPlan::Unconfined);
        };
        let (policy, context) = requested.resolve(cwd, &std::env::temp_dir())?;
        plan(&policy, &context, probe()).map_err(|error| Refusal::sandbox(error.to_string()))
    }

    fn resolve(
        &self,
        cwd: &Path,
        temporary: &Path,
    ) -> Result<(ConfinementPolicy, PolicyContext), Refusal> {
        let Permissions::Managed {
            file_system,
            network,
        } = &self.0.permissions;
        let network = match network {
            SandboxNetwork::Restricted => NetworkMode::Restricted,
            SandboxNetwork::Enabled => NetworkMode::Enabled,
        };
        let rules = match file_system {
            FileSystemAccess::Unrestricted => PathRules {
                reads_everything: true,
                writes_everything: true,
                ..PathRules::default()
            },
            FileSystemAccess::Restricted { entries } => self.rules(entries, temporary)?,
        };
        Ok(rules.policy(network, cwd))
    }

    fn rules(
        &self,
        entries: &[AccessEntry<FileUri>],
        temporary: &Path,
    ) -> Result<PathRules, Refusal> {
        let mut rules = PathRules::default();
        for entry in entries {
            let places = self.places(&entry.path, temporary)?;
            let is_root = |path: &PathBuf| path.parent().is_none();
            let is_whole = places.iter().any(is_root);
            let is_minimal = matches!(&entry.path, SandboxPlace::Special { value } if value.kind == PlaceKind::Minimal);
            match entry.access {
                AccessMode::Read if is_minimal => rules.has_programs = true,
                AccessMode::Read if is_whole => rules.reads_everything = true,
                AccessMode::Write if is_whole => rules.writes_everything = true,
                AccessMode::Write => rules.writable.extend(places),
                AccessMode::Deny if is_whole || is_minimal => {
                    return Err(Refusal::params("the whole file system cannot be denied"));
                }
                AccessMode::Deny => rules.denied.extend(places),
                AccessMode::Read => rules.readable.extend(places),
            }
        }
        // What is readable below a writable folder is read-only there.
        let (below, readable) = std::mem::take(&mut rules.readable)
            .into_iter()
            .partition(|path| rules.writable.iter().any(|root| path.starts_with(root)));
        (rules.read_only, rules.readable) = (below, readable);
        Ok(rules)
    }

    fn places(
        &self,
        place: &SandboxPlace<FileUri>,
        temporary: &Path,
    ) -> Result<Vec<PathBuf>, Refusal> {
        let value = match place {
            SandboxPlace::Path { path } => return Ok(vec![path.0.clone()]),
            SandboxPlace::Special { value } => value,
        };
        let bases = match value.kind {
            PlaceKind::Root => vec![PathBuf::from("/")],
            PlaceKind::Minimal => Vec::new(),
            PlaceKind::SlashTmp => vec![PathBuf::from("/tmp")],
            PlaceKind::Tmpdir => vec![temporary.to_owned()],
            PlaceKind::ProjectRoots => self
                .0
                .workspace_roots
                .iter()
                .map(|it| it.0.clone())
                .collect(),
        };
        let Some(subpath) = &value.subpath else {
            return Ok(bases);
        };
        let is_below = (Path::new(subpath).components())
            .all(|part| matches!(part, std::path::Component::Normal(_)));
        if !is_below {
            return Err(Refusal::params(format!(
                "`{subpath}` is not below a folder"
            )));
        }
        Ok(bases.into_iter().map(|base| base.join(subpath)).collect())
    }
}

impl PathRules {
    fn policy(self, network: NetworkMode, cwd: &Path) -> (ConfinementPolicy, PolicyContext) {
        let read = if self.reads_everything && self.denied.is_empty() {
            ReadAccess::Full
        } else {
            let mut roots = self.readable;
            if self.reads_everything {
                roots.push("/".into());
            }
            ReadAccess::Restricted {
                platform_defaults: self.has_programs,
                roots,
                denied: self.denied,
            }
        };
        let mut writable = self.writable;
        if self.writes_everything {
            writable.push("/".into());
        }
        // The folder of the policy is writable; if the command runs elsewhere, that is no reason to make it so.
        let Some(first) = writable.first().cloned() else {
            return (
                ConfinementPolicy::ReadOnly { read, network },
                PolicyContext::in_folder(cwd),
            );
        };
        let protected = |root: &PathBuf| PROTECTED.map(|name| root.join(name));
        let mut read_only = self.read_only;
        read_only.extend(
            writable
                .iter()
                .filter(|root| root.parent().is_some())
                .flat_map(protected),
        );
        let policy = ConfinementPolicy::WorkspaceWrite(WorkspaceWrite {
            writable_roots: writable,
            read,
            network,
            tmpdir: false,
            slash_tmp: false,
            read_only,
        });
        (policy, PolicyContext::in_folder(first))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn resolve(entries: &Value) -> ConfinementPolicy {
        let requested = json!({
            "permissions": { "type": "managed", "network": "restricted",
                "file_system": { "type": "restricted", "entries": entries } },
            "cwd": "file:///w", "workspaceRoots": ["file:///w", "file:///v"],
        });
        let requested: RequestedSandbox = serde_json::from_value(requested).unwrap();
        let resolved = requested.resolve(Path::new("/w"), Path::new("/t"));
        resolved.unwrap().0
    }

    fn special(kind: &str, access: &str) -> Value {
        json!({ "path": { "type": "special", "value": { "kind": kind } }, "access": access })
    }

    #[test]
    fn special_places_are_folders_of_this_machine() {
        let policy = resolve(&json!([
            special("root", "read"),
            special("project_roots", "write"),
            special("tmpdir", "write"),
        ]));
        let ConfinementPolicy::WorkspaceWrite(options) = policy else {
            panic!("{policy:?}");
        };
        let writable: Vec<_> = ["/w", "/v", "/t"].map(PathBuf::from).into();
        assert_eq!(options.writable_roots, writable);
        assert_eq!(options.read, ReadAccess::Full);
        for path in ["/w/.git", "/v/.codex", "/t/.aws"] {
            assert!(options.read_only.contains(&path.into()), "{path}");
        }
        assert!(!options.tmpdir && !options.slash_tmp);
    }

    #[test]
    fn profile_without_writable_paths_is_read_only() {
        let policy = resolve(&json!([special("root", "read")]));
        assert_eq!(policy, ConfinementPolicy::read_only());
    }

    #[test]
    fn denied_paths_stay_hidden_though_everything_is_readable() {
        let secret = json!({ "path": { "type": "path", "path": "file:///s" }, "access": "deny" });
        let policy = resolve(&json!([special("root", "read"), secret]));
        let ConfinementPolicy::ReadOnly { read, .. } = policy else {
            panic!("{policy:?}");
        };
        let expected = ReadAccess::Restricted {
            platform_defaults: false,
            roots: vec!["/".into()],
            denied: vec!["/s".into()],
        };
        assert_eq!(read, expected);
    }

    #[test]
    fn forms_that_are_not_known_are_refused() {
        for permissions in [
            json!({ "type": "other" }),
            json!({ "type": "managed", "network": "some", "file_system": { "type": "restricted", "entries": [] } }),
            json!({ "type": "managed", "network": "enabled", "file_system": { "type": "restricted", "entries": [special("home", "read")] } }),
            json!({ "type": "managed", "network": "enabled", "file_system": { "type": "restricted", "entries": [
                { "path": { "type": "path", "path": "/plain" }, "access": "read" }] } }),
        ] {
            let requested = json!({ "permissions": permissions, "workspaceRoots": [] });
            assert!(
                serde_json::from_value::<RequestedSandbox>(requested.clone()).is_err(),
                "{requested}"
            );
        }
    }

    #[test]
    fn a_part_of_a_folder_is_below_it() {
        let entry = json!({ "path": { "type": "special", "value": { "kind": "project_roots", "subpath": "../x" } }, "access": "write" });
        let requested = json!({
            "permissions": { "type": "managed", "network": "restricted",
                "file_system": { "type": "restricted", "entries": [entry] } },
            "workspaceRoots": ["file:///w"],
        });
        let requested: RequestedSandbox = serde_json::from_value(requested).unwrap();
        assert!(requested.resolve(Path::new("/w"), Path::new("/t")).is_err());
    }
}
