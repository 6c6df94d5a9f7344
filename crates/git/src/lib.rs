//! Layer: capability. Queries repositories with the git program.
//!
//! Git runs nothing that a repository configures (hooks, filters, file system monitors, external diffs, text
//! conversions, transports), prompts for no password, takes no locks, and is killed after a time limit. No
//! repository is changed. Repositories that others publish can be copied over the network.
//!
//! Code map: `safe_command` (options and environment), `private_git_dir` (replaces the repository's settings, for
//! commands that touch the working tree), `program` (runs git), `remote_diff` (changes that no remote has),
//! `published` (copies of published repositories), `network_settings` (what of the user's settings these need), `working_tree` and `index_file` (the tracked files and their state),
//! `ignore_files` (the user's ignore file for all repositories).

mod ignore_files;
mod index_file;
mod network_settings;
pub mod private_git_dir;
mod program;
mod published;
mod remote_diff;
pub mod safe_command;
#[cfg(all(test, unix))]
mod test_programs;
mod working_tree;

pub use ignore_files::ignore_files;
pub use index_file::{ObjectId, TrackedFile, TrackedFiles, parse_index};
pub use program::GitError;
pub use published::PublishedRepository;
pub use remote_diff::{RemoteDiff, diff_to_remote};
pub use working_tree::WorkingTree;
