//! Which files sandboxed commands may write, for those who run files outside of the sandbox.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use codex_protocol::SandboxPolicy;
use codex_sandbox::{ConfinementPolicy, EngineFiles, FileRules, PolicyContext};

use super::confinement::{policy_of, writing};

/// Whether commands run in the sandbox of the engine.
#[must_use]
pub fn is_sandboxed(policy: &SandboxPolicy) -> bool {
    matches!(
        policy,
        SandboxPolicy::ReadOnly { .. } | SandboxPolicy::WorkspaceWrite { .. }
    )
}

/// The files that commands of a session may write, if their policy lets them write at all: a turn with another policy may
/// come, or have been there. What commands of other turns and sessions of this process could write counts, too.
#[derive(Debug)]
pub struct WritableFiles {
    rules: Option<FileRules>,
}

impl WritableFiles {
    /// Those of a session with this policy.
    #[must_use]
    pub fn for_policy(
        policy: &SandboxPolicy,
        cwd: &Path,
        environment: &BTreeMap<OsString, OsString>,
        engine: &EngineFiles,
    ) -> Self {
        let policy_context = PolicyContext {
            tmpdir: codex_sandbox::temporary_folder(environment),
            engine: Arc::new(engine.without_program_files()),
            ..PolicyContext::in_folder(cwd)
        };
        let mut policy = writing(policy_of(policy));
        if let ConfinementPolicy::WorkspaceWrite(options) = &mut policy {
            options.writable_roots.extend(engine.granted_roots.all());
        }
        Self {
            rules: FileRules::from_policy(&policy, &policy_context),
        }
    }

    /// Whether such a command may write a file.
    #[must_use]
    pub fn may_write(&self, path: &Path) -> bool {
        let Some(rules) = &self.rules else {
            return true;
        };
        // Links on the way are resolved; the last component may be a link that can be replaced.
        let folder = path
            .parent()
            .and_then(|folder| codex_mounts::canonicalize(folder).ok());
        let path = match (folder, path.file_name()) {
            (Some(folder), Some(name)) => folder.join(name),
            _ => path.to_path_buf(),
        };
        rules.may_write(&path)
    }
}
