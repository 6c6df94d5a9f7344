//! Layer: foundation. Which files are hidden from models and their commands.
//!
//! [`HiddenFiles`] has the patterns of a session: those of the user, of the administrator and a built-in list. Projects add
//! theirs in a file [`IGNORE_FILE`]. Two questions are answered:
//!
//! - [`HidingRules::hides`]: is this path hidden? For tools of the engine, which ask before they touch a file. No folder is
//!   listed.
//! - [`HiddenFiles::find`]: which hidden files exist now? For sandboxes, which hide paths and know no patterns. What was found
//!   is kept: later only folders that have changed are listed again.
//!
//! Whatever cannot be found out is an error, or hidden. This crate hides nothing by itself.
//!
//! Code map: `pattern` (a pattern of settings), `built_in` (the built-in list), `matcher` (the patterns of one owner),
//! `ignore_file` (those of a project), `real_path` (paths that can be compared), `rules` (all that apply in a workspace), `folder_tree` (finding files), `find` (which
//! folders are searched), `stamp` (whether something has changed).

mod built_in;
mod find;
mod folder_tree;
mod ignore_file;
mod matcher;
mod pattern;
mod real_path;
mod rules;
mod stamp;

pub use find::{FindError, HiddenFiles, HiddenPath};
pub use ignore_file::IGNORE_FILE;
pub use matcher::{PatternList, PatternOwner};
pub use pattern::PatternError;
pub use rules::{HidingRules, WorkspaceFolder};
