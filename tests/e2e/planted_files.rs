//! Links and changed files in folders that a command is given: bundles that were sent, folders that a sandboxed command may
//! write to. Nothing outside of them is read or written.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;
use tempfile::TempDir;

use crate::{codex, repository};

const SECRET: &str = "private-text-of-the-host";

/// What a victim contains; JSON, so that it could be a payload.
fn secret() -> String {
    json!({ "text": SECRET, "content": [{ "type": "input_text", "text": SECRET }] }).to_string()
}

/// A recorded bundle, and beside it a file and a folder of the host.
struct Recorded {
    folder: TempDir,
    bundle: PathBuf,
}

impl Recorded {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let script = repository().join("scenarios/tour.toml");
        let demo = folder.path().join("demo");
        let [script, demo_path] = [&script, &demo].map(|path| path.to_str().unwrap());
        codex(&["demo", "--script", script, "--auto", "--folder", demo_path]);
        let entry = fs::read_dir(demo.join("traces")).unwrap().next();
        let bundle = entry.unwrap().unwrap().path();
        let host = folder.path().join("host");
        fs::create_dir(&host).unwrap();
        for payload in fs::read_dir(bundle.join("payloads")).unwrap() {
            fs::write(host.join(payload.unwrap().file_name()), secret()).unwrap();
        }
        fs::write(host.join("file"), secret()).unwrap();
        Self { folder, bundle }
    }

    fn host(&self) -> PathBuf {
        self.folder.path().join("host")
    }

    fn payloads(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.bundle.join("payloads")).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    fn debug(&self, command: &[&str], more: &[&str]) -> String {
        let bundle = self.bundle.to_str().unwrap();
        let output = codex(&[&["debug"], command, &[bundle], more].concat());
        let [printed, problems] =
            [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        printed + &problems
    }

    /// Everything that the commands for traces write and print.
    fn everything(&self) -> String {
        let out = self.folder.path().join("out");
        let _ = fs::remove_dir_all(&out);
        fs::create_dir(&out).unwrap();
        let file = |name: &str| out.join(name).to_str().unwrap().to_owned();
        let mut printed = vec![
            self.debug(&["trace-view"], &["-o", &file("view.html")]),
            self.debug(&["trace-reduce"], &["-o", &file("state.json")]),
            self.debug(&["trace-to-scenario"], &["-o", &file("scenario.toml")]),
            self.debug(&["trace-redact"], &[&file("redacted")]),
            self.debug(&["trace-convert"], &[&file("converted")]),
            self.debug(
                &["trace-diff"],
                &[self.bundle.to_str().unwrap(), "--page", &file("diff.html")],
            ),
            self.debug(&["trace-replay"], &[]),
        ];
        for format in ["perfetto", "otlp-json", "otlp-protobuf", "atif"] {
            let more = ["--format", format, "--contents", "-o", &file(format)];
            printed.push(self.debug(&["trace-export"], &more));
        }
        let traces = self.bundle.parent().unwrap().to_str().unwrap();
        for command in [
            &["debug", "trace", "list", traces][..],
            &["debug", "trace", "search", SECRET, traces],
        ] {
            printed.push(String::from_utf8(codex(command).stdout).unwrap());
        }
        let mut open = vec![out];
        while let Some(next) = open.pop() {
            if next.is_dir() {
                open.extend(
                    fs::read_dir(next)
                        .unwrap()
                        .map(|entry| entry.unwrap().path()),
                );
            } else {
                printed.push(String::from_utf8_lossy(&fs::read(next).unwrap()).into_owned());
            }
        }
        printed.concat()
    }
}

fn replace_by_link(path: &Path, target: &Path) {
    if path.is_dir() {
        fs::remove_dir_all(path).unwrap();
    } else {
        fs::remove_file(path).unwrap();
    }
    symlink(target, path).unwrap();
}

#[test]
fn payloads_that_are_links_show_nothing_of_the_host() {
    let recorded = Recorded::new();
    for payload in recorded.payloads() {
        replace_by_link(&payload, &recorded.host().join("file"));
    }
    let shown = recorded.everything();
    assert!(!shown.contains(SECRET), "{}", around(&shown));
}

#[test]
fn linked_payload_folder_reveals_no_host_files() {
    let recorded = Recorded::new();
    replace_by_link(&recorded.bundle.join("payloads"), &recorded.host());
    let shown = recorded.everything();
    assert!(!shown.contains(SECRET), "{}", around(&shown));
}

#[test]
fn linked_log_or_manifest_is_not_read() {
    for name in ["trace.jsonl", "manifest.json"] {
        let recorded = Recorded::new();
        let real = recorded.host().join(name);
        fs::rename(recorded.bundle.join(name), &real).unwrap();
        symlink(&real, recorded.bundle.join(name)).unwrap();
        let printed = recorded.debug(&["trace-view"], &[]);
        assert!(printed.contains("is a link"), "{printed}");
        assert!(!recorded.bundle.join("view.html").exists());
    }
}

#[test]
fn a_payload_that_was_changed_is_not_shown() {
    let recorded = Recorded::new();
    for payload in recorded.payloads() {
        // What it was, with another text in it.
        let text = fs::read_to_string(&payload).unwrap();
        let changed = text.replacen("\"text\":\"", &format!("\"text\":\"{SECRET} "), 1);
        let changed = if changed == text { secret() } else { changed };
        fs::write(&payload, changed).unwrap();
    }
    let shown = recorded.everything();
    assert!(!shown.contains(SECRET), "{}", around(&shown));
    let printed = recorded.debug(&["trace-reduce"], &[]);
    assert!(printed.contains("checksum differs"), "{printed}");
}

fn make_pipe(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

#[test]
fn derived_files_take_the_place_of_links() {
    let recorded = Recorded::new();
    let victim = recorded.folder.path().join("victim");
    fs::write(&victim, "unchanged").unwrap();
    for (command, more, name) in [
        ("trace-view", &[][..], "view.html"),
        ("trace-reduce", &[], "state.json"),
        ("trace-to-scenario", &[], "scenario.toml"),
        ("trace-export", &["--format", "perfetto"], "perfetto.json"),
        ("trace-export", &["--format", "otlp-json"], "otlp.json"),
        ("trace-export", &["--format", "otlp-protobuf"], "otlp.binpb"),
    ] {
        let place = recorded.bundle.join(name);
        let _ = fs::remove_file(&place);
        symlink(&victim, &place).unwrap();
        recorded.debug(&[command], more);
        assert_eq!(
            fs::read_to_string(&victim).unwrap(),
            "unchanged",
            "{command}"
        );
        let found = place.symlink_metadata().unwrap();
        assert!(found.is_file() && found.len() > 0, "{command}");
    }
    // Nor is a pipe waited for that was planted.
    let page = recorded.bundle.join("view.html");
    fs::remove_file(&page).unwrap();
    make_pipe(&page);
    recorded.debug(&["trace-view"], &[]);
    assert!(page.symlink_metadata().unwrap().is_file());
    // Nothing is left beside them.
    for file in fs::read_dir(&recorded.bundle).unwrap() {
        assert!(!file.unwrap().file_name().to_str().unwrap().contains(".tmp"));
    }
}

#[test]
fn generated_files_stay_in_their_folder() {
    let folder = tempfile::tempdir().unwrap();
    let [out, host] = ["out", "host"].map(|name| folder.path().join(name));
    for command in ["generate-ts", "generate-json-schema"] {
        let _ = fs::remove_dir_all(&out);
        let _ = fs::remove_dir_all(&host);
        fs::create_dir(&host).unwrap();
        let arguments = ["app-server", command, "--out", out.to_str().unwrap()];
        codex(&arguments);
        let entries: Vec<PathBuf> = fs::read_dir(&out)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        let is_folder = |path: &&PathBuf| path.is_dir();
        let inner = entries.iter().find(is_folder).expect("a folder").clone();
        let file = entries
            .iter()
            .find(|path| path.is_file())
            .expect("a file")
            .clone();
        fs::write(host.join("victim"), "unchanged").unwrap();
        replace_by_link(&file, &host.join("victim"));
        codex(&arguments);
        assert_eq!(
            fs::read_to_string(host.join("victim")).unwrap(),
            "unchanged"
        );
        assert!(file.symlink_metadata().unwrap().is_file());
        replace_by_link(&inner, &host);
        let refused = codex(&arguments);
        assert!(!refused.status.success());
        let problem = String::from_utf8(refused.stderr).unwrap();
        assert!(problem.contains("is a link"), "{problem}");
        assert_eq!(fs::read_dir(&host).unwrap().count(), 1);
    }
}

#[test]
fn manual_pages_take_the_place_of_links() {
    let folder = tempfile::tempdir().unwrap();
    let victim = folder.path().join("victim");
    fs::write(&victim, "unchanged").unwrap();
    let out = folder.path().join("man");
    fs::create_dir(&out).unwrap();
    symlink(&victim, out.join("codex.1")).unwrap();
    codex(&["man", out.to_str().unwrap()]);
    assert_eq!(fs::read_to_string(&victim).unwrap(), "unchanged");
    assert!(out.join("codex.1").symlink_metadata().unwrap().is_file());
}

/// The model's command plants links in the workspace; the message that is written there is the model's as well.
#[test]
fn last_message_file_does_not_follow_a_planted_link() {
    for (planted, name) in [
        ("rm -f last.txt; ln -s ../host/victim last.txt", "last.txt"),
        ("mkfifo last.txt", "last.txt"),
        ("mv sub gone; ln -s ../host sub", "sub/victim"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let [work, host, home] = ["work", "host", "home"].map(|name| folder.path().join(name));
        for made in [&work.join("sub"), &host, &home] {
            fs::create_dir_all(made).unwrap();
        }
        fs::write(host.join("victim"), "unchanged").unwrap();
        let script = json!({ "description": "Plants a link.", "settings": { "sandbox_mode": "workspace-write" },
            "replies": [{ "steps": [{ "command": planted }] }, { "steps": [{ "message": "text of the model" }] }] });
        let scenario = folder.path().join("scenario.json");
        fs::write(&scenario, script.to_string()).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_codex"))
            .args(["exec", "--skip-git-repo-check", "--scenario"])
            .arg(&scenario)
            .args(["-o", name, "go"])
            .env("HOME", &home)
            .env("CODEX_HOME", &home)
            .current_dir(&work)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_eq!(
            fs::read_to_string(host.join("victim")).unwrap(),
            "unchanged",
            "{planted}"
        );
    }
}

/// A packed bundle with a payload of so many MiB of one letter.
fn packed(folder: &Path, mebibytes: usize) -> PathBuf {
    let recorded = Recorded::new();
    let text = format!("\"{}\"", "x".repeat(mebibytes << 20));
    let extra = recorded.bundle.join("payloads/999999.json");
    fs::write(extra, text).unwrap();
    let bundle = recorded.bundle.to_str().unwrap();
    codex(&["debug", "trace", "pack", bundle]);
    let target = folder.join("trace-large.tar.zst");
    fs::copy(format!("{bundle}.tar.zst"), &target).unwrap();
    target
}

#[test]
fn packed_bundle_has_a_limited_expansion() {
    let folder = tempfile::tempdir().unwrap();
    let large = packed(folder.path(), 260);
    let size = fs::metadata(&large).unwrap().len();
    assert!(size < 256 << 10, "{size}");
    let page = folder.path().join("view.html");
    let arguments = [
        "debug",
        "trace-view",
        large.to_str().unwrap(),
        "-o",
        page.to_str().unwrap(),
    ];
    let refused = codex(&arguments);
    assert_eq!(refused.status.code(), Some(1));
    let problem = String::from_utf8(refused.stderr).unwrap();
    assert!(
        problem.contains("unpacks to more than") && problem.contains("--max-unpacked-mib"),
        "{problem}"
    );
    assert!(!page.exists());
    let searched = codex(&[
        "debug",
        "trace",
        "search",
        "no-such-text",
        folder.path().to_str().unwrap(),
    ]);
    let problem = String::from_utf8(searched.stderr).unwrap();
    assert!(problem.contains("unpacks to more than"), "{problem}");
    let allowed = codex(&[&arguments[..], &["--max-unpacked-mib", "300"]].concat());
    assert!(page.exists(), "{allowed:?}");
    let small = packed(folder.path(), 20);
    let arguments = [
        "debug",
        "trace-view",
        small.to_str().unwrap(),
        "-o",
        page.to_str().unwrap(),
    ];
    assert_ne!(codex(&arguments).status.code(), Some(1));
    assert_eq!(
        codex(&[&arguments[..], &["--max-unpacked-mib", "1"]].concat())
            .status
            .code(),
        Some(1)
    );
}

/// What stands around the secret.
fn around(text: &str) -> &str {
    let at = text.find(SECRET).unwrap_or(0);
    let start = text.floor_char_boundary(at.saturating_sub(300));
    &text[start..text.floor_char_boundary(text.len().min(at + 200))]
}
