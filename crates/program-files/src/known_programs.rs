//! Programs by what they do with their arguments, and files by their names.

/// Programs that write what their arguments name, or only print them.
pub(crate) const WRITERS: [&str; 12] = [
    "echo",
    "kill",
    "logger",
    "mkdir",
    "notify-send",
    "printf",
    "rm",
    "rmdir",
    "say",
    "sleep",
    "tee",
    "touch",
];

/// Programs that only read what their arguments name. What they print may be run by another program.
pub(crate) const READERS: [&str; 20] = [
    "[",
    "base64",
    "basename",
    "cat",
    "cmp",
    "cut",
    "diff",
    "dirname",
    "grep",
    "head",
    "jq",
    "ls",
    "md5sum",
    "sha256sum",
    "stat",
    "tail",
    "test",
    "tr",
    "uniq",
    "wc",
];

/// Programs that begin another one, whose name is among their arguments.
pub(crate) const WRAPPERS: [&str; 14] = [
    "command", "doas", "env", "exec", "ionice", "nice", "nohup", "setsid", "stdbuf", "sudo",
    "time", "timeout", "xargs", "builtin",
];

/// Programs that may begin another one, and have words of their own before its name.
pub(crate) const RUNNERS: [&str; 48] = [
    "asdf",
    "bun",
    "bundle",
    "bunx",
    "busybox",
    "chronic",
    "chroot",
    "chrt",
    "conda",
    "coproc",
    "cross-env",
    "deno",
    "direnv",
    "dotenv",
    "dotenvx",
    "entr",
    "eval",
    "fd",
    "find",
    "flock",
    "hatch",
    "hyperfine",
    "ltrace",
    "micromamba",
    "mise",
    "npm",
    "npx",
    "parallel",
    "pdm",
    "pipenv",
    "pipx",
    "pnpm",
    "pnpx",
    "poetry",
    "pyenv",
    "rbenv",
    "runuser",
    "rye",
    "script",
    "setpriv",
    "strace",
    "su",
    "systemd-run",
    "taskset",
    "unshare",
    "uv",
    "watch",
    "yarn",
];

/// Programs that manage packages of JavaScript, and run their scripts.
pub(crate) const PACKAGE_MANAGERS: [&str; 4] = ["bun", "npm", "pnpm", "yarn"];

/// Programs that build and run a package which an argument names.
pub(crate) const PACKAGE_BUILDERS: [&str; 8] =
    ["bunx", "npx", "pip", "pip3", "pipx", "pnpx", "uv", "uvx"];

/// Programs that run the files of a folder by their names.
pub(crate) const RUN_FOLDERS: [(&str, &[&str]); 3] = [
    ("yarn", &[".yarn/plugins", ".yarn/releases"]),
    ("lefthook", &[".lefthook"]),
    (
        "mise",
        &[
            ".config/mise/tasks",
            ".mise/tasks",
            ".mise-tasks",
            "mise/tasks",
            "mise-tasks",
        ],
    ),
];

/// Programs that run packages, of the folder if it has them.
pub(crate) const PACKAGE_RUNNERS: [&str; 3] = ["bunx", "npx", "pnpx"];

/// Programs that build or run the code of the folder, unless one of these words comes first.
pub(crate) const BUILDERS: [(&str, &[&str]); 54] = [
    ("lerna", &["--version"]),
    ("nx", &["--version"]),
    ("pixi", &["--version"]),
    ("poe", &["--version"]),
    ("turbo", &["--version"]),
    ("act", &["--version"]),
    ("ava", &["--version"]),
    ("nose2", &["--version"]),
    ("tap", &["--version"]),
    ("unittest", &[]),
    ("ant", &["-version"]),
    ("bazel", &["version"]),
    ("cargo", &["fmt", "metadata", "--version", "-V"]),
    ("cmake", &["--version"]),
    ("ctest", &["--version"]),
    ("dotnet", &["--version", "--info"]),
    ("go", &["fmt", "version", "env"]),
    ("gradle", &["--version"]),
    ("jest", &["--version"]),
    ("meson", &["--version"]),
    ("mix", &["format"]),
    ("mocha", &["--version"]),
    ("mvn", &["--version"]),
    ("ninja", &["--version"]),
    ("pytest", &["--version"]),
    ("swift", &["--version"]),
    ("vitest", &["--version"]),
    ("bats", &["--version"]),
    ("cabal", &["--version"]),
    ("dart", &["format", "--version"]),
    ("flutter", &["--version"]),
    ("phpunit", &["--version"]),
    ("prove", &["--version"]),
    ("rspec", &["--version"]),
    ("sbt", &["--version"]),
    ("scons", &["--version"]),
    ("stack", &["--version"]),
    ("waf", &["--version"]),
    ("devbox", &["version"]),
    ("devenv", &["version"]),
    (
        "docker",
        &[
            "--version",
            "images",
            "info",
            "inspect",
            "logs",
            "ps",
            "pull",
            "version",
        ],
    ),
    ("docker-compose", &["--version", "logs", "ps", "version"]),
    ("earthly", &["--version"]),
    ("nerdctl", &["--version", "ps"]),
    ("nix", &["--version"]),
    ("nix-build", &["--version"]),
    ("nix-shell", &["--version"]),
    ("nox", &["--version"]),
    (
        "podman",
        &[
            "--version",
            "images",
            "info",
            "inspect",
            "logs",
            "ps",
            "pull",
            "version",
        ],
    ),
    ("skaffold", &["version"]),
    ("tilt", &["version"]),
    ("tox", &["--version"]),
    ("vagrant", &["--version", "status"]),
    ("zig", &["fmt", "version"]),
];

/// Programs that list files.
pub(crate) const LISTERS: [&str; 4] = ["fd", "find", "ls", "tree"];

/// Options whose values are written.
pub(crate) const OUTPUT_OPTIONS: [&str; 10] = [
    "--log",
    "--log-file",
    "--logfile",
    "--out",
    "--outfile",
    "--output",
    "--output-file",
    "-o",
    "--pid-file",
    "--pidfile",
];

/// Endings of files that programs write while they run.
pub(crate) const WRITTEN_SUFFIXES: [&str; 8] = [
    ".db", ".lock", ".log", ".out", ".pid", ".sqlite", ".sqlite3", ".tmp",
];

/// The name of a program without folder and ending.
pub(crate) fn base_name(program: &str) -> &str {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    name.strip_suffix(".exe").unwrap_or(name)
}

/// The name of a package without its version.
pub(crate) fn without_version(name: &str) -> &str {
    match name.split_once('@') {
        Some((package, _)) if !package.is_empty() => package,
        _ => name,
    }
}

/// Whether a file of this name is code.
pub(crate) fn has_code_ending(path: &str) -> bool {
    const ENDINGS: [&str; 33] = [
        ".awk", ".bash", ".bat", ".cjs", ".cmd", ".cts", ".dll", ".dylib", ".exe", ".fish", ".jar",
        ".js", ".jsx", ".just", ".ksh", ".lua", ".mjs", ".mk", ".mts", ".node", ".php", ".pl",
        ".pm", ".ps1", ".py", ".pyc", ".rb", ".sh", ".so", ".ts", ".tsx", ".wasm", ".zsh",
    ];
    ENDINGS.iter().any(|ending| path.ends_with(ending))
}

/// Whether a file of this name is no code of an interpreter.
pub(crate) fn is_data(path: &str) -> bool {
    const ENDINGS: [&str; 30] = [
        ".c", ".cc", ".cpp", ".cs", ".css", ".csv", ".go", ".h", ".hpp", ".html", ".java", ".jpg",
        ".json", ".jsonl", ".kt", ".lock", ".log", ".md", ".png", ".rs", ".rst", ".scss", ".svg",
        ".swift", ".toml", ".txt", ".vue", ".xml", ".yaml", ".yml",
    ];
    let is_written = WRITTEN_SUFFIXES.iter().any(|ending| path.ends_with(ending));
    is_written || ENDINGS.iter().any(|ending| path.ends_with(ending))
}
