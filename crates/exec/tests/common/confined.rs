//! Commands in a sandbox, at every level that this system offers.

use std::path::{Path, PathBuf};

use codex_exec::Launch;
use codex_sandbox::{
    ConfinementPolicy, EnforcementLevels, Namespaces, PolicyContext, WorkspaceWrite, plan, probe,
};

use super::{finish, shell, texts};

/// The strongest level and what is left of it when parts are missing.
pub fn levels() -> Vec<EnforcementLevels> {
    let all = probe();
    let mounts = all.namespaces.min(Namespaces::Mounts);
    let candidates = [
        all,
        EnforcementLevels { landlock: 0, ..all },
        EnforcementLevels {
            namespaces: mounts,
            ..all
        },
        EnforcementLevels {
            namespaces: Namespaces::Unavailable,
            ..all
        },
    ];
    let mut levels = Vec::new();
    for level in candidates {
        if !levels.contains(&level) {
            levels.push(level);
        }
    }
    levels
}

/// Writing in `cwd` and nowhere else.
pub fn workspace() -> ConfinementPolicy {
    ConfinementPolicy::WorkspaceWrite(WorkspaceWrite {
        slash_tmp: false,
        tmpdir: false,
        ..WorkspaceWrite::default()
    })
}

/// `None` if the policy cannot be enforced at this level: then it is refused, which is no escape. All that this
/// system has must be enough for every policy, or the tests would pass without confining anything.
pub fn confine(
    mut launch: Launch,
    policy: &ConfinementPolicy,
    policy_context: &PolicyContext,
    level: EnforcementLevels,
) -> Option<Launch> {
    match plan(policy, policy_context, level) {
        Ok(plan) => {
            launch.plan = plan;
            launch.cwd.clone_from(&policy_context.cwd);
            Some(launch)
        }
        Err(refusal) => {
            assert!(
                level != probe(),
                "this system cannot confine commands: {refusal}"
            );
            println!("skipped at {level:?}: {refusal}");
            None
        }
    }
}

/// A project with a repository in it, and a folder beside it that is none of its business.
pub struct TestProject {
    _guard: tempfile::TempDir,
    pub base: PathBuf,
    pub root: PathBuf,
    pub outside: PathBuf,
}

impl TestProject {
    pub fn new() -> Self {
        let (guard, base) = super::folder();
        let (root, outside) = (base.join("project"), base.join("outside"));
        for folder in [root.join(".git/hooks"), root.join("src"), outside.clone()] {
            std::fs::create_dir_all(folder).unwrap();
        }
        std::fs::write(root.join(".git/config"), "original").unwrap();
        std::fs::write(root.join("file"), "original").unwrap();
        std::fs::write(outside.join("file"), "original").unwrap();
        Self {
            _guard: guard,
            base,
            root,
            outside,
        }
    }

    /// Runs a script in the project at each level; exit codes and what it printed.
    pub async fn attempts(
        &self,
        policy: &ConfinementPolicy,
        script: &str,
    ) -> Vec<(i32, String, String)> {
        self.attempts_in(policy, &PolicyContext::in_folder(&self.root), script)
            .await
    }

    pub async fn attempts_in(
        &self,
        policy: &ConfinementPolicy,
        policy_context: &PolicyContext,
        script: &str,
    ) -> Vec<(i32, String, String)> {
        let mut outcomes = Vec::new();
        for level in levels() {
            let Some(launch) = confine(shell(script), policy, policy_context, level) else {
                continue;
            };
            outcomes.push(texts(finish(launch).await));
        }
        outcomes
    }

    /// The script fails at each level.
    pub async fn refused(&self, policy: &ConfinementPolicy, script: &str) {
        for (code, out, error) in self.attempts(policy, script).await {
            assert_ne!(code, 0, "{script}: {out}{error}");
        }
    }

    /// The script succeeds at each level.
    pub async fn allowed(&self, policy: &ConfinementPolicy, script: &str) {
        for (code, out, error) in self.attempts(policy, script).await {
            assert_eq!(code, 0, "{script}: {out}{error}");
        }
    }

    /// Everything outside, and the repository, is as it was.
    pub fn assert_untouched(&self) {
        assert_eq!(names(&self.outside), ["file"]);
        assert_eq!(super::text_of(&self.outside.join("file")), "original");
        assert_eq!(names(&self.root.join(".git")), ["config", "hooks"]);
        assert_eq!(names(&self.root.join(".git/hooks")), [""; 0]);
        assert_eq!(super::text_of(&self.root.join(".git/config")), "original");
        let leftovers = [".codex", ".agents"].map(|name| self.root.join(name).exists());
        assert_eq!(leftovers, [false, false]);
        assert_eq!(names(&self.base), ["outside", "project"]);
    }
}

/// The entries of a folder, sorted.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}
