//! `exec_command` and `write_stdin`: commands in terminals that outlive the turn.

mod exec_command;
mod output;
mod terminal;
mod terminals;
mod typed_line;
mod write_stdin;

pub(crate) use exec_command::ExecCommandTool;
pub use terminals::TerminalRegistry;
pub(crate) use write_stdin::WriteStdinTool;
