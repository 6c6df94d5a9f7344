//! Layer: foundation. Tables whose rows are tasks: their CSV form, an id for each row, and templates with the values of a row.

mod csv;
mod table;
mod template;

pub use csv::{each_record, push_record};
pub use table::{TableProblem, TaskIds, TaskRow, TaskTable};
pub use template::fill;
