//! A folder of files, and patches applied to it by the tool and by the program.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use codex_apply_patch::{
    DiskFiles, Patch, PatchCaller, PatchPlan, ProgramOutput, VerifyError, run_program,
};
use tempfile::TempDir;

/// Maps relative paths to contents; folders have none.
pub(crate) type Tree = BTreeMap<String, Option<Vec<u8>>>;

pub(crate) struct Folder {
    dir: TempDir,
}

impl Folder {
    pub(crate) fn with_files(files: &[(&str, &str)]) -> Self {
        let folder = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        for (path, content) in files {
            folder.write(path, content);
        }
        folder
    }

    /// The path with links resolved, for comparison with resolved paths.
    pub(crate) fn path(&self) -> PathBuf {
        dunce::canonicalize(self.dir.path()).unwrap()
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        collect(&self.path(), &self.path(), &mut tree);
        tree
    }

    /// Runs the program with a patch; adds the markers to its body.
    pub(crate) fn program(&self, body: &str) -> ProgramOutput {
        self.program_raw(&patch(body))
    }

    pub(crate) fn program_raw(&self, text: &str) -> ProgramOutput {
        let arguments = [OsString::from(text)].into_iter();
        run_program(arguments, std::io::empty(), &self.path())
    }

    /// Verifies a patch as the tool does.
    pub(crate) fn verify(&self, body: &str) -> Result<PatchPlan, VerifyError> {
        Patch::parse(&patch(body))?.verify(&self.path(), &DiskFiles, PatchCaller::Tool)
    }

    /// The tool's error text, with this folder written as `~`.
    pub(crate) fn tool_error(&self, body: &str) -> String {
        let error = self.verify(body).expect_err("verification should fail");
        error
            .text(PatchCaller::Tool)
            .replace(self.path().to_str().unwrap(), "~")
            .replace('\\', "/")
    }
}

/// A text with errors of Linux as this system says it.
pub(crate) fn with_local_errors(text: &str) -> String {
    if !cfg!(windows) {
        return text.to_owned();
    }
    let of_code = |code| std::io::Error::from_raw_os_error(code).to_string();
    text.replace("No such file or directory (os error 2)", &of_code(2))
        .replace("File exists (os error 17)", &of_code(183))
        .replace("Is a directory (os error 21)", "is a directory")
}

pub(crate) fn patch(body: &str) -> String {
    format!("*** Begin Patch\n{body}\n*** End Patch")
}

fn collect(root: &Path, folder: &Path, tree: &mut Tree) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path
            .strip_prefix(root)
            .unwrap()
            .to_str()
            .unwrap()
            .replace('\\', "/");
        if let Ok(target) = fs::read_link(&path) {
            let target = format!("-> {}", target.display()).into_bytes();
            tree.insert(name, Some(target));
        } else if path.is_dir() {
            tree.insert(name, None);
            collect(root, &path, tree);
        } else {
            tree.insert(name, Some(fs::read(&path).unwrap()));
        }
    }
}

/// Files as a tree, for comparison; a path that ends in `/` is a folder.
pub(crate) fn tree(files: &[(&str, &str)]) -> Tree {
    let mut tree = Tree::new();
    for (path, content) in files {
        for folder in Path::new(path).ancestors().skip(1) {
            if !folder.as_os_str().is_empty() {
                tree.insert(folder.to_str().unwrap().to_owned(), None);
            }
        }
        match path.strip_suffix('/') {
            Some(folder) => tree.insert(folder.to_owned(), None),
            None => tree.insert((*path).to_owned(), Some(content.as_bytes().to_owned())),
        };
    }
    tree
}
