//! The `apply_patch` command line, with input and output as values.

use std::ffi::OsString;
use std::io::Read;
use std::path::Path;

use crate::apply::apply;
use crate::error::PatchCaller;
use crate::files::DiskFiles;
use crate::patch::Patch;

/// Limit on the length of a patch from standard input.
const MAX_PATCH_BYTES: u64 = 64 * 1024 * 1024;

const USAGE: &str = "Usage: apply_patch 'PATCH'\n       echo 'PATCH' | apply_patch";

/// The output and exit code of the process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramOutput {
    pub exit_code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl ProgramOutput {
    fn failed(exit_code: i32, text: impl Into<String>) -> Self {
        let mut stderr = text.into();
        stderr.push('\n');
        Self {
            exit_code,
            stdout: String::new(),
            stderr,
        }
    }
}

/// Runs the program. `arguments` excludes the program's name; `stdin` is read only if there are none; relative paths
/// start at `cwd`.
pub fn run_program(
    mut arguments: impl Iterator<Item = OsString>,
    stdin: impl Read,
    cwd: &Path,
) -> ProgramOutput {
    let patch = match (arguments.next(), arguments.next()) {
        (None, _) => read_patch(stdin),
        (Some(argument), None) => argument.into_string().map_err(|_| {
            ProgramOutput::failed(1, "Error: the patch given to apply_patch is not UTF-8.")
        }),
        (Some(_), Some(_)) => {
            let text = "Error: apply_patch accepts exactly one argument.";
            Err(ProgramOutput::failed(2, text))
        }
    };
    match patch {
        Ok(patch) => apply_text(&patch, cwd),
        Err(output) => output,
    }
}

fn read_patch(stdin: impl Read) -> Result<String, ProgramOutput> {
    let mut bytes = Vec::new();
    let read = stdin.take(MAX_PATCH_BYTES + 1).read_to_end(&mut bytes);
    let failed = |reason: &str| {
        ProgramOutput::failed(
            1,
            format!("Error: Failed to read PATCH from stdin.\n{reason}"),
        )
    };
    match read {
        Err(error) => Err(failed(&error.to_string())),
        Ok(0) => Err(ProgramOutput::failed(2, USAGE)),
        Ok(read) if read as u64 > MAX_PATCH_BYTES => Err(failed("it is too long")),
        Ok(_) => String::from_utf8(bytes).map_err(|error| failed(&error.to_string())),
    }
}

fn apply_text(patch: &str, cwd: &Path) -> ProgramOutput {
    let plan = match Patch::parse(patch)
        .map_err(Into::into)
        .and_then(|patch| patch.verify(cwd, &DiskFiles, PatchCaller::Program))
    {
        Ok(plan) => plan,
        Err(error) => return ProgramOutput::failed(1, error.text(PatchCaller::Program)),
    };
    match apply(&plan) {
        Ok(()) => ProgramOutput {
            exit_code: 0,
            stdout: plan.success_text(),
            stderr: String::new(),
        },
        Err(error) => ProgramOutput::failed(1, error.to_string()),
    }
}
