//! Layer: capability. Asks the git program about a repository.
//!
//! It promises that git runs nothing that a repository names (hooks, filters, a file system monitor,
//! external diffs, text conversions, transports), asks nobody for a password, takes no locks, and
//! ends after a while. It changes no repository.
//!
//! Code map: `harmless` (how git is asked), `private` (settings of ours in the place of a
//! repository's, for whatever touches files), `program` (running it), `remote_diff` (what a remote does not have), `working_tree` and
//! `index_file` (what a repository has of the files in its working tree), `ignore_files` (where the user keeps rules for
//! all repositories).

pub mod harmless;
mod ignore_files;
mod index_file;
pub mod private;
mod program;
mod remote_diff;
#[cfg(all(test, unix))]
mod test_programs;
mod working_tree;

pub use ignore_files::ignore_files;
pub use index_file::{ObjectId, TrackedFile, TrackedFiles, parse_index};
pub use program::GitError;
pub use remote_diff::{RemoteDiff, diff_to_remote};
pub use working_tree::WorkingTree;
