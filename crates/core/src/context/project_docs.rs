//! AGENTS.md: instructions in files, from the home folder and from the project's root down to the
//! working folder. Read once, when a session starts.

use std::fs;
use std::path::{Path, PathBuf};

use crate::config::ProjectDocs;

const NAMES: [&str; 2] = ["AGENTS.override.md", "AGENTS.md"];

/// All instructions in files, joined; none if there are none.
pub(crate) fn read_project_docs(home: &Path, cwd: &Path, docs: &ProjectDocs) -> Option<String> {
    let global = NAMES.iter().find_map(|name| non_empty(&home.join(name)));
    let project = project(cwd, docs);
    match (global, project) {
        (Some(global), Some(project)) => {
            Some(format!("{global}\n\n--- project-doc ---\n\n{project}"))
        }
        (global, project) => global.or(project),
    }
}

fn non_empty(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn project(cwd: &Path, docs: &ProjectDocs) -> Option<String> {
    let mut left = docs.max_bytes;
    let mut texts = Vec::new();
    for folder in folders(cwd, &docs.root_markers) {
        if left == 0 {
            break;
        }
        let names = NAMES
            .into_iter()
            .chain(docs.fallback_names.iter().map(String::as_str));
        let Some(file) = names
            .map(|name| folder.join(name))
            .find(|path| path.is_file())
        else {
            continue;
        };
        match fs::read(&file) {
            Ok(mut bytes) => {
                bytes.truncate(left);
                let text = String::from_utf8_lossy(&bytes);
                if !text.trim().is_empty() {
                    left -= bytes.len();
                    texts.push(text.into_owned());
                }
            }
            Err(error) => {
                tracing::warn!(path = %file.display(), %error, "cannot read instructions")
            }
        }
    }
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

/// From the root of the project down to the working folder.
fn folders(cwd: &Path, markers: &[String]) -> Vec<PathBuf> {
    let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
    let is_root = |folder: &&Path| markers.iter().any(|marker| folder.join(marker).exists());
    let Some(root) = cwd.ancestors().find(is_root) else {
        return vec![cwd];
    };
    let mut folders: Vec<PathBuf> = cwd
        .ancestors()
        .take_while(|folder| folder.starts_with(root))
        .map(Path::to_owned)
        .collect();
    folders.reverse();
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_joined_from_the_root_down_within_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let (home, root) = (folder.path().join("home"), folder.path().join("root"));
        let cwd = root.join("a/b");
        fs::create_dir_all(&home).unwrap();
        fs::create_dir_all(&cwd).unwrap();
        fs::create_dir(root.join(".git")).unwrap();
        fs::write(home.join("AGENTS.md"), " global \n").unwrap();
        fs::write(root.join("AGENTS.md"), "root").unwrap();
        fs::write(cwd.join("AGENTS.override.md"), "deep!").unwrap();
        fs::write(cwd.join("AGENTS.md"), "hidden").unwrap();
        fs::write(folder.path().join("AGENTS.md"), "outside").unwrap();
        let read = |max_bytes| {
            let docs = ProjectDocs {
                max_bytes,
                ..ProjectDocs::default()
            };
            read_project_docs(&home, &cwd, &docs).unwrap()
        };
        assert_eq!(read(1000), "global\n\n--- project-doc ---\n\nroot\n\ndeep!");
        assert_eq!(read(6), "global\n\n--- project-doc ---\n\nroot\n\nde");
        assert_eq!(read(0), "global");
    }
}
