//! Other machines: what a turn does there, in place of this machine. Nothing here opens a path of another machine on this one.

mod instructions;
mod place;
mod process;
mod sandbox;

pub use instructions::{joined, read_instructions};
pub use place::{RemotePlace, place_of};
pub use process::{RemoteStart, start};
pub use sandbox::{has_outer_sandbox, may_write, sandbox_of};
