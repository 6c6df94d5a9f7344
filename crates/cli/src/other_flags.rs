//! Flags of other releases of the reference: they work, or say what to use instead.

use std::path::Path;

use anyhow::bail;
use clap::Args;

use crate::settings_flags::SettingsFlags;

/// Local servers of models that need no configuration.
const LOCAL_PROVIDERS: [&str; 4] = ["ollama", "lmstudio", "llamacpp", "vllm"];

#[derive(Debug, Default, Args)]
pub(crate) struct OtherFlags {
    /// Use a model on this machine; the same as `-c model_provider=ollama`.
    #[arg(long, global = true)]
    oss: bool,
    /// Use the model of this server: `ollama`, `lmstudio`, `llamacpp` or `vllm`.
    #[arg(long, global = true, value_name = "NAME")]
    local_provider: Option<String>,
    /// Trust the folder for this run, so that its own settings apply.
    #[arg(long, global = true)]
    trust: bool,
    /// Also run hooks that you have neither trusted nor refused.
    #[arg(long, global = true)]
    dangerously_bypass_hook_trust: bool,
    /// Let a hidden agent decide about approvals, with the sandbox workspace-write.
    #[arg(long, global = true)]
    approve_for_me: bool,
    #[arg(long, hide = true, global = true)]
    worktree: bool,
    /// Ignore config.toml in the home folder; the login there is still used.
    #[arg(long, global = true)]
    ignore_user_config: bool,
    /// Ignore rules of the user and of projects; those of an administrator still apply.
    #[arg(long, global = true)]
    ignore_rules: bool,
}

impl OtherFlags {
    /// Those of a command that takes no others.
    pub(crate) fn of_trust(trust: bool) -> Self {
        Self {
            trust,
            ..Self::default()
        }
    }

    /// Combines these flags with more of them.
    pub(crate) fn add(&mut self, more: Self) {
        self.oss |= more.oss;
        self.local_provider = self.local_provider.take().or(more.local_provider);
        self.trust |= more.trust;
        self.dangerously_bypass_hook_trust |= more.dangerously_bypass_hook_trust;
        self.approve_for_me |= more.approve_for_me;
        self.worktree |= more.worktree;
        self.ignore_user_config |= more.ignore_user_config;
        self.ignore_rules |= more.ignore_rules;
    }

    /// Flags that would promise something that is not kept are refused.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        if self.worktree {
            bail!("--worktree is not supported; use `git worktree add PATH` and --cd PATH");
        }
        if let Some(name) = &self.local_provider
            && !LOCAL_PROVIDERS.contains(&name.as_str())
        {
            bail!(
                "--local-provider takes {}; for `{name}` use -c model_provider={name}",
                LOCAL_PROVIDERS.join(", ")
            );
        }
        Ok(())
    }

    /// Whether a reviewer decides about approvals.
    pub(crate) fn has_reviewer(&self) -> bool {
        self.approve_for_me
    }

    /// What the flags set.
    pub(crate) fn apply(&self, settings: &mut SettingsFlags, cwd: &Path) -> anyhow::Result<()> {
        if self.oss || self.local_provider.is_some() {
            let name = self.local_provider.as_deref().unwrap_or(LOCAL_PROVIDERS[0]);
            settings.set("model_provider", &serde_json::to_string(name)?);
        }
        if self.ignore_user_config {
            settings.ignore_user_file();
        }
        if self.ignore_rules {
            settings.ignore_rules();
        }
        if self.approve_for_me {
            settings.set("approval_policy", "\"on-request\"");
            settings.set("approvals_reviewer", "\"guardian_subagent\"");
            settings.set("sandbox_mode", "\"workspace-write\"");
        }
        if self.dangerously_bypass_hook_trust {
            settings.set("features.codex_hooks", "true");
        }
        if self.trust {
            let root = codex_project_markers::marked_folder(cwd, ".git").unwrap_or(cwd);
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
