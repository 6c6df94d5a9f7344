//! `codex completion`: shell completion scripts.

use std::io::{self, Write as _};

use clap::{Args, Command};
use clap_complete::Shell;

use crate::print;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:\n  codex completion bash > ~/.local/share/bash-completion/completions/codex\n  \
codex completion zsh > ~/.zfunc/_codex\n  \
codex completion fish > ~/.config/fish/completions/codex.fish")]
pub(crate) struct CompletionArguments {
    /// The shell.
    #[arg(value_enum, default_value = "bash")]
    shell: Shell,
}

pub(crate) fn run(arguments: &CompletionArguments, mut command: Command) -> io::Result<()> {
    // In memory first: the generator panics where it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "codex", &mut script);
    print::output().write_all(&script)
}
