//! Against real folders.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use super::*;

fn text(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path).unwrap()
}

fn read_all(path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    let mut reading = open(path, limit)?;
    let mut all = Vec::new();
    let mut buffer = [0; 3];
    loop {
        match reading.fill(&mut buffer)? {
            0 => return Ok(all),
            filled => all.extend_from_slice(&buffer[..filled]),
        }
    }
}

fn make_fifo(path: &Path) {
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
}

#[test]
fn a_file_is_read_up_to_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, "12345").unwrap();
    assert_eq!(read_all(&path, 5).unwrap(), b"12345");
    assert!(matches!(
        read_all(&path, 4),
        Err(FileError::TooLarge { limit: 4 })
    ));
    // Virtual files report the length 0.
    assert!(
        !read_all(Path::new("/proc/self/stat"), 4096)
            .unwrap()
            .is_empty()
    );
}

#[test]
fn growing_file_is_read_to_its_initial_length() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, "12345").unwrap();
    let mut reading = open(&path, 100).unwrap();
    fs::write(&path, "1234567").unwrap();
    let mut buffer = [0; 4];
    assert_eq!(reading.fill(&mut buffer).unwrap(), 4);
    assert_eq!(reading.fill(&mut buffer).unwrap(), 1);
    assert_eq!(reading.fill(&mut buffer).unwrap(), 0);
    // A length of 0 is not trusted, as virtual files report it.
    fs::write(&path, "").unwrap();
    let mut reading = open(&path, 5).unwrap();
    fs::write(&path, "1234567").unwrap();
    let grown = reading.fill(&mut [0; 10]);
    assert!(matches!(grown, Err(FileError::TooLarge { limit: 5 })));
}

#[test]
fn special_files_are_not_opened() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("fifo");
    make_fifo(&fifo);
    let not_regular = "not a regular file";
    for path in [&fifo, Path::new("/dev/zero")] {
        assert_eq!(open(path, 10).unwrap_err().to_string(), not_regular);
        assert_eq!(write(path, b"x").unwrap_err().to_string(), not_regular);
        let other = folder.path().join("copy");
        assert!(matches!(
            copy(path, &other, true),
            Err(FileError::NotCopied)
        ));
        fs::write(folder.path().join("file"), "x").unwrap();
        let onto = copy(&folder.path().join("file"), path, false);
        assert_eq!(onto.unwrap_err().to_string(), not_regular);
    }
    let error = open(folder.path(), 10).unwrap_err();
    assert_eq!(error.to_string(), "Is a directory (os error 21)");
    let error = write(folder.path(), b"x").unwrap_err();
    assert_eq!(error.to_string(), "Is a directory (os error 21)");
}

#[test]
fn nul_byte_in_path_is_invalid_request() {
    let path = Path::new("/tmp/a\0b");
    let errors = [
        open(path, 1).unwrap_err(),
        write(path, b"").unwrap_err(),
        create_folder(path, true).unwrap_err(),
        metadata(path).unwrap_err(),
        list(path).unwrap_err(),
        remove(path, true, true).unwrap_err(),
        copy(path, Path::new("/tmp/c"), true).unwrap_err(),
    ];
    for error in errors {
        assert!(error.is_invalid_input(), "{error:?}");
    }
}

#[test]
fn a_listing_shows_everything_there_is() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::create_dir(at.join("folder")).unwrap();
    fs::write(at.join(".hidden"), "").unwrap();
    fs::write(at.join(OsStr::from_bytes(b"no\xfftext")), "").unwrap();
    symlink("folder", at.join("to-folder")).unwrap();
    symlink("nowhere", at.join("dangling")).unwrap();
    make_fifo(&at.join("pipe"));
    let entries = list(at).unwrap();
    let found: Vec<_> = entries
        .iter()
        .map(|entry| (entry.name.as_str(), entry.is_folder, entry.is_file))
        .collect();
    assert_eq!(
        found,
        [
            (".hidden", false, true),
            ("dangling", false, false),
            ("folder", true, false),
            ("no\u{fffd}text", false, true),
            ("pipe", false, false),
            ("to-folder", true, false),
        ]
    );
    let found = metadata(&at.join("to-folder")).unwrap();
    assert!(found.is_folder && found.is_link && !found.is_file && found.modified_ms > 0);
    assert!(!metadata(&at.join("folder")).unwrap().is_link);
    assert!(metadata(&at.join("dangling")).is_err());
}

#[test]
fn removing_does_not_follow_links() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("kept");
    fs::create_dir(&kept).unwrap();
    fs::write(kept.join("file"), "x").unwrap();
    let tree = folder.path().join("tree");
    fs::create_dir(&tree).unwrap();
    symlink(&kept, tree.join("inside")).unwrap();
    let link = folder.path().join("link");
    symlink(&kept, &link).unwrap();
    let full = remove(&tree, false, true).unwrap_err();
    assert_eq!(full.to_string(), "Directory not empty (os error 39)");
    remove(&tree, true, false).unwrap();
    remove(&link, true, false).unwrap();
    assert!(!tree.exists() && link.symlink_metadata().is_err());
    assert_eq!(text(kept.join("file")), "x");
    remove(&link, true, true).unwrap();
    let gone = remove(&link, true, false).unwrap_err();
    assert_eq!(gone.to_string(), "No such file or directory (os error 2)");
    assert!(matches!(
        remove(Path::new("/"), true, true),
        Err(FileError::Root)
    ));
}

#[test]
fn a_folder_is_copied_with_its_links_and_merged() {
    let folder = tempfile::tempdir().unwrap();
    let (source, target) = (folder.path().join("source"), folder.path().join("target"));
    fs::create_dir_all(source.join("deep/er")).unwrap();
    fs::write(source.join("deep/er/file"), "new").unwrap();
    fs::set_permissions(
        source.join("deep/er/file"),
        fs::Permissions::from_mode(0o750),
    )
    .unwrap();
    symlink("../nowhere", source.join("deep/link")).unwrap();
    make_fifo(&source.join("pipe"));
    fs::create_dir_all(target.join("deep/er")).unwrap();
    fs::write(target.join("deep/er/file"), "older and longer").unwrap();
    fs::write(target.join("own"), "own").unwrap();
    assert!(matches!(
        copy(&source, &target, false),
        Err(FileError::NeedsRecursive)
    ));
    for _ in 0..2 {
        copy(&source, &target, true).unwrap();
        assert_eq!(text(target.join("deep/er/file")), "new");
        let mode = fs::metadata(target.join("deep/er/file")).unwrap().mode();
        assert_eq!(mode & 0o777, 0o750);
        let link = fs::read_link(target.join("deep/link")).unwrap();
        assert_eq!(link, Path::new("../nowhere"));
        assert_eq!(text(target.join("own")), "own");
        assert!(!target.join("pipe").exists());
    }
}

#[test]
fn a_folder_is_not_copied_into_itself() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    fs::create_dir_all(source.join("inner")).unwrap();
    symlink(&source, folder.path().join("link")).unwrap();
    for inside in ["source", "source/inner", "source/new/er", "link/new"] {
        let outcome = copy(&source, &folder.path().join(inside), true);
        assert!(matches!(outcome, Err(FileError::IntoItself)), "{inside}");
    }
    copy(&source, &folder.path().join("source-2"), true).unwrap();
}

#[test]
fn copying_a_file_onto_itself_keeps_its_content() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "content").unwrap();
    fs::hard_link(&file, folder.path().join("twin")).unwrap();
    symlink("file", folder.path().join("link")).unwrap();
    for other in ["file", "twin", "link"] {
        let outcome = copy(&file, &folder.path().join(other), false);
        assert!(matches!(outcome, Err(FileError::SameFile)), "{other}");
    }
    let link = folder.path().join("link");
    assert!(matches!(
        copy(&link, &link, false),
        Err(FileError::SameFile)
    ));
    assert_eq!(text(&link), "content");
}

#[test]
fn link_replaces_an_existing_file() {
    let folder = tempfile::tempdir().unwrap();
    let (link, file) = (folder.path().join("link"), folder.path().join("file"));
    symlink("somewhere", &link).unwrap();
    fs::write(&file, "x").unwrap();
    copy(&link, &file, false).unwrap();
    assert_eq!(fs::read_link(&file).unwrap(), Path::new("somewhere"));
    let onto = copy(&link, folder.path(), false).unwrap_err();
    assert_eq!(onto.to_string(), "Is a directory (os error 21)");
}

#[test]
fn holes_stay_holes() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    let file = fs::File::create(&source).unwrap();
    let length = 10 * 1024 * 1024 * 1024;
    file.set_len(length).unwrap();
    {
        use std::os::unix::fs::FileExt as _;
        file.write_at(b"middle", length / 2).unwrap();
    }
    assert!(matches!(
        open(&source, 512 * 1024 * 1024),
        Err(FileError::TooLarge { .. })
    ));
    let target = folder.path().join("target");
    copy(&source, &target, false).unwrap();
    let copied = fs::metadata(&target).unwrap();
    assert_eq!(copied.len(), length);
    assert!(copied.blocks() * 512 < 1024 * 1024, "{}", copied.blocks());
    let mut middle = [0; 6];
    {
        use std::os::unix::fs::FileExt as _;
        let file = fs::File::open(&target).unwrap();
        file.read_exact_at(&mut middle, length / 2).unwrap();
    }
    assert_eq!(&middle, b"middle");
}
