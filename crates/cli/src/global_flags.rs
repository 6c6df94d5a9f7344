//! Flags before the subcommand that apply to the threads it starts.

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use codex_engine_host::environment;

use crate::other_flags::OtherFlags;
use crate::profile;
use crate::remote_flags::RemoteFlags;
use crate::settings_flags::SettingsFlags;

/// Most become settings. The same flag after the subcommand takes precedence.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Options of the command's thread")]
pub(crate) struct GlobalFlags {
    /// The model to use.
    #[arg(short, long, value_name = "MODEL")]
    model: Option<String>,
    /// What commands may do.
    #[arg(short, long, value_enum, value_name = "MODE")]
    sandbox: Option<SandboxFlag>,
    /// The same as `--sandbox workspace-write`.
    #[arg(long, conflicts_with = "sandbox")]
    full_auto: bool,
    /// Use no sandbox and never ask. Only for machines that are protected otherwise.
    #[arg(
        long = "dangerously-bypass-approvals-and-sandbox",
        alias = "yolo",
        conflicts_with_all = ["sandbox", "approval", "full_auto"]
    )]
    pub(crate) bypass: bool,
    /// The working folder.
    #[arg(short = 'C', long = "cd", value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// The profile to use: a table of config.toml, or the file NAME.config.toml beside it.
    #[arg(short, long, value_name = "NAME")]
    profile: Option<String>,
    /// An additional writable folder.
    #[arg(id = "add_dir_before", long = "add-dir", value_name = "DIR")]
    pub(crate) add_dir: Vec<PathBuf>,
    /// An image to send with the prompt; several are separated by commas.
    #[arg(
        id = "images_before",
        short = 'i',
        long = "image",
        value_delimiter = ',',
        value_name = "FILE"
    )]
    pub(crate) images: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) remote: RemoteFlags,
    #[command(flatten)]
    pub(crate) other: OtherFlags,
    #[command(flatten)]
    ui: UiFlags,
}

/// Flags of terminal UIs, which take them behind `resume` and `fork` as well.
#[derive(Debug, Default, Args)]
pub(crate) struct UiFlags {
    /// When to ask for approval; `codex exec` never asks.
    #[arg(short, long = "ask-for-approval", value_enum, value_name = "POLICY")]
    approval: Option<ApprovalFlag>,
    /// Allow live web searches.
    #[arg(long)]
    search: bool,
    /// Accepted for compatibility; there is no terminal UI.
    #[arg(long, hide = true)]
    no_alt_screen: bool,
    /// Accepted for compatibility; no command uses a server in the background unless it is told to.
    #[arg(long, hide = true)]
    no_daemon: bool,
}

impl UiFlags {
    /// The settings for these flags.
    pub(crate) fn settings(&self) -> anyhow::Result<SettingsFlags> {
        let mut settings = SettingsFlags::default();
        for (key, value) in [
            ("approval_policy", self.approval.map(ApprovalFlag::name)),
            ("web_search", self.search.then_some("live")),
        ] {
            if let Some(value) = value {
                settings.set(key, &serde_json::to_string(value)?);
            }
        }
        Ok(settings)
    }
}

/// What commands may do.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum SandboxFlag {
    /// Read files only.
    ReadOnly,
    /// Change files in the working folder, without network access.
    WorkspaceWrite,
    /// Everything that you may do.
    DangerFullAccess,
}

impl SandboxFlag {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::WorkspaceWrite => "workspace-write",
            Self::DangerFullAccess => "danger-full-access",
        }
    }
}

/// When to ask for approval.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ApprovalFlag {
    /// For every command that is not known to be safe.
    Untrusted,
    /// When a command failed in the sandbox.
    OnFailure,
    /// When the model asks to leave the sandbox.
    OnRequest,
    /// Never.
    Never,
}

impl ApprovalFlag {
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
    /// Flags of commands that take only these.
    pub(crate) fn of_place(
        cwd: Option<PathBuf>,
        profile: Option<String>,
        remote: RemoteFlags,
    ) -> Self {
        Self {
            cwd,
            profile,
            remote,
            ..Self::default()
        }
    }

    /// Combines the flags with those behind the subcommand, which take precedence.
    pub(crate) fn add(&mut self, more: Self) {
        self.model = more.model.or(self.model.take());
        if more.sandbox.is_some() || more.full_auto || more.bypass {
            self.sandbox = more.sandbox;
            self.full_auto = more.full_auto;
            self.bypass = more.bypass;
        }
        self.cwd = more.cwd.or(self.cwd.take());
        self.profile = more.profile.or(self.profile.take());
        self.add_dir.extend(more.add_dir);
        self.images.extend(more.images);
        self.remote = more.remote.or(std::mem::take(&mut self.remote));
        self.other.add(more.other);
        self.ui.approval = more.ui.approval.or(self.ui.approval);
        self.ui.search |= more.ui.search;
    }

    /// The settings for these flags. `given` are those of the other flags before the subcommand.
    pub(crate) fn settings(&self, given: &SettingsFlags) -> anyhow::Result<SettingsFlags> {
        let sandbox = match self.sandbox {
            None if self.full_auto => Some(SandboxFlag::WorkspaceWrite),
            None if self.bypass => Some(SandboxFlag::DangerFullAccess),
            sandbox => sandbox,
        };
        let mut settings = match &self.profile {
            Some(name) => profile::settings(&environment::home()?, name, given)?,
            None => SettingsFlags::default(),
        };
        for (key, value) in [
            ("model", self.model.as_deref()),
            ("sandbox_mode", sandbox.map(SandboxFlag::name)),
            ("approval_policy", self.bypass.then_some("never")),
        ] {
            if let Some(value) = value {
                settings.set(key, &serde_json::to_string(value)?);
            }
        }
        Ok(settings.followed_by(self.ui.settings()?))
    }

    /// What the flags mean that are settings of a thread in the working folder, for commands other than `codex exec`,
    /// which combine them with their own.
    pub(crate) fn apply_others(&self, settings: &mut SettingsFlags) -> anyhow::Result<()> {
        if self.remote.are_given() {
            bail!(
                "this command does not use a running server; --remote goes with `codex exec` and commands for threads"
            );
        }
        if !self.images.is_empty() {
            bail!(
                "--image goes with a prompt: `codex exec`, `codex resume` and `codex fork` take it"
            );
        }
        let cwd = std::env::current_dir().context("cannot determine the working folder")?;
        self.other.check()?;
        self.other.apply(settings, &cwd)?;
        add_writable_folders(settings, &self.add_dir)
    }

    /// Changes the working folder of the process.
    pub(crate) fn enter_folder(&self) -> anyhow::Result<()> {
        match &self.cwd {
            Some(cwd) => codex_mounts::check(cwd)
                .map_err(std::io::Error::from)
                .and_then(|()| std::env::set_current_dir(cwd))
                .with_context(|| format!("cannot work in {}", cwd.display())),
            None => Ok(()),
        }
    }
}

/// Lets commands write in more folders.
pub(crate) fn add_writable_folders(
    settings: &mut SettingsFlags,
    folders: &[PathBuf],
) -> anyhow::Result<()> {
    if !folders.is_empty() {
        let folders: Result<Vec<_>, _> = folders.iter().map(std::path::absolute).collect();
        let folders = serde_json::to_string(&folders?)?;
        settings.set("sandbox_workspace_write.writable_roots", &folders);
    }
    Ok(())
}
