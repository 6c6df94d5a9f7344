//! `fs/*` through the built server.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::process::Command;

use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use crate::serving::Serving;

const INVALID_REQUEST: i64 = -32600;
const INTERNAL_ERROR: i64 = -32603;

#[tokio::test]
async fn files_and_folders_are_made_read_copied_and_removed() {
    let mut serving = Serving::start().await;
    let (folder, file) = (serving.path("a/b"), serving.path("a/b/n.txt"));
    let made = serving.result("fs/createDirectory", json!({ "path": folder }));
    assert_eq!(made.await, json!({}));
    let params = json!({ "path": file, "dataBase64": "aGVsbG8=" });
    assert_eq!(serving.result("fs/writeFile", params).await, json!({}));
    let read = serving.result("fs/readFile", json!({ "path": file })).await;
    assert_eq!(read, json!({ "dataBase64": "aGVsbG8=" }));
    let dotted = serving.path("a/./x/../b/../b/n.txt");
    let read = serving.result("fs/readFile", json!({ "path": dotted }));
    assert_eq!(read.await["dataBase64"], "aGVsbG8=");

    let found = serving.result("fs/getMetadata", json!({ "path": file }));
    let found = found.await;
    assert_eq!(
        (&found["isFile"], &found["isDirectory"]),
        (&json!(true), &json!(false))
    );
    assert!(found["modifiedAtMs"].as_i64().unwrap() > 1_500_000_000_000);

    let (source, target) = (serving.path("a"), serving.path("c"));
    assert_eq!(found["isSymlink"], false);
    symlink("b/n.txt", serving.path("a/link")).unwrap();
    let link = json!({ "path": serving.path("a/link") });
    let found = serving.result("fs/getMetadata", link).await;
    assert_eq!([&found["isSymlink"], &found["isFile"]], [true, true]);
    let params = json!({ "sourcePath": source, "destinationPath": target, "recursive": true });
    assert_eq!(serving.result("fs/copy", params).await, json!({}));
    let link = fs::read_link(serving.path("c/link")).unwrap();
    assert_eq!(link, std::path::Path::new("b/n.txt"));
    let listed = serving.result("fs/readDirectory", json!({ "path": target }));
    let entries = json!([
        { "fileName": "b", "isDirectory": true, "isFile": false },
        { "fileName": "link", "isDirectory": false, "isFile": true },
    ]);
    assert_eq!(listed.await["entries"], entries);

    for _ in 0..2 {
        let removed = serving.result("fs/remove", json!({ "path": target }));
        assert_eq!(removed.await, json!({}));
    }
    assert!(!fs::exists(target).unwrap());
    serving.finish().await;
}

#[tokio::test]
async fn failed_file_requests_give_the_reason() {
    let mut serving = Serving::start().await;
    let (missing, folder, file) = (serving.path("no"), serving.path("d"), serving.path("f"));
    fs::create_dir_all(serving.path("d/e")).unwrap();
    fs::write(&file, "x").unwrap();
    let no_entry = "No such file or directory (os error 2)";
    let is_folder = "Is a directory (os error 21)";
    let below = |name: &str| format!("{missing}/{name}");
    for (method, params, code, message) in [
        (
            "readFile",
            json!({ "path": missing }),
            INTERNAL_ERROR,
            no_entry,
        ),
        (
            "readFile",
            json!({ "path": folder }),
            INTERNAL_ERROR,
            is_folder,
        ),
        (
            "readFile",
            json!({ "path": "/dev/zero" }),
            INVALID_REQUEST,
            "not a regular file",
        ),
        (
            "readFile",
            json!({ "path": 7 }),
            INVALID_REQUEST,
            "Invalid request",
        ),
        (
            "writeFile",
            json!({ "path": below("x"), "dataBase64": "" }),
            INTERNAL_ERROR,
            no_entry,
        ),
        (
            "writeFile",
            json!({ "path": folder, "dataBase64": "" }),
            INTERNAL_ERROR,
            is_folder,
        ),
        (
            "writeFile",
            json!({ "path": file, "dataBase64": "***" }),
            INVALID_REQUEST,
            "fs/writeFile requires valid base64 dataBase64: Invalid symbol 42, offset 0.",
        ),
        (
            "createDirectory",
            json!({ "path": below("q"), "recursive": false }),
            INTERNAL_ERROR,
            no_entry,
        ),
        (
            "createDirectory",
            json!({ "path": folder, "recursive": false }),
            INTERNAL_ERROR,
            "File exists (os error 17)",
        ),
        (
            "getMetadata",
            json!({ "path": missing }),
            INTERNAL_ERROR,
            no_entry,
        ),
        (
            "readDirectory",
            json!({ "path": missing }),
            INTERNAL_ERROR,
            no_entry,
        ),
        (
            "readDirectory",
            json!({ "path": file }),
            INTERNAL_ERROR,
            "Not a directory (os error 20)",
        ),
        (
            "remove",
            json!({ "path": missing, "force": false }),
            INTERNAL_ERROR,
            no_entry,
        ),
        (
            "remove",
            json!({ "path": folder, "recursive": false }),
            INTERNAL_ERROR,
            "Directory not empty (os error 39)",
        ),
        ("remove", json!({ "path": "/" }), INVALID_REQUEST, "root"),
        (
            "copy",
            json!({ "sourcePath": folder, "destinationPath": missing }),
            INVALID_REQUEST,
            "fs/copy requires recursive: true when sourcePath is a directory",
        ),
        (
            "copy",
            json!({ "sourcePath": folder, "destinationPath": format!("{folder}/e/x"), "recursive": true }),
            INVALID_REQUEST,
            "fs/copy cannot copy a directory to itself or one of its descendants",
        ),
        (
            "copy",
            json!({ "sourcePath": "/dev/null", "destinationPath": missing }),
            INVALID_REQUEST,
            "fs/copy only supports regular files, directories, and symlinks",
        ),
        (
            "copy",
            json!({ "sourcePath": file, "destinationPath": file }),
            INVALID_REQUEST,
            "the same file",
        ),
        (
            "copy",
            json!({ "sourcePath": missing, "destinationPath": file }),
            INTERNAL_ERROR,
            no_entry,
        ),
    ] {
        serving
            .refused(&format!("fs/{method}"), params, code, message)
            .await;
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "x");
    serving.finish().await;
}

#[tokio::test]
async fn paths_are_absolute_and_may_hold_anything() {
    let mut serving = Serving::start().await;
    let absolute = "Invalid request: AbsolutePathBuf deserialized without a base path";
    for relative in ["relative.txt", "~/x", "", "./x", "../x"] {
        for method in [
            "readFile",
            "getMetadata",
            "readDirectory",
            "remove",
            "createDirectory",
        ] {
            let params = json!({ "path": relative });
            let method = format!("fs/{method}");
            serving
                .refused(&method, params, INVALID_REQUEST, absolute)
                .await;
        }
        let params = json!({ "path": relative, "dataBase64": "" });
        serving
            .refused("fs/writeFile", params, INVALID_REQUEST, absolute)
            .await;
        let params = json!({ "sourcePath": "/", "destinationPath": relative });
        serving
            .refused("fs/copy", params, INVALID_REQUEST, absolute)
            .await;
    }
    for method in [
        "readFile",
        "getMetadata",
        "readDirectory",
        "remove",
        "createDirectory",
    ] {
        let params = json!({ "path": "/tmp/a\u{0}b" });
        let method = format!("fs/{method}");
        serving
            .refused(&method, params, INVALID_REQUEST, "NUL")
            .await;
    }
    fs::create_dir(serving.path("d")).unwrap();
    let odd = serving
        .home
        .path()
        .join("d")
        .join(OsStr::from_bytes(b"a\xffb"));
    fs::write(odd, "").unwrap();
    symlink("nowhere", serving.path("d/dangling")).unwrap();
    let params = json!({ "path": serving.path("d") });
    let listed = serving.result("fs/readDirectory", params).await;
    assert_eq!(listed["entries"][0]["fileName"], "a\u{fffd}b");
    assert_eq!(listed["entries"][1]["isFile"], false);
    let params = json!({ "sourcePath": serving.path("d"), "destinationPath": serving.path("e"), "recursive": true });
    serving.result("fs/copy", params).await;
    let copied = serving
        .home
        .path()
        .join("e")
        .join(OsStr::from_bytes(b"a\xffb"));
    assert!(copied.exists());
    serving.finish().await;
}

#[tokio::test]
async fn a_pipe_wedges_nothing() {
    let mut serving = Serving::start().await;
    let pipe = serving.path("pipe");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let regular = "not a regular file";
    let params = json!({ "path": pipe });
    serving
        .refused("fs/readFile", params, INVALID_REQUEST, regular)
        .await;
    let params = json!({ "path": pipe, "dataBase64": "eA==" });
    serving
        .refused("fs/writeFile", params, INVALID_REQUEST, regular)
        .await;
    let found = serving
        .result("fs/getMetadata", json!({ "path": pipe }))
        .await;
    assert_eq!(
        (&found["isFile"], &found["isDirectory"]),
        (&json!(false), &json!(false))
    );
    serving.result("fs/remove", json!({ "path": pipe })).await;
    serving.finish().await;
}

#[tokio::test]
async fn huge_file_is_not_read_and_copied_sparsely() {
    let mut serving = Serving::start().await;
    let path = serving.path("huge");
    let length = 10 << 30;
    fs::File::create(&path).unwrap().set_len(length).unwrap();
    let limit = "file is too large to read: limit is 536870912 bytes";
    serving
        .refused(
            "fs/readFile",
            json!({ "path": path }),
            INVALID_REQUEST,
            limit,
        )
        .await;
    let copy = serving.path("copy");
    let params = json!({ "sourcePath": path, "destinationPath": copy });
    serving.result("fs/copy", params).await;
    let copied = fs::metadata(copy).unwrap();
    assert_eq!(copied.len(), length);
    assert!(copied.blocks() < 2048, "{} blocks", copied.blocks());
    serving.finish().await;
}

#[tokio::test]
async fn files_of_any_length_are_read_whole() {
    let mut serving = Serving::start().await;
    let path = serving.path("file");
    let piece = 3 * 64 * 1024;
    for length in [
        0,
        1,
        3071,
        3072,
        3073,
        piece - 1,
        piece,
        piece + 1,
        2 * piece,
    ] {
        let content: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
        fs::write(&path, &content).unwrap();
        let read = serving.result("fs/readFile", json!({ "path": path })).await;
        let params = json!({ "path": serving.path("back"), "dataBase64": read["dataBase64"] });
        serving.result("fs/writeFile", params).await;
        assert!(
            fs::read(serving.path("back")).unwrap() == content,
            "{length}"
        );
    }
    serving.finish().await;
}

/// The most memory that a process has held, in MiB.
#[cfg(target_os = "linux")]
fn peak_memory(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak.unwrap().trim().trim_end_matches(" kB");
    kib.parse::<u64>().unwrap() / 1024
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn many_large_files_are_held_one_after_the_other() {
    const COUNT: usize = 60;
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("large");
    fs::write(&file, vec![7; 4 << 20]).unwrap();
    let mut server = crate::serving::unread(home.path());
    let mut input = server.stdin.take().unwrap();
    let mut output = BufReader::new(server.stdout.take().unwrap());
    let client = json!({ "name": "tests", "version": "1" });
    let mut requests =
        vec![json!({ "id": "hello", "method": "initialize", "params": { "clientInfo": client } })];
    let read = |id| json!({ "id": id, "method": "fs/readFile", "params": { "path": file } });
    requests.extend((0..COUNT).map(read));
    let lines: String = requests.iter().map(|line| format!("{line}\n")).collect();
    input.write_all(lines.as_bytes()).await.unwrap();
    let mut replies = 0;
    let mut line = Vec::new();
    while replies < COUNT {
        line.clear();
        assert!(output.read_until(b'\n', &mut line).await.unwrap() > 0);
        replies += usize::from(line.len() > 4 << 20);
    }
    // All replies together are 320 MiB.
    let peak = peak_memory(server.id().unwrap());
    assert!(peak < 240, "{peak} MiB");
    drop(input);
    assert!(server.wait().await.unwrap().success());
}
