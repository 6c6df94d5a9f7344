//! `codex execpolicy check`: what rules files say about a command.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, Subcommand};
use codex_exec_policy::{ProgramMatching, RuleSet};

use crate::print;

/// A larger file is refused.
const LIMIT: u64 = 8 * 1024 * 1024;

#[derive(Debug, Subcommand)]
pub(crate) enum ExecPolicyCommand {
    /// Check a command against rules files, and print the matching rules and the decision as JSON.
    Check(CheckArguments),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Example:\n  codex execpolicy check --rules ~/.codex/rules/default.rules git push\n\n\
Exit status: 0 the rules were read, whatever they say, 1 they were not.")]
pub(crate) struct CheckArguments {
    /// A rules file; may be repeated.
    #[arg(short, long, value_name = "PATH", required = true)]
    rules: Vec<PathBuf>,
    /// Print the JSON in several lines.
    #[arg(long)]
    pretty: bool,
    /// Also match absolute paths by the name of the program, where the rules allow it.
    #[arg(long)]
    resolve_host_executables: bool,
    /// The words of the command.
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required = true,
        value_name = "COMMAND"
    )]
    command: Vec<String>,
}

pub(crate) fn run(command: ExecPolicyCommand) -> anyhow::Result<()> {
    let ExecPolicyCommand::Check(arguments) = command;
    let mut rules = RuleSet::default();
    for path in &arguments.rules {
        let name = path.display().to_string();
        let text = codex_regular_file::read_text(path, LIMIT);
        let text = text.with_context(|| format!("cannot read the rules {name}"))?;
        rules.add_file(&name, &text)?;
    }
    let matching = if arguments.resolve_host_executables {
        ProgramMatching::ByName
    } else {
        ProgramMatching::AsWritten
    };
    let evaluation = rules.check(&arguments.command, matching);
    let text = if arguments.pretty {
        serde_json::to_string_pretty(&evaluation)?
    } else {
        serde_json::to_string(&evaluation)?
    };
    writeln!(print::output(), "{text}")?;
    Ok(())
}
