//! The npm packages: built from this program, installed into an empty folder, and used.

use std::env::consts::ARCH;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use crate::{repository, stdout_of};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The package for this platform.
fn platform_package() -> String {
    let cpu = match ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("codex-engine-linux-{cpu}")
}

struct InstalledPackages {
    prefix: TempDir,
}

impl InstalledPackages {
    fn new() -> Self {
        let packages = TempDir::new().unwrap();
        let package = platform_package();
        let platform = package.trim_start_matches("codex-engine-");
        let binary = format!("{platform}={}", env!("CARGO_BIN_EXE_codex"));
        let packed = Command::new("node")
            .arg(repository().join("packaging/npm/pack.mjs"))
            .args(["--binary", &binary, "--out"])
            .arg(packages.path())
            .output();
        stdout_of(&packed.unwrap());
        let prefix = TempDir::new().unwrap();
        let archive = |name: &str| packages.path().join(format!("{name}-{VERSION}.tgz"));
        let installed = Command::new("npm")
            .args([
                "install",
                "--offline",
                "--no-audit",
                "--no-fund",
                "--prefix",
            ])
            .arg(prefix.path())
            .args([archive(&package), archive("codex-engine")])
            .env("npm_config_cache", prefix.path().join("cache"))
            .output();
        stdout_of(&installed.unwrap());
        Self { prefix }
    }

    fn modules(&self) -> PathBuf {
        self.prefix.path().join("node_modules")
    }

    fn codex(&self, home: &Path) -> Command {
        let mut command = Command::new(self.modules().join(".bin/codex"));
        command.env("CODEX_HOME", home).stdin(Stdio::null());
        command
    }
}

fn stderr_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
#[ignore = "needs node and npm"]
fn the_npm_packages_run_the_demo() {
    let packages = InstalledPackages::new();
    let home = TempDir::new().unwrap();
    let version = packages.codex(home.path()).arg("--version").output();
    assert!(stdout_of(&version.unwrap()).contains(VERSION));
    let demo = packages
        .codex(home.path())
        .args(["demo", "--auto"])
        .output();
    let demo = demo.unwrap();
    assert!(demo.status.success(), "{}", stderr_of(&demo));

    let unknown = packages.codex(home.path()).arg("--no-such-flag").output();
    assert_eq!(
        unknown.unwrap().status.code(),
        Some(2),
        "the exit code passes"
    );

    let mut server = packages.codex(home.path());
    let mut server = server
        .arg("app-server")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    drop(server.stdin.take());
    assert!(
        server.wait().unwrap().success(),
        "the end of the input passes"
    );

    let package = platform_package();
    std::fs::remove_dir_all(packages.modules().join(&package)).unwrap();
    let missing = packages
        .codex(home.path())
        .arg("--version")
        .output()
        .unwrap();
    assert_eq!(missing.status.code(), Some(1));
    let advice = format!("npm install {package}@{VERSION}");
    assert!(
        stderr_of(&missing).contains(&advice),
        "{}",
        stderr_of(&missing)
    );
}

#[test]
fn the_documents_of_an_archive_are_written() {
    let folder = TempDir::new().unwrap();
    let written = Command::new(repository().join("packaging/documents.sh"))
        .arg(env!("CARGO_BIN_EXE_codex"))
        .arg(folder.path())
        .output();
    stdout_of(&written.unwrap());
    for document in ["man/codex-app-server.1", "completions/codex.fish"] {
        assert!(folder.path().join(document).is_file(), "{document}");
    }
}

/// Makes archives as a release does, of a program that is a line of text.
const ARCHIVES: &str = r#"
set -e
for target in x86_64-unknown-linux-musl aarch64-unknown-linux-musl x86_64-apple-darwin aarch64-apple-darwin; do
    mkdir "codex-cli-$target"
    echo "for $target" >"codex-cli-$target/codex"
    tar -czf "codex-cli-$target.tar.gz" "codex-cli-$target"
done
echo "for windows" >codex.exe
python3 -m zipfile -c codex-cli-x86_64-pc-windows-msvc.zip codex.exe
"#;

#[test]
#[ignore = "needs node, npm, python3 and unzip"]
fn the_archives_of_a_release_become_npm_packages() {
    let folder = TempDir::new().unwrap();
    let archived = Command::new("bash")
        .args(["-c", ARCHIVES])
        .current_dir(folder.path())
        .output();
    stdout_of(&archived.unwrap());
    let packed = Command::new(repository().join("packaging/npm/from_archives.sh"))
        .args([".", "npm"])
        .current_dir(folder.path())
        .output();
    stdout_of(&packed.unwrap());

    let launcher = folder
        .path()
        .join(format!("npm/codex-engine-{VERSION}.tgz"));
    assert!(launcher.is_file());
    for (platform, program, text) in [
        ("linux-x64", "codex", "for x86_64-unknown-linux-musl\n"),
        ("linux-arm64", "codex", "for aarch64-unknown-linux-musl\n"),
        ("darwin-x64", "codex", "for x86_64-apple-darwin\n"),
        ("darwin-arm64", "codex", "for aarch64-apple-darwin\n"),
        ("win32-x64", "codex.exe", "for windows\n"),
    ] {
        let package = format!("npm/platforms/codex-engine-{platform}-{VERSION}.tgz");
        let content = Command::new("tar")
            .arg("-xOzf")
            .arg(folder.path().join(package))
            .arg(format!("package/bin/{program}"))
            .output();
        assert_eq!(stdout_of(&content.unwrap()), text);
    }
}
