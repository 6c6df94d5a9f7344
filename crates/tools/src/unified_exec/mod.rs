//! `exec_command` and `write_stdin`: commands in terminals that outlive the turn.

mod exec_command;
mod output;
mod write_stdin;

pub(crate) use exec_command::ExecCommandTool;
pub(crate) use write_stdin::WriteStdinTool;
