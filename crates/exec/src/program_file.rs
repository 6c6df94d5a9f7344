//! Which file a program name stands for on Windows.

use std::path::{Path, PathBuf};

/// The extensions of programs, in the order in which they are tried.
const EXTENSIONS: [&str; 4] = [".com", ".exe", ".bat", ".cmd"];

/// Finds the file of a program. A name without folder is searched in the folders of `search_path`, never in the working
/// folder: what lies there may have been written by a model. An extension may be left out.
pub(crate) fn find_program(
    name: &str,
    cwd: &Path,
    search_path: impl IntoIterator<Item = PathBuf>,
    is_file: impl Fn(&Path) -> bool,
) -> Option<PathBuf> {
    let in_folder = |folder: &Path| {
        let names = candidates(name).map(|name| folder.join(name));
        names.into_iter().find(|file| is_file(file))
    };
    if name.contains(['/', '\\', ':']) {
        return in_folder(cwd);
    }
    let folders = search_path.into_iter();
    folders
        .filter(|folder| folder.is_absolute())
        .find_map(|folder| in_folder(&folder))
}

/// The name as it is, if it has an extension, and then with each extension of programs.
fn candidates(name: &str) -> impl Iterator<Item = String> {
    let last = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let whole = last.contains('.').then(|| name.to_owned());
    let extended = EXTENSIONS.map(|extension| format!("{name}{extension}"));
    whole.into_iter().chain(extended)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_searched_and_extensions_added() {
        let root = std::env::temp_dir();
        let [a, b, here] = ["a", "b", "here"].map(|name| root.join(name));
        let files = [
            a.join("npm.cmd"),
            b.join("npm.exe"),
            b.join("tool.1.exe"),
            here.join("npm.exe"),
            here.join("sub/run.exe"),
        ];
        let find = |name: &str| {
            let folders = [PathBuf::from("relative"), a.clone(), b.clone()];
            find_program(name, &here, folders, |file| {
                files.iter().any(|known| known == file)
            })
        };
        assert_eq!(find("npm"), Some(a.join("npm.cmd")));
        assert_eq!(find("npm.exe"), Some(b.join("npm.exe")));
        assert_eq!(find("tool.1"), Some(b.join("tool.1.exe")));
        assert_eq!(find("sub/run"), Some(here.join("sub/run.exe")));
        assert_eq!(find("run"), None);
    }
}
