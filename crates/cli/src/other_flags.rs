//! Flags of other releases of the reference: they work, or say what to use instead.

use std::path::Path;

use anyhow::bail;
use clap::Args;

use crate::settings_flags::SettingsFlags;

/// Local servers of models that need no configuration.
const LOCAL_PROVIDERS: [&str; 2] = ["ollama", "lmstudio"];

#[derive(Debug, Default, Args)]
pub(crate) struct OtherFlags {
    /// Use a model on this machine; the same as `-c model_provider=ollama`.
    #[arg(long, global = true)]
    oss: bool,
    /// With --oss: `ollama` or `lmstudio`.
    #[arg(long, global = true, value_name = "NAME")]
    local_provider: Option<String>,
    /// Trust the folder for this run: its own settings hold.
    #[arg(long, global = true)]
    trust: bool,
    /// Also run hooks that the user has not decided about.
    #[arg(long, global = true)]
    dangerously_bypass_hook_trust: bool,
    #[arg(long, hide = true, global = true)]
    approve_for_me: bool,
    #[arg(long, hide = true, global = true, value_name = "NAME", num_args = 0..=1)]
    worktree: Option<Option<String>>,
    #[arg(long, hide = true, global = true)]
    ignore_user_config: bool,
    #[arg(long, hide = true, global = true)]
    ignore_rules: bool,
}

impl OtherFlags {
    /// Combines these flags with more of them.
    pub(crate) fn add(&mut self, more: Self) {
        self.oss |= more.oss;
        self.local_provider = self.local_provider.take().or(more.local_provider);
        self.trust |= more.trust;
        self.dangerously_bypass_hook_trust |= more.dangerously_bypass_hook_trust;
        self.approve_for_me |= more.approve_for_me;
        self.worktree = self.worktree.take().or(more.worktree);
        self.ignore_user_config |= more.ignore_user_config;
        self.ignore_rules |= more.ignore_rules;
    }

    /// Flags that would promise something that is not kept are refused.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        let refused = [
            (
                self.approve_for_me,
                "--approve-for-me is not supported, as nothing reviews approvals by itself; give the rights that \
                 are needed with --sandbox, --add-dir or a rules file",
            ),
            (
                self.worktree.is_some(),
                "--worktree is not supported; use `git worktree add PATH` and --cd PATH",
            ),
            (
                self.ignore_user_config,
                "--ignore-user-config is not supported; set CODEX_HOME to a folder without a config.toml",
            ),
            (
                self.ignore_rules,
                "--ignore-rules is not supported; set CODEX_HOME to a folder without rules",
            ),
        ];
        if let Some((_, message)) = refused.into_iter().find(|(is_given, _)| *is_given) {
            bail!(message);
        }
        if let Some(name) = &self.local_provider
            && !LOCAL_PROVIDERS.contains(&name.as_str())
        {
            bail!(
                "--local-provider takes ollama or lmstudio; for `{name}` use -c model_provider={name}"
            );
        }
        Ok(())
    }

    /// What the flags set.
    pub(crate) fn apply(&self, settings: &mut SettingsFlags, cwd: &Path) -> anyhow::Result<()> {
        if self.oss || self.local_provider.is_some() {
            let name = self.local_provider.as_deref().unwrap_or(LOCAL_PROVIDERS[0]);
            settings.set("model_provider", &serde_json::to_string(name)?);
        }
        if self.dangerously_bypass_hook_trust {
            settings.set("features.codex_hooks", "true");
        }
        if self.trust {
            let root = codex_sandbox::marked_folder(cwd, ".git").unwrap_or(cwd);
            let root = serde_json::to_string(&root.to_string_lossy())?;
            // A key ends at the first `=`, which a path may have.
            settings.set(
                "projects",
                &format!("{{ {root} = {{ trust_level = \"trusted\" }} }}"),
            );
        }
        Ok(())
    }
}
