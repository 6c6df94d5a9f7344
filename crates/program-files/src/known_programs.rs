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

/// Programs that take what they do from a file of the folder, and its names.
pub(crate) const FOLDER_FILES: [(&str, &[&str]); 46] = [
    ("bun", &["package.json", "bunfig.toml", ".npmrc"]),
    ("bundle", &["Gemfile", "Gemfile.lock", ".bundle/config"]),
    (
        "cargo",
        &[
            ".cargo/config.toml",
            ".cargo/config",
            "rust-toolchain.toml",
            "rust-toolchain",
        ],
    ),
    (
        "eslint",
        &[
            "eslint.config.js",
            "eslint.config.mjs",
            "eslint.config.cjs",
            ".eslintrc.js",
            ".eslintrc.cjs",
            ".eslintrc.json",
            ".eslintrc",
            "package.json",
        ],
    ),
    ("mise", &["mise.toml", ".mise.toml", ".tool-versions"]),
    ("poetry", &["pyproject.toml", "poetry.toml"]),
    (
        "prettier",
        &[
            "prettier.config.js",
            "prettier.config.mjs",
            "prettier.config.cjs",
            ".prettierrc",
            ".prettierrc.js",
            ".prettierrc.mjs",
            ".prettierrc.cjs",
            ".prettierrc.json",
            "package.json",
        ],
    ),
    (
        "uv",
        &[
            ".venv/bin/python",
            "pyproject.toml",
            "setup.py",
            "uv.lock",
            "uv.toml",
        ],
    ),
    (
        "yarn",
        &[
            "package.json",
            ".yarnrc",
            ".yarnrc.yml",
            ".npmrc",
            ".pnp.cjs",
        ],
    ),
    ("zx", &["package.json"]),
    (
        "just",
        &["justfile", "Justfile", "JUSTFILE", ".justfile", ".env"],
    ),
    ("make", &["GNUmakefile", "makefile", "Makefile"]),
    ("gmake", &["GNUmakefile", "makefile", "Makefile"]),
    ("npm", &["package.json", ".npmrc"]),
    ("npx", &[".npmrc"]),
    ("uvx", &["uv.toml"]),
    (
        "pnpm",
        &[
            "package.json",
            ".npmrc",
            ".pnpmfile.cjs",
            "pnpm-workspace.yaml",
        ],
    ),
    ("pre-commit", &[".pre-commit-config.yaml"]),
    ("rake", &["Rakefile", "rakefile"]),
    (
        "task",
        &[
            "Taskfile.yml",
            "Taskfile.yaml",
            "taskfile.yml",
            "taskfile.yaml",
            "Taskfile.dist.yml",
            "Taskfile.dist.yaml",
            ".env",
        ],
    ),
    ("deno", &["deno.json", "deno.jsonc"]),
    ("ansible-playbook", &["ansible.cfg"]),
    ("composer", &["composer.json", "composer.lock"]),
    ("direnv", &[".envrc", ".env"]),
    ("doit", &["dodo.py"]),
    ("fab", &["fabfile.py"]),
    ("flake8", &[".flake8", "setup.cfg", "tox.ini"]),
    ("inv", &["tasks.py"]),
    ("invoke", &["tasks.py"]),
    (
        "lefthook",
        &[
            "lefthook.yml",
            "lefthook.yaml",
            ".lefthook.yml",
            "lefthook-local.yml",
        ],
    ),
    (
        "mypy",
        &["mypy.ini", ".mypy.ini", "setup.cfg", "pyproject.toml"],
    ),
    ("pipenv", &["Pipfile", "Pipfile.lock", ".env"]),
    (
        "pylint",
        &[
            ".pylintrc",
            "pylintrc",
            "pyproject.toml",
            "setup.cfg",
            "tox.ini",
        ],
    ),
    ("rubocop", &[".rubocop.yml"]),
    (
        "webpack",
        &[
            "webpack.config.js",
            "webpack.config.ts",
            "webpack.config.mjs",
            "webpack.config.cjs",
        ],
    ),
    (
        "babel",
        &[
            "babel.config.js",
            "babel.config.mjs",
            "babel.config.cjs",
            "babel.config.json",
            "babel.config.ts",
            ".babelrc",
            ".babelrc.js",
            ".babelrc.cjs",
            ".babelrc.mjs",
            ".babelrc.json",
            "package.json",
        ],
    ),
    (
        "commitlint",
        &[
            "commitlint.config.js",
            "commitlint.config.mjs",
            "commitlint.config.cjs",
            "commitlint.config.ts",
            "commitlint.config.mts",
            "commitlint.config.cts",
            ".commitlintrc",
            ".commitlintrc.js",
            ".commitlintrc.cjs",
            ".commitlintrc.json",
            ".commitlintrc.yml",
            "package.json",
        ],
    ),
    (
        "gulp",
        &[
            "gulpfile.js",
            "gulpfile.mjs",
            "gulpfile.cjs",
            "gulpfile.ts",
            "Gulpfile.js",
        ],
    ),
    (
        "grunt",
        &["Gruntfile.js", "Gruntfile.coffee", "gruntfile.js"],
    ),
    (
        "lint-staged",
        &[
            "lint-staged.config.js",
            "lint-staged.config.mjs",
            "lint-staged.config.cjs",
            "lint-staged.config.ts",
            "lint-staged.config.mts",
            "lint-staged.config.cts",
            ".lintstagedrc",
            ".lintstagedrc.json",
            ".lintstagedrc.yaml",
            ".lintstagedrc.yml",
            ".lintstagedrc.js",
            ".lintstagedrc.mjs",
            ".lintstagedrc.cjs",
            "package.json",
        ],
    ),
    (
        "rollup",
        &[
            "rollup.config.js",
            "rollup.config.mjs",
            "rollup.config.cjs",
            "rollup.config.ts",
            "rollup.config.mts",
            "rollup.config.cts",
        ],
    ),
    (
        "stylelint",
        &[
            "stylelint.config.js",
            "stylelint.config.mjs",
            "stylelint.config.cjs",
            ".stylelintrc",
            ".stylelintrc.js",
            ".stylelintrc.mjs",
            ".stylelintrc.cjs",
            ".stylelintrc.json",
            ".stylelintrc.yml",
            ".stylelintrc.yaml",
            "package.json",
        ],
    ),
    (
        "tsup",
        &[
            "tsup.config.js",
            "tsup.config.mjs",
            "tsup.config.cjs",
            "tsup.config.ts",
            "tsup.config.mts",
            "tsup.config.cts",
            "package.json",
        ],
    ),
    (
        "vite",
        &[
            "vite.config.js",
            "vite.config.mjs",
            "vite.config.cjs",
            "vite.config.ts",
            "vite.config.mts",
            "vite.config.cts",
            "package.json",
        ],
    ),
    (
        "markdownlint-cli2",
        &[
            ".markdownlint-cli2.cjs",
            ".markdownlint-cli2.mjs",
            ".markdownlint-cli2.jsonc",
            ".markdownlint-cli2.yaml",
            ".markdownlint.cjs",
            ".markdownlint.mjs",
        ],
    ),
    (
        "markdownlint",
        &[
            ".markdownlint.cjs",
            ".markdownlint.mjs",
            ".markdownlint.json",
            ".markdownlintrc",
        ],
    ),
];

/// Programs that run the files of a folder by their names.
pub(crate) const RUN_FOLDERS: [(&str, &[&str]); 2] = [
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
