//! The arguments of `codex exec`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand};
use serde_json::{Value, json};

use crate::global_flags::{GlobalFlags, Sandbox};
use crate::settings_flags::SettingsFlags;
use crate::terminal::Colours;

#[derive(Debug, Args)]
#[command(after_help = "\
The last message goes to standard output, progress to standard error. Nobody is asked: what would \
need an approval is refused, so give the rights that are needed with --sandbox.\n\n\
Examples:\n  codex exec \"Explain what this repository does.\"\n  \
git diff | codex exec - > review.txt\n  \
codex exec --json -s workspace-write \"Fix the failing test.\" | jq -r .type\n  \
codex exec resume --last \"And now the next one.\"\n  \
codex exec review --uncommitted\n\n\
Exit status: 0 the turn was completed, 1 it failed or could not start, 2 wrong usage, 130 it was \
interrupted.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(super) options: Options,
    /// What to do; `-`, or nothing, reads it from standard input.
    pub(super) prompt: Option<String>,
    #[command(subcommand)]
    pub(super) command: Option<Command>,
}

impl Arguments {
    /// Takes over what stands before the command and is no setting.
    pub(crate) fn take_global(&mut self, global: GlobalFlags) {
        let options = &mut self.options;
        options.cwd = options.cwd.take().or(global.cwd);
        options.outside_repository |= global.bypass;
    }
}

impl From<ReviewArguments> for Arguments {
    fn from(review: ReviewArguments) -> Self {
        Self {
            options: Options::default(),
            prompt: None,
            command: Some(Command::Review(review)),
        }
    }
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Go on with a thread that was stored.
    Resume(ResumeArguments),
    /// Have changes of this repository reviewed.
    Review(ReviewArguments),
}

#[derive(Debug, Args)]
pub(super) struct ResumeArguments {
    /// The id of the thread, or its name. With --last it is left out.
    thread: Option<String>,
    /// What to say; `-`, or nothing, reads it from standard input.
    prompt: Option<String>,
    /// The thread of this folder that was changed last.
    #[arg(long)]
    last: bool,
    /// With --last: of any folder.
    #[arg(long, requires = "last")]
    all: bool,
    #[command(flatten)]
    pub(super) flags: SettingsFlags,
}

/// One of the first four says what is looked at.
#[derive(Debug, Args)]
#[command(
    group(ArgGroup::new("target").required(true)),
    after_help = "\
The findings are the last message, on standard output.\n\n\
Examples:\n  codex exec review --uncommitted\n  codex exec review --base main -o review.txt\n  \
codex exec review \"Look at the error handling of src/parser.rs.\"\n\n\
Exit status: as that of `codex exec`, whatever was found."
)]
pub(crate) struct ReviewArguments {
    /// What to look at and for, in words; `-` reads it from standard input.
    #[arg(group = "target")]
    pub(super) prompt: Option<String>,
    /// Look at what is not committed: staged, changed and new files.
    #[arg(long, group = "target")]
    uncommitted: bool,
    /// Look at what this branch has changed since it left that one.
    #[arg(long, group = "target", value_name = "BRANCH")]
    base: Option<String>,
    /// Look at what that commit changed.
    #[arg(long, group = "target", value_name = "SHA")]
    commit: Option<String>,
    /// With --commit: the title of the commit, for the reviewer.
    #[arg(long, requires = "commit", value_name = "TITLE")]
    title: Option<String>,
    #[command(flatten)]
    pub(super) flags: SettingsFlags,
}

impl ReviewArguments {
    /// What is looked at, as the server takes it; nothing where it is told in words.
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

/// The thread to go on with.
#[derive(Debug)]
pub(super) enum Resume {
    Thread(String),
    Last { anywhere: bool },
}

impl ResumeArguments {
    /// The thread, and the prompt: with --last the first argument is the prompt.
    pub(super) fn split(self) -> (Resume, Option<String>) {
        match self.thread {
            Some(thread) if !self.last => (Resume::Thread(thread), self.prompt),
            first => (Resume::Last { anywhere: self.all }, first.or(self.prompt)),
        }
    }
}

#[derive(Debug, Default, Args)]
pub(super) struct Options {
    /// The model to use.
    #[arg(short, long, global = true, value_name = "MODEL")]
    pub(super) model: Option<String>,
    /// What commands may do.
    #[arg(short, long, global = true, value_enum, value_name = "MODE")]
    sandbox: Option<Sandbox>,
    /// The same as `--sandbox workspace-write`.
    #[arg(long, global = true, conflicts_with = "sandbox")]
    full_auto: bool,
    /// No sandbox at all: only where something else protects the machine.
    #[arg(
        long = "dangerously-bypass-approvals-and-sandbox",
        alias = "yolo",
        global = true,
        conflicts_with_all = ["sandbox", "full_auto"]
    )]
    pub(super) bypass: bool,
    /// The folder to work in.
    #[arg(short = 'C', long = "cd", global = true, value_name = "DIR")]
    pub(super) cwd: Option<PathBuf>,
    /// A further folder that may be written to.
    #[arg(long, global = true, value_name = "DIR")]
    add_dir: Vec<PathBuf>,
    /// An image to show with the prompt.
    #[arg(short, long = "image", global = true, value_name = "FILE")]
    pub(super) images: Vec<PathBuf>,
    /// The profile of the configuration to use.
    #[arg(short, long, global = true, value_name = "NAME")]
    profile: Option<String>,
    /// Work outside a Git repository too.
    #[arg(long, global = true)]
    pub(super) skip_git_repo_check: bool,
    /// Store nothing of the thread.
    #[arg(long, global = true)]
    pub(super) ephemeral: bool,
    /// A JSON Schema that the last message has to follow.
    #[arg(long, global = true, value_name = "FILE")]
    pub(super) output_schema: Option<PathBuf>,
    /// A file for the last message.
    #[arg(short = 'o', long, global = true, value_name = "FILE")]
    pub(super) output_last_message: Option<PathBuf>,
    /// Print what happens as JSON, an event a line, in place of the last message.
    #[arg(long, alias = "experimental-json", global = true)]
    pub(super) json: bool,
    /// What a new thread is for, in a word of the caller; it is told with the thread.
    #[arg(long, global = true, value_name = "SOURCE")]
    pub(super) thread_source: Option<String>,
    /// Accepted for callers that pass it; no such program is asked for.
    #[arg(long, hide = true, global = true, value_name = "PROGRAM")]
    pub(super) cyber_access_program: Option<String>,
    /// When to use colours.
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub(super) color: Colours,
    /// Play the model's part from a scenario file: no key, no network, no cost.
    #[arg(long, global = true, value_name = "FILE")]
    pub(super) scenario: Option<PathBuf>,
    #[command(flatten)]
    flags: SettingsFlags,
    /// A flag before the command allows to work outside a repository.
    #[arg(skip)]
    pub(super) outside_repository: bool,
}

impl Options {
    pub(super) fn sandbox_mode(&self) -> Option<&'static str> {
        match self.sandbox {
            Some(sandbox) => Some(sandbox.name()),
            None if self.full_auto => Some("workspace-write"),
            None if self.bypass => Some("danger-full-access"),
            None => None,
        }
    }

    /// The settings that the flags come to, with those that stand `before` and `behind` these.
    pub(super) fn settings(
        &self,
        before: SettingsFlags,
        behind: SettingsFlags,
    ) -> anyhow::Result<SettingsFlags> {
        let mut settings = before.followed_by(self.flags.clone()).followed_by(behind);
        if let Some(profile) = &self.profile {
            settings.set("profile", &serde_json::to_string(profile)?);
        }
        if !self.add_dir.is_empty() {
            let folders: Result<Vec<_>, _> = self.add_dir.iter().map(std::path::absolute).collect();
            let folders = serde_json::to_string(&folders?)?;
            settings.set("sandbox_workspace_write.writable_roots", &folders);
        }
        Ok(settings)
    }
}
