//! Layer: surface. The exec server: runs commands of this machine and reads and writes its files, for an app-server
//! elsewhere. Speaks JSON-RPC without the `jsonrpc` member, a message a frame or a line.
//!
//! A client opens a session. Its processes outlive a lost connection for a while; what they print meanwhile is kept, and
//! asked for again by number. What travels is the meaning of a sandbox: it is resolved here, where it is enforced, and a
//! command or a file operation that cannot be confined as asked is refused.
//!
//! Code map: `machine` (how things are done here), `server` (what all connections share), `connection` (messages of one), `session` (what outlives it),
//! `process` (one command and its numbered output), `requests` (params of methods), `files` (operations on files, also in a
//! confined process: `file_operation`), `handles`, `walk`, `watches`, `policy` (the sandbox of a request), `facts` (what
//! this machine is), `file_uri`, `refusal`, `renamed_program`
//! (a command under another name), `remembered_writes` (input that came before).

mod connection;
mod facts;
mod file_operation;
mod file_uri;
mod files;
mod handles;
mod machine;
mod policy;
mod process;
mod refusal;
mod remembered_writes;
mod renamed_program;
mod requests;
mod server;
mod session;
mod walk;
mod watches;

pub use file_operation::run_file_operation_if_asked;
pub use renamed_program::become_renamed_program_if_asked;
pub use server::MachineServer;
