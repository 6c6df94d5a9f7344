//! Files with settings of tools. Many are code, or name code: plugins, scripts, another tool chain.

use crate::known_programs::{WRITTEN_SUFFIXES, base_name, has_code_ending, without_version};
use crate::name_pattern::matches;

/// Tools, and what they read beside the files that are named after them. In a name `*` stands for any text.
const SETTINGS: &[(&[&str], &[&str])] = &[
    (
        &[
            "babel",
            "bun",
            "commitlint",
            "cspell",
            "eslint",
            "lint-staged",
            "next",
            "npm",
            "npm-run-all",
            "pnpm",
            "postcss",
            "prettier",
            "run-p",
            "run-s",
            "stylelint",
            "svelte-check",
            "tailwindcss",
            "tsup",
            "vite",
            "xo",
            "yarn",
            "zx",
        ],
        &["package.json", "package.yaml"],
    ),
    (&["bun", "npm", "npx", "pnpm", "yarn"], &[".npmrc"]),
    (&["bun"], &["bunfig.toml"]),
    (
        &["pnpm"],
        &[".pnpmfile.*", "pnpmfile.*", "pnpm-workspace.yaml"],
    ),
    (&["yarn"], &[".pnp.*"]),
    (&["next"], &[".eslintrc*", "eslint.config.*"]),
    (&["svelte-check"], &["svelte.config.*"]),
    (
        &["tailwind", "tailwindcss"],
        &["postcss.config.*", "tailwind.config.*"],
    ),
    (&["lint-staged"], &[".lintstagedrc*"]),
    (&["markdownlint-cli2"], &[".markdownlint.*"]),
    (&["grunt"], &["Gruntfile.*", "gruntfile.*"]),
    (&["gulp"], &["Gulpfile.*", "gulpfile.*"]),
    (
        &["bun", "ts-node", "tsx"],
        &["jsconfig.json", "tsconfig*.json"],
    ),
    (&["bundle"], &["Gemfile*", "gems.*", ".bundle/config"]),
    (
        &[
            "cargo",
            "cargo-clippy",
            "cargo-fmt",
            "cargo-miri",
            "clippy-driver",
            "rls",
            "rust-analyzer",
            "rust-gdb",
            "rust-lldb",
            "rustc",
            "rustdoc",
            "rustfmt",
            "rustup",
        ],
        &["rust-toolchain", "rust-toolchain.toml"],
    ),
    (
        &["cargo", "cargo-clippy", "cargo-fmt"],
        &[".cargo/config", ".cargo/config.toml"],
    ),
    (
        &["mise"],
        &[
            ".config/mise/*.toml",
            ".mise/*.toml",
            "mise/*.toml",
            ".tool-versions",
        ],
    ),
    (&["poetry"], &["pyproject.toml", "poetry.toml"]),
    (
        &["uv"],
        &[".venv/bin/python", "pyproject.toml", "setup.py", "uv.lock"],
    ),
    (&["uvx"], &["uv.toml"]),
    (
        &["dmypy", "flake8", "mypy", "pylint"],
        &[
            "mypy.ini",
            ".mypy.ini",
            "pyproject.toml",
            "setup.cfg",
            "tox.ini",
        ],
    ),
    (&["pipenv"], &["Pipfile*"]),
    (&["sphinx", "sphinx-build"], &["conf.py"]),
    (&["doit"], &["dodo.py"]),
    (&["fab"], &["fabfile.py"]),
    (&["inv", "invoke"], &["tasks.py"]),
    (&["pre-commit", "prek"], &[".pre-commit-config.*"]),
    (&["lefthook"], &["lefthook-local.*", ".lefthook-local.*"]),
    (
        &["just"],
        &["justfile", "Justfile", "JUSTFILE", ".justfile"],
    ),
    (&["gmake", "make"], &["GNUmakefile", "makefile", "Makefile"]),
    (&["rake"], &["Rakefile", "rakefile"]),
    (
        &["task"],
        &[
            "Taskfile.yml",
            "Taskfile.yaml",
            "taskfile.*",
            "Taskfile.dist.*",
        ],
    ),
    (&["deno"], &["deno.jsonc"]),
    (&["ansible-playbook"], &["ansible.cfg"]),
    (&["composer"], &["composer.lock"]),
    (&["direnv"], &[".envrc"]),
    (
        &[
            "direnv", "foreman", "honcho", "just", "overmind", "pipenv", "task",
        ],
        &[".env"],
    ),
    (&["foreman", "honcho", "overmind"], &["Procfile*"]),
    (&["mix"], &[".formatter.exs", "mix.exs"]),
    (&["R", "Rscript"], &[".Renviron", ".Rprofile"]),
    (&["hg"], &[".hg/hgrc"]),
    (&["golangci-lint"], &[".golangci.*"]),
    (&["rubocop"], &[".rubocop_todo.yml"]),
    (&["pod"], &["Podfile*"]),
    (&["fastlane"], &["Gemfile*", "fastlane/*file"]),
    (&["brew"], &["Brewfile*"]),
    (&["ansible"], &["ansible.cfg"]),
    (&["cargo-make", "makers"], &["Makefile.toml"]),
    (&["clj", "clojure"], &["deps.edn"]),
    (&["conan"], &["conanfile.*"]),
    (&["gdb"], &[".gdbinit"]),
    (&["guard"], &["Guardfile"]),
    (&["jekyll"], &["_config.*", "_plugins/*"]),
    (&["knip"], &["knip.*", "package.json"]),
    (&["lein"], &["project.clj"]),
    (&["ng"], &["angular.json"]),
    (&["nim"], &["config.nims"]),
    (
        &["nvim", "vi", "vim"],
        &[".exrc", ".nvim.lua", ".nvimrc", ".vimrc"],
    ),
    (&["rebar3"], &["rebar.config*"]),
    (&["snakemake"], &["Snakefile", "workflow/Snakefile"]),
    (&["thor"], &["Thorfile", "*.thor"]),
];

/// Tools that read settings beside each file that they work on, in folders below the working folder as well.
const BESIDE_EACH_FILE: [&str; 11] = [
    "babel",
    "cspell",
    "eslint",
    "lint-staged",
    "markdownlint-cli2",
    "postcss",
    "prettier",
    "rubocop",
    "standard",
    "stylelint",
    "xo",
];

/// Whether a tool reads settings in folders below the working folder.
pub(crate) fn reads_settings_below(tool: &str) -> bool {
    BESIDE_EACH_FILE.contains(&tool)
}

/// The tools that may read a file in a folder below the working folder.
pub(crate) fn tools_below(file: &str) -> impl Iterator<Item = &'static str> {
    let named = tools_of(file);
    let reads = move |tool: &&str| {
        named.contains(tool) || settings_of(tool).any(|pattern| matches(pattern, file))
    };
    BESIDE_EACH_FILE.into_iter().filter(reads)
}

/// The files that a tool reads beside those that are named after it.
pub(crate) fn settings_of(program: &str) -> impl Iterator<Item = &'static str> {
    let name = without_version(program).to_owned();
    let own = move |tools: &[&str]| tools.contains(&name.as_str());
    let own = SETTINGS.iter().filter(move |(tools, _)| own(tools));
    own.flat_map(|(_, files)| files.iter().copied())
}

/// Whether a program is known to read settings.
pub(crate) fn has_settings(program: &str) -> bool {
    const NAMED_AFTER_IT: [&str; 11] = [
        "latexmk",
        "lefthook",
        "markdownlint",
        "mkdocs",
        "php-cs-fixer",
        "phpstan",
        "rector",
        "rollup",
        "rubocop",
        "uvx",
        "webpack",
    ];
    NAMED_AFTER_IT.contains(&program) || settings_of(program).next().is_some()
}

/// The name of a tool that files with settings may have, if a word may be one.
pub(crate) fn tool_name(word: &str) -> Option<&str> {
    let name = without_version(base_name(word));
    let name = if has_code_ending(name) {
        name.split_once('.').map_or(name, |(name, _)| name)
    } else {
        name
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    // The variables of a folder are read by other tools.
    (!name.is_empty() && name != "env" && name.chars().all(is_name)).then_some(name)
}

/// The tools that may read a file, by its name: `.tool`, `.toolrc`, `toolrc`, `.tool.*`, `tool.conf.*`, `tool.toml`.
pub(crate) fn tools_of(file: &str) -> Vec<&str> {
    const ENDINGS: [&str; 13] = [
        "cfg", "conf", "dist", "ini", "json", "json5", "jsonc", "neon", "php", "toml", "xml",
        "yaml", "yml",
    ];
    let name = file.trim_start_matches('.');
    let is_hidden = name.len() < file.len();
    let (stem, endings) = name.split_once('.').unwrap_or((name, ""));
    if WRITTEN_SUFFIXES.iter().any(|ending| file.ends_with(ending)) {
        return Vec::new();
    }
    let ending = endings.rsplit('.').next().unwrap_or_default();
    let is_configured = ["conf.", "config."]
        .iter()
        .any(|begin| endings.starts_with(begin))
        || ENDINGS.contains(&ending);
    let own = (is_hidden || is_configured).then_some(stem);
    own.into_iter().chain(stem.strip_suffix("rc")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_named_after_their_tool() {
        for (file, tool) in [
            (".prettierrc", "prettier"),
            (".prettierrc.json5", "prettier"),
            ("prettier.config.mts", "prettier"),
            ("eslint.config.ts", "eslint"),
            (".rubocop", "rubocop"),
            (".php-cs-fixer.dist.php", "php-cs-fixer"),
            ("phpstan.neon.dist", "phpstan"),
            ("rector.php", "rector"),
            ("gunicorn.conf.py", "gunicorn"),
            ("latexmkrc", "latexmk"),
            ("pylintrc.toml", "pylint"),
            ("mise.local.toml", "mise"),
        ] {
            assert!(tools_of(file).contains(&tool), "{file}");
        }
        for file in [
            "main.rs", "Makefile", "check.sh", "index.js", "jq.md", ".x.log",
        ] {
            assert!(tools_of(file).is_empty(), "{file}");
        }
    }
}
