//! The arguments of `codex exec`.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args, Subcommand};
use codex_client_commands::{ExecOptions, StoredThread, ThreadChoice};
use codex_engine_host::environment;
use serde_json::{Value, json};

use crate::global_flags::{GlobalFlags, SandboxFlag, UiFlags, add_writable_folders};
use crate::other_flags::OtherFlags;
use crate::profile;
use crate::remote_flags::RemoteFlags;
use crate::settings_flags::SettingsFlags;
use crate::terminal::{Colours, screen};

#[derive(Debug, Args)]
#[command(after_help = "\
The last message goes to standard output, progress to standard error. Nobody is asked: what would \
need an approval is refused, so give the rights that are needed with --sandbox, and allow tools of \
MCP servers with mcp_servers.NAME.tools.TOOL.approval_mode=\"approve\", or all of a server with \
mcp_servers.NAME.default_tools_approval_mode=\"approve\".\n\n\
Examples:\n  codex exec \"Explain what this repository does.\"\n  \
git diff | codex exec - > review.txt\n  \
codex exec --remote unix:// \"Say hello.\"\n  \
codex exec --json -s workspace-write \"Fix the failing test.\" | jq -r .type\n  \
codex exec resume --last \"And now the next one.\"\n  \
codex exec review --uncommitted\n\n\
Exit status: 0 the turn was completed, 1 it failed or could not start, 2 wrong usage, 130 it was \
interrupted, 141 the reader of its output has left.")]
pub(crate) struct ExecArguments {
    #[command(flatten)]
    pub(super) options: ExecFlags,
    /// The prompt; `-`, or nothing, reads it from standard input. If a prompt is given, piped input is appended to it.
    pub(super) prompt: Option<String>,
    #[command(subcommand)]
    pub(super) command: Option<ExecCommand>,
    /// The thread of `codex resume` and `codex fork`.
    #[arg(skip)]
    pub(super) stored: Option<ThreadChoice>,
}

impl ExecArguments {
    /// Applies the flags before the subcommand that are not settings.
    pub(crate) fn take_global(&mut self, global: GlobalFlags) {
        let options = &mut self.options;
        options.cwd = options.cwd.take().or(global.cwd);
        options.outside_repository |= global.bypass;
        options.images.splice(..0, global.images);
        options.add_dir.splice(..0, global.add_dir);
        options.other.add(global.other);
        options.remote = std::mem::take(&mut options.remote).or(global.remote);
    }
}

impl From<TrustingReviewArguments> for ExecArguments {
    fn from(arguments: TrustingReviewArguments) -> Self {
        Self {
            options: ExecFlags {
                other: OtherFlags::of_trust(arguments.trust),
                ..ExecFlags::default()
            },
            prompt: None,
            command: Some(ExecCommand::Review(arguments.review)),
            stored: None,
        }
    }
}

/// `codex resume` and `codex fork`: as below `codex exec`, with a list to choose from, and prompts from the terminal.
#[derive(Debug, Args)]
#[command(after_help = "\
Goes on as `codex exec` does: the last message goes to standard output, progress to standard error, and nobody is \
asked for approvals. On a terminal, without a thread and --last, one is chosen from a list; without a prompt, prompts \
are typed in, a line each, until the end of the input. In a pipe the prompt is read from standard input.\n\n\
Examples:\n  codex resume --last\n  codex resume --last \"And now the next one.\"\n  \
git diff | codex fork --last \"Review this.\"\n\n\
Exit status: as that of `codex exec`.")]
pub(crate) struct StoredArguments {
    #[command(flatten)]
    options: ExecFlags,
    #[command(flatten)]
    pub(crate) ui: UiFlags,
    /// The id or the name of the thread. Omit it with --last.
    thread: Option<String>,
    /// The prompt; `-` reads it from standard input.
    prompt: Option<String>,
    /// The most recently changed thread of this folder.
    #[arg(long)]
    last: bool,
    /// With --last and in the list: of any folder.
    #[arg(long)]
    all: bool,
    /// Accepted for compatibility; threads of `codex exec` are always included.
    #[arg(long, hide = true)]
    include_non_interactive: bool,
}

impl StoredArguments {
    /// The same for `codex exec`, with the thread itself or a copy of it.
    pub(crate) fn into_exec(self, is_copied: bool) -> ExecArguments {
        let anywhere = self.all;
        let (stored, prompt) = match (self.thread, self.last) {
            (Some(thread), false) => (StoredThread::Named(thread), self.prompt),
            (first, true) => (StoredThread::Last { anywhere }, first.or(self.prompt)),
            (None, false) => (StoredThread::Chosen { anywhere }, self.prompt),
        };
        let choice = if is_copied {
            ThreadChoice::Forked(stored)
        } else {
            ThreadChoice::Resumed(stored)
        };
        ExecArguments {
            options: self.options,
            prompt,
            command: None,
            stored: Some(choice),
        }
    }
}

#[derive(Debug, Subcommand)]
pub(super) enum ExecCommand {
    /// Continue a stored thread.
    Resume(ResumeArguments),
    /// Continue a copy of a stored thread.
    Fork(ForkArguments),
    /// Review changes in this repository.
    Review(ReviewArguments),
}

#[derive(Debug, Args)]
pub(super) struct ResumeArguments {
    /// The id or the name of the thread. Omit it with --last.
    thread: Option<String>,
    /// The prompt; `-`, or nothing, reads it from standard input.
    prompt: Option<String>,
    /// Continue the most recently changed thread of this folder.
    #[arg(long)]
    last: bool,
    /// With --last: of any folder.
    #[arg(long, requires = "last")]
    all: bool,
}

#[derive(Debug, Args)]
pub(super) struct ForkArguments {
    /// The id or the name of the thread.
    pub(super) thread: String,
    /// The prompt; `-` reads it from standard input. Without one the copy is only made.
    pub(super) prompt: Option<String>,
}

/// The first four arguments exclude each other and select the target.
#[derive(Debug, Args)]
#[command(
    group(ArgGroup::new("target").required(true)),
    after_help = "\
The findings are the last message, on standard output.\n\n\
Examples:\n  codex exec review --uncommitted\n  codex exec review --base main -o review.txt\n  \
codex exec review \"Look at the error handling of src/parser.rs.\"\n\n\
Exit status: that of `codex exec`; findings do not change it."
)]
pub(crate) struct ReviewArguments {
    /// Review instructions; `-` reads them from standard input.
    #[arg(group = "target")]
    pub(super) prompt: Option<String>,
    /// Review uncommitted changes: staged, unstaged and untracked files.
    #[arg(long, group = "target")]
    uncommitted: bool,
    /// Review the changes of this branch relative to another branch.
    #[arg(long, group = "target", value_name = "BRANCH")]
    base: Option<String>,
    /// Review the changes of a commit.
    #[arg(long, group = "target", value_name = "SHA")]
    commit: Option<String>,
    /// With --commit: the title of the commit, for the reviewer.
    #[arg(long, requires = "commit", value_name = "TITLE")]
    title: Option<String>,
}

/// `codex review`: below `codex exec`, the flag is one of `exec`.
#[derive(Debug, Args)]
pub(crate) struct TrustingReviewArguments {
    #[command(flatten)]
    review: ReviewArguments,
    /// Trust the folder for this run, so that its own settings apply.
    #[arg(long)]
    trust: bool,
}

impl ReviewArguments {
    /// The target for the server; none if the review has instructions instead.
    pub(super) fn target(&self) -> Option<Value> {
        if self.uncommitted {
            return Some(json!({ "type": "uncommittedChanges" }));
        }
        if let Some(branch) = &self.base {
            return Some(json!({ "type": "baseBranch", "branch": branch }));
        }
        let sha = self.commit.as_ref()?;
        Some(json!({ "type": "commit", "sha": sha, "title": self.title }))
    }
}

impl ResumeArguments {
    /// Splits the arguments: with --last the first one is the prompt.
    pub(super) fn split(self) -> (StoredThread, Option<String>) {
        match self.thread {
            Some(thread) if !self.last => (StoredThread::Named(thread), self.prompt),
            first => (
                StoredThread::Last { anywhere: self.all },
                first.or(self.prompt),
            ),
        }
    }
}

#[derive(Debug, Default, Args)]
pub(super) struct ExecFlags {
    /// The model to use.
    #[arg(short, long, global = true, value_name = "MODEL")]
    pub(super) model: Option<String>,
    /// What commands may do.
    #[arg(short, long, global = true, value_enum, value_name = "MODE")]
    sandbox: Option<SandboxFlag>,
    /// The same as `--sandbox workspace-write`.
    #[arg(long, global = true, conflicts_with = "sandbox")]
    full_auto: bool,
    /// Use no sandbox. Only for machines that are protected otherwise.
    #[arg(
        long = "dangerously-bypass-approvals-and-sandbox",
        alias = "yolo",
        global = true,
        conflicts_with_all = ["sandbox", "full_auto"]
    )]
    pub(super) bypass: bool,
    /// The working folder.
    #[arg(short = 'C', long = "cd", global = true, value_name = "DIR")]
    pub(super) cwd: Option<PathBuf>,
    /// Work on another machine, in a folder there. The settings may name the folder.
    #[arg(long, global = true, value_name = "NAME[:DIR]")]
    pub(super) environment: Option<String>,
    /// An additional writable folder.
    #[arg(long, global = true, value_name = "DIR")]
    pub(super) add_dir: Vec<PathBuf>,
    /// An image to send with the prompt; several are separated by commas.
    #[arg(
        short,
        long = "image",
        global = true,
        value_delimiter = ',',
        value_name = "FILE"
    )]
    pub(super) images: Vec<PathBuf>,
    /// The profile to use: a table of config.toml, or the file NAME.config.toml beside it.
    #[arg(short, long, global = true, value_name = "NAME")]
    profile: Option<String>,
    /// Also work outside a git repository.
    #[arg(long, global = true)]
    pub(super) skip_git_repo_check: bool,
    /// Do not store the thread.
    #[arg(long, global = true)]
    pub(super) ephemeral: bool,
    /// A JSON Schema for the last message.
    #[arg(long, global = true, value_name = "FILE")]
    pub(super) output_schema: Option<PathBuf>,
    /// Write the last message to this file.
    #[arg(short = 'o', long, global = true, value_name = "FILE")]
    pub(super) output_last_message: Option<PathBuf>,
    /// Print events as JSON lines instead of the last message.
    #[arg(long, alias = "experimental-json", global = true)]
    pub(super) json: bool,
    /// Also show what fills the context of the model after the turn; with --json as an event.
    #[arg(long, global = true)]
    pub(super) context: bool,
    /// The purpose of the thread in a short word, which is stored with it.
    #[arg(long, global = true, value_name = "SOURCE")]
    pub(super) thread_source: Option<String>,
    /// Accepted for compatibility; has no effect.
    #[arg(long, hide = true, global = true, value_name = "PROGRAM")]
    pub(super) cyber_access_program: Option<String>,
    /// When to use colours.
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub(super) color: Colours,
    /// Use a scripted model from a scenario file: no key, no network, no cost.
    #[arg(long, global = true, value_name = "FILE")]
    pub(super) scenario: Option<PathBuf>,
    #[command(flatten)]
    pub(super) remote: RemoteFlags,
    #[command(flatten)]
    pub(super) other: OtherFlags,
    /// Whether a flag before the subcommand allows work outside a repository.
    #[arg(skip)]
    pub(super) outside_repository: bool,
}

impl ExecFlags {
    /// What the turn is run with.
    pub(super) fn options(&self) -> anyhow::Result<ExecOptions> {
        Ok(ExecOptions {
            running: self.remote.server()?,
            scenario: self.scenario.clone(),
            model: self.model.clone(),
            sandbox_mode: self.sandbox_mode(),
            has_reviewer: self.other.has_reviewer(),
            cwd: self.cwd.clone(),
            allows_any_folder: self.skip_git_repo_check || self.bypass || self.outside_repository,
            environment: self.environment.clone(),
            writable_folders: self.add_dir.clone(),
            images: self.images.clone(),
            is_ephemeral: self.ephemeral,
            thread_source: self.thread_source.clone(),
            output_schema: self.output_schema.clone(),
            last_message_file: self.output_last_message.clone(),
            prints_events: self.json,
            prints_context: self.context,
            progress_shows_message: io::stdout().is_terminal() && io::stderr().is_terminal(),
            screen: screen(&io::stderr(), self.color),
        })
    }

    fn sandbox_mode(&self) -> Option<&'static str> {
        match self.sandbox {
            Some(sandbox) => Some(sandbox.name()),
            None if self.full_auto => Some("workspace-write"),
            None if self.bypass => Some("danger-full-access"),
            None => None,
        }
    }

    /// Adds what the options set to the settings of flags.
    pub(super) fn settings(
        &self,
        mut settings: SettingsFlags,
        cwd: &Path,
    ) -> anyhow::Result<SettingsFlags> {
        self.other.apply(&mut settings, cwd)?;
        if let Some(name) = &self.profile {
            settings =
                profile::settings(&environment::home()?, name, &settings)?.followed_by(settings);
        }
        add_writable_folders(&mut settings, &self.add_dir)?;
        Ok(settings)
    }
}
