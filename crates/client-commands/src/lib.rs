//! Layer: surface. Commands that are clients of an app-server: one turn without a UI, stored threads, plugins, the
//! demonstration, and the tools for those who write clients.
//!
//! A command takes values, among them the server that it uses ([`ServerChoice`]), and returns what came of it. What it answers goes
//! to a console; a person is asked at the terminal. Where its flags are its own, it owns their type; flags that commands share are those of the program.

mod client_check;
mod demo;
mod exec;
mod interactive_user;
mod plugins;
mod prompt_input;
mod send;
mod server;
mod server_process;
mod stored_threads;

pub use client_check::{
    CheckArguments, ClientProtocol, RecordServerArguments, check_client, record_server,
};
pub use demo::{Demo, play_demo};
pub use exec::{
    ExecOptions, ExecTask, INTERRUPTED_EXIT_CODE, StoredThread, ThreadChoice, exec, read_prompt,
};
pub use interactive_user::Screen;
pub use plugins::{PluginArguments, run as run_plugin_command};
pub use prompt_input::{PromptInputArguments, print_prompt_input};
pub use send::{ApprovalAnswer, MessageToSend, send};
pub use server::{RunningServer, ServerChoice, ServerEnd, call};
pub use server_process::own_server;
pub use stored_threads::{
    Confirmation, QueuedMessage, archive_thread, delete_thread, queue_message, unarchive_thread,
};
