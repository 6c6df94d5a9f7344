//! Flags that stand before a command and hold for whatever thread the command begins.

use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, ValueEnum};

use crate::settings_flags::SettingsFlags;

/// Most become settings; a command that has the same flag itself lets its own win.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Options of the command's thread")]
pub(crate) struct GlobalFlags {
    /// The model to use.
    #[arg(short, long, value_name = "MODEL")]
    model: Option<String>,
    /// What commands may do.
    #[arg(short, long, value_enum, value_name = "MODE")]
    sandbox: Option<Sandbox>,
    /// When a person is asked; `codex exec` asks nobody, whatever it says.
    #[arg(short, long = "ask-for-approval", value_enum, value_name = "POLICY")]
    approval: Option<Approval>,
    /// The same as `--sandbox workspace-write`.
    #[arg(long, conflicts_with = "sandbox")]
    full_auto: bool,
    /// No sandbox at all, and nobody is asked: only where something else protects the machine.
    #[arg(
        long = "dangerously-bypass-approvals-and-sandbox",
        alias = "yolo",
        conflicts_with_all = ["sandbox", "approval", "full_auto"]
    )]
    pub(crate) bypass: bool,
    /// The folder to work in.
    #[arg(short = 'C', long = "cd", value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// The profile of the configuration to use.
    #[arg(short, long, value_name = "NAME")]
    profile: Option<String>,
    /// Let the model search the web as it is now.
    #[arg(long)]
    search: bool,
}

/// What commands may do.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Sandbox {
    /// Read files, change nothing.
    ReadOnly,
    /// Change files below the folder to work in, without network.
    WorkspaceWrite,
    /// Everything that you may.
    DangerFullAccess,
}

impl Sandbox {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::WorkspaceWrite => "workspace-write",
            Self::DangerFullAccess => "danger-full-access",
        }
    }
}

/// When a person is asked.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Approval {
    /// About every command that is not known to be safe.
    Untrusted,
    /// When a command failed in the sandbox.
    OnFailure,
    /// When the model asks to leave the sandbox.
    OnRequest,
    /// Never.
    Never,
}

impl Approval {
    fn name(self) -> &'static str {
        match self {
            Self::Untrusted => "untrusted",
            Self::OnFailure => "on-failure",
            Self::OnRequest => "on-request",
            Self::Never => "never",
        }
    }
}

impl GlobalFlags {
    /// The settings that the flags stand for.
    pub(crate) fn settings(&self) -> anyhow::Result<SettingsFlags> {
        let sandbox = match self.sandbox {
            None if self.full_auto => Some(Sandbox::WorkspaceWrite),
            None if self.bypass => Some(Sandbox::DangerFullAccess),
            sandbox => sandbox,
        };
        let approval = match self.approval {
            None if self.bypass => Some(Approval::Never),
            approval => approval,
        };
        let mut settings = SettingsFlags::default();
        for (key, value) in [
            ("model", self.model.as_deref()),
            ("profile", self.profile.as_deref()),
            ("sandbox_mode", sandbox.map(Sandbox::name)),
            ("approval_policy", approval.map(Approval::name)),
            ("web_search", self.search.then_some("live")),
        ] {
            if let Some(value) = value {
                settings.set(key, &serde_json::to_string(value)?);
            }
        }
        Ok(settings)
    }

    /// Makes the folder to work in that of the process.
    pub(crate) fn enter_folder(&self) -> anyhow::Result<()> {
        match &self.cwd {
            Some(cwd) => std::env::set_current_dir(cwd)
                .with_context(|| format!("cannot work in {}", cwd.display())),
            None => Ok(()),
        }
    }
}
