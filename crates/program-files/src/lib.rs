//! Layer: foundation. Which files decide what a command line runs, and whether they are what somebody has seen.
//!
//! Hooks, MCP servers and other programs of the user run outside of the sandbox. If a sandboxed command could write the
//! script that one of them runs, it would decide what runs outside. [`ProgramFiles`] finds the files that the words of a
//! line or of an argument list lead to: programs on the search path, scripts, what their options name. Files of the system
//! are not among them.
//!
//! A word whose value is not known before the line runs, and that may name a file to run, is reported: what it leads to
//! cannot be checked. Scripts are followed to the code that they name (`references`), interpreters to the packages that
//! they load (`folder`). Code that computes what it runs is reported as well, in a line and in scripts (`code_calls`).
//!
//! Code map: `line` (words of a shell line), `candidates` (the paths that words may mean), `known_programs` (what programs
//! do with their arguments), `tool_settings` (files with settings of tools), `builders` (programs that run whatever lies in their folder), `indirect_runs` (commands that
//! run what others list), `interpreters` (which programs run code, and in which language), `python_start` (how Python is
//! started), `python_imports` (the modules that its code imports), `typescript_paths` (other names of modules), `awk` and `sed` (whether their programs run lines), `code_calls` (what code runs in turn, and in which
//! folders), `moved_commands` (what runs in a folder that is not known), `code_variables` (what variables name), `finder`
//! and `files` (the files there), `references` (what these name in turn), `script_places` (where a script finds itself), `run_places` (in which folders a file runs),
//! `recipe_runners` (which recipes are asked for), `recipes` (what a recipe runs), `git_settings` (what git runs), `folder`
//! (packages), `content` (hashes), `record` (what ran before), `program_file` (how a system finds and protects programs).

mod awk;
mod builders;
mod candidates;
mod code_calls;
mod code_variables;
mod content;
mod effort;
mod files;
mod finder;
mod folder;
mod found_files;
mod git_settings;
mod indirect_runs;
mod interpreters;
mod known_programs;
mod launch_place;
mod line;
mod moved_commands;
mod name_pattern;
mod program_file;
mod python_imports;
mod python_start;
mod recipe_runners;
mod recipes;
mod record;
mod references;
mod run_places;
mod script_places;
mod sed;
mod system_programs;
mod tool_settings;
mod typescript_paths;

pub use code_variables::writable_variables;
pub use content::{ContentError, sha256_digits};
pub use found_files::{ProgramFile, ProgramFiles};
pub use launch_place::LaunchPlace;
pub use program_file::{
    DEFAULT_PATH, anybody_may_write, belongs_to_administrator, file_names, is_path, may_be_run,
    variable,
};
pub use record::{NotAsRecorded, ProgramRecord, RecordEntry, StartedProgram};
pub use system_programs::{SYSTEM_FOLDERS, system_first, system_program};
