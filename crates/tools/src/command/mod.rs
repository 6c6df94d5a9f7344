//! What all shell tools share: the item of a command, approval, the run and the output for the model.

mod begin;
mod format;
mod item;
mod request;
mod run;
mod variables;

pub(crate) use begin::command_item;
pub(crate) use format::{OutputLayout, structured, with_refusals};
pub(crate) use item::{CommandEnd, CommandItem, connections};
pub(crate) use request::{ApprovalArguments, AskablePermissions, approval_properties};
pub(crate) use run::{
    CommandRequest, DECLINED_MESSAGE, attempt, effect, launch, run_command, spawn_problem,
};
pub(crate) use variables::own_variables;
