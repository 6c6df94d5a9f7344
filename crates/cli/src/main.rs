//! Layer: surface. The `codex` binary: arguments, output and exit codes. `engine-host` has what commands share.

mod acp;
#[cfg(target_env = "musl")]
mod allocator;
mod app_server;
mod batch;
mod checkpoint;
mod completion;
mod config;
mod daemon;
mod debug_app_server;
mod debug_models;
mod demo;
mod doctor;
mod exec;
mod exec_policy;
mod exec_server;
mod features;
mod generate;
mod global_flags;
mod listen_flags;
mod man;
mod mcp_server;
mod other_commands;
mod other_flags;
mod print;
mod profile;
mod programs;
mod proto;
mod remote_flags;
mod sandbox;
mod settings_flags;
mod startup_config;
mod stored_threads;
mod terminal;
mod turn_status;

use std::ffi::OsString;
use std::mem::ManuallyDrop;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use codex_client_commands::{
    CheckArguments, ClientProtocol, PluginArguments, PromptInputArguments, RecordServerArguments,
    check_client, print_prompt_input, record_server, run_plugin_command,
};
use codex_setup_commands::{
    EnvironmentCommand, LoginArguments, McpArguments, log_in, log_out, run_environment_command,
    run_mcp_command,
};
use codex_trace_commands::{ThreadCommand, TraceCommand, run_thread_command};

use crate::debug_app_server::{AcpCommand, AppServerCommand};
use crate::settings_flags::SettingsFlags;

/// The local engine behind AI coding assistants.
///
/// An editor starts `codex acp`, an IDE extension `codex app-server`, and communicates over JSON-RPC. In a terminal,
/// `codex demo` shows a complete session without a key, and `codex exec` runs one turn for a script.
#[derive(Debug, Parser)]
#[command(
    name = "codex",
    display_name = "codex-cli",
    version,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = AFTER_HELP
)]
struct CliArguments {
    #[command(flatten)]
    settings: SettingsFlags,
    #[command(flatten)]
    global: global_flags::GlobalFlags,
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "\
Settings are read from ~/.codex/config.toml, or from the folder that CODEX_HOME names; `-c` wins over \
both. RUST_LOG sets how much is logged to standard error, NO_COLOR switches colours off.

Examples:
  codex demo                                          a session to watch, no key needed
  codex app-server --scenario scenarios/hello.toml    a server with a scripted model
  codex exec \"Explain this repository.\"               one turn, the answer on standard output

Exit status: 0 success, 1 failure, 2 wrong usage; some commands have more, which their help lists.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Show a complete session with a scripted model: no key, no network, no cost.
    Demo(demo::DemoArguments),
    /// Run one turn without a UI: the last message on standard output, progress on standard error.
    #[command(visible_alias = "e", version)]
    Exec(Box<exec::ExecArguments>),
    /// Run many tasks, on this machine or on a scheduler.
    Batch(batch::BatchArguments),
    /// Review changes in this repository; the same as `codex exec review`.
    Review(Box<exec::TrustingReviewArguments>),
    /// Continue a stored thread.
    #[command(version)]
    Resume(Box<exec::StoredArguments>),
    /// Continue a copy of a stored thread.
    #[command(version)]
    Fork(Box<exec::StoredArguments>),
    /// Archive a thread, so that lists leave it out.
    Archive(Box<stored_threads::ThreadArguments>),
    /// Restore an archived thread.
    Unarchive(Box<stored_threads::ThreadArguments>),
    /// Delete a thread and its file for good.
    Delete(Box<stored_threads::DeleteArguments>),
    /// Queue a message for a thread.
    Queue(stored_threads::QueueArguments),
    /// Run a command in the sandbox.
    Sandbox(sandbox::SandboxArguments),
    /// Check rules files.
    #[command(subcommand, name = "execpolicy")]
    ExecPolicy(exec_policy::ExecPolicyCommand),
    /// Describe the settings.
    #[command(subcommand)]
    Config(config::ConfigCommand),
    /// List features and whether they are enabled, and set them.
    #[command(subcommand)]
    Features(features::FeaturesCommand),
    /// Restore files to their content before a turn.
    #[command(subcommand)]
    Checkpoint(checkpoint::CheckpointCommand),
    /// Export a stored thread as a document.
    #[command(subcommand)]
    Thread(ThreadCommand),
    /// Serve IDE extensions over JSON-RPC, or describe the protocol.
    AppServer(Box<app_server::AppServerArguments>),
    /// Run commands and read and write files of this machine for an app-server elsewhere.
    ExecServer(Box<exec_server::ExecServerArguments>),
    /// List the other machines of the settings, test them, and install this program there.
    #[command(subcommand)]
    Environment(EnvironmentCommand),
    /// Serve an editor over the Agent Client Protocol.
    Acp(Box<acp::AcpArguments>),
    /// Log in to the model service.
    Login(LoginArguments),
    /// Delete the stored login.
    Logout,
    /// List, add and remove MCP servers, and log in to them.
    Mcp(Box<McpArguments>),
    /// List programs that ran outside of the sandbox, and accept changes of their files.
    Programs(programs::ProgramsArguments),
    /// List, show, install and remove plugins, and add marketplaces of plugins.
    Plugin(Box<PluginArguments>),
    /// Serve the engine as tools of an MCP server.
    McpServer(mcp_server::McpServerArguments),
    /// Serve the queue protocol, one message per line.
    Proto(proto::ProtoArguments),
    /// Check the home folder and this machine, and say how to fix problems.
    Doctor(doctor::DoctorArguments),
    /// Debugging tools: drive a server, inspect and convert traces.
    #[command(subcommand)]
    Debug(DebugCommand),
    /// Print a shell completion script.
    Completion(completion::CompletionArguments),
    /// Write manual pages, one for each command.
    Man(man::ManArguments),
    #[command(flatten)]
    Other(other_commands::OtherCommand),
}

#[derive(Debug, Subcommand)]
enum DebugCommand {
    /// Print the data about models as JSON.
    Models(debug_models::ModelsArguments),
    /// Print the input that the model would get for a prompt, as JSON.
    PromptInput(PromptInputArguments),
    /// Drive an app-server by hand.
    #[command(subcommand)]
    AppServer(debug_app_server::AppServerCommand),
    /// Check clients of the Agent Client Protocol.
    #[command(subcommand)]
    Acp(AcpCommand),
    /// Serve a client that is being checked.
    #[command(hide = true)]
    RecordServer(RecordServerArguments),
    #[command(flatten)]
    Traces(TraceCommand),
}

fn main() -> ExitCode {
    codex_mounts::serve_if_asked();
    codex_exec::run_helper_if_asked();
    codex_code_mode::run_kernel_if_asked();
    codex_exec_server::run_file_operation_if_asked();
    codex_exec_server::become_renamed_program_if_asked();
    let named: Vec<OsString> = std::env::args_os().collect();
    // Freeing it takes as long as parsing, so it stays until the process ends.
    let mut command = ManuallyDrop::new(command(|name| named.iter().any(|word| word == name)));
    let matches = command.get_matches_mut();
    let parsed = CliArguments::from_arg_matches(&matches)
        .and_then(|arguments| Ok((arguments, settings_flags::found_below(&matches)?)));
    let (arguments, settings) = parsed.unwrap_or_else(|error| error.exit());
    match run(arguments, settings) {
        Ok(_) if print::has_failed() => ExitCode::FAILURE,
        Ok(code) => code,
        Err(_) if print::reader_has_left() => ExitCode::from(print::READER_LEFT),
        Err(error) => {
            print::with_console(|console| console.error(&error));
            ExitCode::FAILURE
        }
    }
}

/// The command line. `is_needed` says which commands get the flags for settings. Flags before the subcommand hold for it, but are
/// not those of all commands.
fn command(is_needed: impl Fn(&str) -> bool) -> clap::Command {
    let command = CliArguments::command().mut_args(|argument| argument.global(false));
    settings_flags::below(command, &is_needed)
}

/// `below` are the settings of flags behind the subcommand.
fn run(arguments: CliArguments, below: SettingsFlags) -> anyhow::Result<ExitCode> {
    let CliArguments {
        settings,
        mut global,
        mut command,
    } = arguments;
    let success = |()| ExitCode::SUCCESS;
    if let Some(flags) = take_flags(&mut command) {
        global.add(flags);
    }
    let given = settings.clone().followed_by(below.clone());
    let mut settings = settings
        .followed_by(global.settings(&given)?)
        .followed_by(below);
    if let Command::Resume(arguments) | Command::Fork(arguments) = &command {
        settings = settings.followed_by(arguments.ui.settings()?);
    }
    let turn = match command {
        Command::Exec(arguments) => Ok(*arguments),
        Command::Review(review) => Ok(exec::ExecArguments::from(*review)),
        Command::Resume(arguments) => Ok(arguments.into_exec(false)),
        Command::Fork(arguments) => Ok(arguments.into_exec(true)),
        other => Err(other),
    };
    command = match turn {
        Ok(mut arguments) => {
            arguments.take_global(global);
            return exec::run(arguments, settings);
        }
        Err(command) => command,
    };
    if let Command::Other(command) = &command {
        other_commands::refuse(command)?;
    }
    if let Some(remote) = remote_of(&mut command) {
        *remote = std::mem::take(&mut global.remote);
    }
    global.enter_folder()?;
    global.apply_others(&mut settings)?;
    match command {
        // Done above.
        Command::Exec(_)
        | Command::Review(_)
        | Command::Resume(_)
        | Command::Fork(_)
        | Command::Other(_) => Ok(ExitCode::SUCCESS),
        Command::Batch(arguments) => batch::run(arguments, &settings),
        Command::Archive(arguments) => stored_threads::archive(&arguments, &settings),
        Command::Unarchive(arguments) => stored_threads::unarchive(&arguments, &settings),
        Command::Delete(arguments) => stored_threads::delete(&arguments, &settings),
        Command::Queue(arguments) => stored_threads::queue(&arguments, &settings),
        Command::Sandbox(arguments) => sandbox::run(arguments, settings),
        Command::ExecPolicy(command) => exec_policy::run(command).map(success),
        Command::Demo(arguments) => demo::run(arguments),
        Command::Checkpoint(command) => checkpoint::run(command, &settings),
        Command::Thread(command) => {
            let ended = print::with_console(|console| run_thread_command(command, console));
            Ok(ExitCode::from(ended?.exit_status()))
        }
        Command::Config(command) => config::run(&command).map(success),
        Command::Features(command) => features::run(&command, &settings).map(success),
        Command::AppServer(arguments) if arguments.asks_for_startup_config() => {
            startup_config::print(&settings).map(success)
        }
        Command::AppServer(arguments) => app_server::run(*arguments, settings).map(success),
        Command::ExecServer(arguments) => exec_server::run(*arguments).map(success),
        Command::Environment(command) => {
            let settings = settings.overrides()?;
            print::with_console(|console| run_environment_command(&command, &settings, console))
                .map(success)
        }
        Command::Acp(arguments) => acp::run(*arguments, settings),
        Command::Login(arguments) => {
            let settings = settings.overrides()?;
            print::with_console(|console| log_in(&arguments, &settings, console)).map(success_if)
        }
        Command::Logout => {
            let settings = settings.overrides()?;
            print::with_console(|console| log_out(&settings, console)).map(success_if)
        }
        Command::Mcp(arguments) => {
            let settings = settings.overrides()?;
            print::with_console(|console| run_mcp_command(&arguments, &settings, console))
                .map(success)
        }
        Command::Programs(arguments) => programs::run(arguments, settings),
        Command::Plugin(arguments) => {
            let settings = settings.overrides()?;
            print::with_console(|console| run_plugin_command(*arguments, settings, console))
                .map(success)
        }
        Command::McpServer(arguments) => mcp_server::run(arguments, settings),
        Command::Proto(arguments) => proto::run(arguments, &settings).map(success),
        Command::Doctor(arguments) => doctor::run(&arguments, &settings),
        Command::Debug(command) => debug(command, &settings),
        Command::Completion(arguments) => {
            completion::run(&arguments, self::command(|_| true))?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Man(arguments) => man::run(&arguments, self::command(|_| true)).map(success),
    }
}

/// The flags behind a subcommand that are those before it as well.
fn take_flags(command: &mut Command) -> Option<global_flags::GlobalFlags> {
    match command {
        Command::Archive(arguments) | Command::Unarchive(arguments) => {
            Some(std::mem::take(&mut arguments.flags))
        }
        Command::Delete(arguments) => Some(std::mem::take(&mut arguments.thread.flags)),
        Command::Queue(arguments) => Some(arguments.take_flags()),
        _ => None,
    }
}

/// Where a command expects the flags that name a running server.
fn remote_of(command: &mut Command) -> Option<&mut remote_flags::RemoteFlags> {
    match command {
        Command::Archive(arguments) | Command::Unarchive(arguments) => {
            Some(&mut arguments.flags.remote)
        }
        Command::Delete(arguments) => Some(&mut arguments.thread.flags.remote),
        Command::Queue(arguments) => Some(&mut arguments.remote),
        _ => None,
    }
}

fn debug(command: DebugCommand, settings: &SettingsFlags) -> anyhow::Result<ExitCode> {
    match command {
        DebugCommand::Models(arguments) => {
            debug_models::run(&arguments, settings).map(|()| ExitCode::SUCCESS)
        }
        DebugCommand::PromptInput(arguments) => {
            let settings = settings.overrides()?;
            print::with_console(|console| print_prompt_input(arguments, settings, console))?;
            Ok(ExitCode::SUCCESS)
        }
        DebugCommand::AppServer(AppServerCommand::Send(arguments)) => {
            debug_app_server::run(arguments, settings)
        }
        DebugCommand::AppServer(AppServerCommand::Check(arguments)) => {
            check(&arguments, ClientProtocol::AppServer)
        }
        DebugCommand::Acp(AcpCommand::Check(arguments)) => check(&arguments, ClientProtocol::Acp),
        DebugCommand::RecordServer(arguments) => {
            let status = record_server(&arguments)?;
            let code = status.code().and_then(|code| u8::try_from(code).ok());
            Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
        }
        DebugCommand::Traces(command) => {
            let settings = settings.overrides()?;
            let ended = print::with_console(|console| {
                codex_trace_commands::run(command, &settings, console)
            });
            Ok(ExitCode::from(ended?.exit_status()))
        }
    }
}

fn check(arguments: &CheckArguments, protocol: ClientProtocol) -> anyhow::Result<ExitCode> {
    let has_mistakes = print::with_console(|console| check_client(arguments, protocol, console))?;
    Ok(success_if(!has_mistakes))
}

fn success_if(is_done: bool) -> ExitCode {
    if is_done {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_flags(command: &clap::Command, path: &str) {
        for flag in ["config", "enable", "disable", "strict-config"] {
            let takes = command
                .get_arguments()
                .any(|argument| argument.get_long() == Some(flag));
            assert!(takes, "`{path}` takes no --{flag}");
        }
        for below in command.get_subcommands() {
            check_flags(below, &format!("{path} {}", below.get_name()));
        }
    }

    #[test]
    fn named_commands_take_settings() {
        fn check_path(all: &clap::Command, path: &[String]) {
            let built = command(|name| path.iter().any(|word| word == name));
            let mut at = &built;
            for word in path {
                at = at.find_subcommand(word).unwrap();
                let takes = |flag| {
                    at.get_arguments()
                        .any(|argument| argument.get_long() == Some(flag))
                };
                assert!(takes("config") && takes("strict-config"), "{path:?}");
            }
            for below in all.get_subcommands() {
                for name in std::iter::once(below.get_name()).chain(below.get_all_aliases()) {
                    check_path(below, &[path, &[name.to_owned()]].concat());
                }
            }
        }
        check_path(&command(|_| true), &[]);
    }

    #[test]
    fn every_command_takes_settings() {
        let command = command(|_| true);
        command.clone().debug_assert();
        check_flags(&command, "codex");
    }
}
