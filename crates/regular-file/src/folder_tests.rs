use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

use super::*;

/// A folder with a file, beside a secret.
fn place() -> (tempfile::TempDir, PathBuf) {
    let base = tempfile::tempdir().unwrap();
    let folder = base.path().join("folder");
    fs::create_dir_all(folder.join("sub")).unwrap();
    fs::write(folder.join("sub/file"), "own").unwrap();
    fs::write(base.path().join("secret"), "secret").unwrap();
    (base, folder)
}

fn text(folder: &LinkFreeFolder, inside: &str) -> io::Result<String> {
    let mut text = String::new();
    folder.read(Path::new(inside))?.read_to_string(&mut text)?;
    Ok(text)
}

#[test]
fn files_are_read_without_following_links() {
    let (base, path) = place();
    symlink(base.path().join("secret"), path.join("sub/link")).unwrap();
    symlink(base.path(), path.join("way")).unwrap();
    symlink("sub", path.join("inner")).unwrap();
    let folder = LinkFreeFolder::open(&path).unwrap();
    assert_eq!(text(&folder, "sub/file").unwrap(), "own");
    assert_eq!(text(&folder, "./sub/./file").unwrap(), "own");
    for (inside, problem) in [
        ("sub/link", "`link` is a link"),
        ("way/secret", "`way` is a link"),
        ("inner/file", "`inner` is a link"),
        ("../secret", "is no path below"),
        ("sub/../../secret", "is no path below"),
        ("/etc/hostname", "is no path below"),
    ] {
        let error = text(&folder, inside).unwrap_err().to_string();
        assert!(error.contains(problem), "{inside}: {error}");
    }
    assert_eq!(
        text(&folder, "gone").unwrap_err().kind(),
        io::ErrorKind::NotFound
    );
    assert!(text(&folder, "sub").is_err());
    assert!(folder.entries(Path::new("way")).is_err());
    let names = |inside: &str| {
        let entries = folder.entries(Path::new(inside)).unwrap();
        let mut names: Vec<_> = entries
            .into_iter()
            .map(|entry| (entry.name, entry.kind))
            .collect();
        names.sort_by(|one, other| one.0.cmp(&other.0));
        names
    };
    assert_eq!(
        names("sub"),
        [
            ("file".into(), FolderEntryKind::File),
            ("link".into(), FolderEntryKind::Other)
        ]
    );
    assert_eq!(names("").len(), 3);
    assert_eq!(names("").len(), 3);
    // The folder itself is what a person named.
    symlink(&path, base.path().join("named")).unwrap();
    let named = LinkFreeFolder::open(&base.path().join("named")).unwrap();
    assert_eq!(text(&named, "sub/file").unwrap(), "own");
}

#[test]
fn a_file_takes_the_place_of_a_link() {
    let (base, path) = place();
    let secret = base.path().join("secret");
    symlink(&secret, path.join("out")).unwrap();
    symlink(base.path(), path.join("way")).unwrap();
    let folder = LinkFreeFolder::open(&path).unwrap();
    let write = |inside: &str| {
        let access = NewFile::Private;
        folder.replace(Path::new(inside), access, |file| file.write_all(b"new"))
    };
    write("out").unwrap();
    write("sub/file").unwrap();
    assert!(write("way/secret").is_err());
    assert!(write("sub").is_err());
    assert_eq!(fs::read_to_string(&secret).unwrap(), "secret");
    assert!(!path.join("out").symlink_metadata().unwrap().is_symlink());
    assert_eq!(fs::read_to_string(path.join("sub/file")).unwrap(), "new");
    let mode = fs::metadata(path.join("out")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(folder.create_new(Path::new("way/new")).is_err());
    assert!(
        folder
            .make_folder(Path::new("way/new"), NewFile::Usual)
            .is_err()
    );
    folder
        .make_folder(Path::new("a/b/c"), NewFile::Private)
        .unwrap();
    folder
        .make_folder(Path::new("a/b"), NewFile::Private)
        .unwrap();
    assert!(path.join("a/b/c").is_dir() && !base.path().join("new").exists());
    // Nothing is left of what failed.
    let failed: io::Result<()> = folder.replace(Path::new("sub/file"), NewFile::Usual, |_| {
        Err(io::ErrorKind::Other.into())
    });
    assert!(failed.is_err());
    assert_eq!(fs::read_to_string(path.join("sub/file")).unwrap(), "new");
    assert_eq!(fs::read_dir(path.join("sub")).unwrap().count(), 1);
}

#[test]
fn update_keeps_file_with_same_bytes() {
    let (base, path) = place();
    let secret = base.path().join("secret");
    symlink(&secret, path.join("sub/link")).unwrap();
    symlink("gone", path.join("sub/dangling")).unwrap();
    symlink(base.path(), path.join("way")).unwrap();
    let folder = LinkFreeFolder::open(&path).unwrap();
    assert!(folder.folder(Path::new("way")).is_err());
    assert!(folder.folder(Path::new("sub/file")).is_err());
    assert!(folder.folder(Path::new("")).is_ok());
    assert!(update_in(&folder, "way/secret", "new").is_err());
    let sub = folder.folder(Path::new("sub")).unwrap();
    let inode = |name: &str| fs::metadata(path.join("sub").join(name)).unwrap().ino();
    let before = inode("file");
    update_in(&sub, "file", "own").unwrap();
    assert_eq!(inode("file"), before);
    for text in ["new", "longer", "s", ""] {
        for name in ["file", "link", "dangling", "made"] {
            update_in(&sub, name, text).unwrap();
            assert_eq!(
                fs::read_to_string(path.join("sub").join(name)).unwrap(),
                text
            );
        }
    }
    assert_eq!(fs::read_to_string(&secret).unwrap(), "secret");
    fs::create_dir(path.join("sub/folder")).unwrap();
    assert!(update_in(&sub, "folder", "new").is_err());
    assert_eq!(fs::read_dir(path.join("sub")).unwrap().count(), 5);
}

fn update_in(folder: &LinkFreeFolder, inside: &str, text: &str) -> io::Result<()> {
    folder.update(Path::new(inside), NewFile::Usual, text.as_bytes())
}

#[test]
fn names_of_descriptors_are_followed() {
    let (base, _) = place();
    let own = fs::File::create(base.path().join("own")).unwrap();
    let name = format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&own));
    let write = |path: &str| {
        let output = OutputFile::named(path);
        output.write(NewFile::Private, |file| file.write_all(b"text"))
    };
    write(&name).unwrap();
    assert_eq!(fs::read_to_string(base.path().join("own")).unwrap(), "text");
    write("/dev/null").unwrap();
}

fn make_pipe(path: &Path) {
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, path, mode).unwrap();
}

#[test]
fn only_user_named_pipes_are_written() {
    let (base, path) = place();
    let pipe = path.join("pipe");
    make_pipe(&pipe);
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::read_to_string(pipe).unwrap()
    });
    let named = OutputFile::named(&pipe);
    named
        .write(NewFile::Private, |file| file.write_all(b"through"))
        .unwrap();
    assert_eq!(reader.join().unwrap(), "through");
    assert!(
        LinkFreeFolder::open(&path)
            .unwrap()
            .read(Path::new("pipe"))
            .is_err()
    );
    // A link that takes its place is not followed.
    let opened = named.open().unwrap();
    fs::remove_file(&pipe).unwrap();
    symlink(base.path().join("secret"), &pipe).unwrap();
    let written = opened.write(NewFile::Private, |file| file.write_all(b"new"));
    assert!(written.is_err());
    assert_eq!(
        fs::read_to_string(base.path().join("secret")).unwrap(),
        "secret"
    );
    // Nor is a pipe written to that took the place of a file, or was not named.
    let derived = path.join("derived");
    let opened = OutputFile::named(&derived).open().unwrap();
    make_pipe(&derived);
    opened
        .write(NewFile::Private, |file| file.write_all(b"one"))
        .unwrap();
    assert_eq!(fs::read_to_string(&derived).unwrap(), "one");
    fs::remove_file(&derived).unwrap();
    make_pipe(&derived);
    OutputFile::derived(&derived)
        .write(NewFile::Private, |file| file.write_all(b"two"))
        .unwrap();
    assert_eq!(fs::read_to_string(&derived).unwrap(), "two");
}
