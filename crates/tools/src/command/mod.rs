//! What all shell tools share: the begin of an item, approval, and the run. `command_item` and `command_format` have its end and
//! the output for the model.

mod begin;
mod request;
mod run;

pub(crate) use begin::command_item;
pub(crate) use request::{ApprovalArguments, AskablePermissions, approval_properties};
pub(crate) use run::{
    CommandRequest, DECLINED_MESSAGE, attempt, effect, launch, run_command, spawn_problem,
};
