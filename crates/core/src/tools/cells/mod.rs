//! The tools that run cells, and what cells can call.

mod descriptions;
mod exec;
mod nested;
mod output;
mod wait;

pub(crate) use descriptions::{exec_description, with_declaration};
pub(crate) use exec::ExecTool;
pub(crate) use nested::{NestedScope, NestedTool, NestedTools, is_direct_only};
pub(crate) use wait::WaitTool;
