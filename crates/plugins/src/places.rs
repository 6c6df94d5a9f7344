//! Where marketplace files lie.

use std::path::{Path, PathBuf};

use crate::id::{PluginId, is_name};
use crate::marketplace_copies::MarketplaceCopies;
use crate::mended::mend;

/// The marketplace of the curated catalogue.
const CURATED_NAME: &str = "openai-curated";
/// The checkout of the curated catalogue, which other programs keep in the home folder.
const CURATED_FOLDER: &str = ".tmp/plugins";
/// The file with the commit of that checkout.
const CURATED_COMMIT: &str = ".tmp/plugins.sha";
const COMMIT_LIMIT: u64 = 1024;
/// The marketplace file of a folder, in the order in which it is looked for: our own, and those of other coding agents.
const FILES: [&str; 3] = [
    ".agents/plugins/marketplace.json",
    ".claude-plugin/marketplace.json",
    ".cursor-plugin/marketplace.json",
];
/// The folders of marketplace files, below the root.
const FOLDERS: [&str; 3] = [".agents/plugins", ".claude-plugin", ".cursor-plugin"];

/// The marketplace file of a folder, if it has one. What is there in place of a file counts, so that it is reported.
#[must_use]
pub fn marketplace_of(folder: &Path) -> Option<PathBuf> {
    let mut files = FILES.iter().map(|file| folder.join(file));
    files.find(|file| codex_mounts::symlink_metadata(file).is_ok())
}

/// Where the marketplace file of a folder is expected.
#[must_use]
pub fn usual_file(folder: &Path) -> PathBuf {
    folder.join(FILES[0])
}

/// The folders of the marketplaces of a user: the user's own folder, the checkout that other programs keep in the home folder,
/// and the ones that were added, of each of which the name, the kind and the source are given.
pub fn folders_of_user<'a>(
    home: &Path,
    user: Option<PathBuf>,
    added: impl IntoIterator<Item = (&'a str, &'a str, &'a str)>,
) -> Vec<PathBuf> {
    let copies = MarketplaceCopies::of_home(home);
    let added = added.into_iter().map(|(name, kind, source)| match kind {
        "git" => copies.used_root(name),
        _ => PathBuf::from(source),
    });
    let curated = home.join(CURATED_FOLDER);
    mend(home, &curated);
    let own = user.into_iter().chain([curated]);
    own.chain(added).collect()
}

/// The version of a plugin of the curated catalogue: the commit of the catalogue, if it is known.
pub(crate) fn curated_version(home: &Path, id: &PluginId) -> Option<String> {
    if id.marketplace() != CURATED_NAME {
        return None;
    }
    let written = codex_regular_file::read_text(&home.join(CURATED_COMMIT), COMMIT_LIMIT).ok();
    let commit = written.map_or_else(
        || {
            Some(
                MarketplaceCopies::of_home(home)
                    .origin(CURATED_NAME)?
                    .revision,
            )
        },
        |text| Some(text.trim().to_owned()),
    );
    commit.filter(|commit| is_name(commit))
}

/// The marketplace files of these folders, sorted by path, each once.
#[must_use]
pub fn marketplace_files<'a>(folders: impl IntoIterator<Item = &'a Path>) -> Vec<PathBuf> {
    let mut files: Vec<_> = folders.into_iter().filter_map(marketplace_of).collect();
    files.sort();
    files.dedup();
    files
}

/// The folder that a marketplace file is of.
pub(crate) fn root_of(file: &Path) -> Option<PathBuf> {
    let folder = file.parent()?;
    FOLDERS.iter().find_map(|known| {
        let known = Path::new(known);
        folder.ends_with(known).then(|| {
            let above = folder.ancestors().nth(known.components().count());
            above.map(Path::to_path_buf)
        })?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plugin_roots_contain_the_known_folders() {
        let root = |file: &str| root_of(Path::new(file));
        assert_eq!(
            root("/a/.agents/plugins/marketplace.json").unwrap(),
            Path::new("/a")
        );
        assert_eq!(
            root("/a/.agents/plugins/other.json").unwrap(),
            Path::new("/a")
        );
        assert_eq!(
            root("/a/.claude-plugin/marketplace.json").unwrap(),
            Path::new("/a")
        );
        assert_eq!(root("/a/marketplace.json"), None);
        assert_eq!(root("/a/x/plugins/marketplace.json"), None);
    }

    #[test]
    fn each_file_counts_once_in_the_order_of_paths() {
        let home = tempfile::tempdir().unwrap();
        let folders: Vec<PathBuf> = ["b", "a", "c"].map(|name| home.path().join(name)).into();
        for folder in &folders[..2] {
            let file = folder.join(FILES[0]);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "").unwrap();
        }
        let twice = folders.iter().chain(&folders).map(PathBuf::as_path);
        let found = marketplace_files(twice);
        let expected = ["a", "b"].map(|name| home.path().join(name).join(FILES[0]));
        assert_eq!(found, expected);
    }
}
