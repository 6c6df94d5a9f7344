use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use super::*;
use crate::code_variables::writable_variables;
use crate::program_file::variable;

/// A folder with programs in `bin`, which is on the search path.
struct LineFolder {
    folder: tempfile::TempDir,
    environment: BTreeMap<OsString, OsString>,
}

impl LineFolder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = dunce::canonicalize(folder.path()).unwrap();
        for name in ["bin", "work/tools", "work/.git", "home"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        fs::write(root.join("work/.git/HEAD"), "ref: refs/heads/main").unwrap();
        let path = format!("{}:/usr/bin:/bin", root.join("bin").display());
        let home = root.join("home").into_os_string();
        let environment = BTreeMap::from([("PATH".into(), path.into()), ("HOME".into(), home)]);
        Self {
            folder,
            environment,
        }
    }

    fn root(&self) -> PathBuf {
        dunce::canonicalize(self.folder.path()).unwrap()
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn files_of(&self, line: &str) -> ProgramFiles {
        let cwd = self.root().join("work");
        ProgramFiles::of_line(
            line,
            LaunchPlace {
                cwd: &cwd,
                environment: &self.environment,
            },
        )
    }

    /// The files that do not belong to the system, relative to the folder.
    fn own(&self, line: &str) -> Vec<String> {
        let root = self.root();
        let files = self.files_of(line);
        let mut own: Vec<String> = files
            .own()
            .map(|file| file.real.strip_prefix(&root).unwrap().display().to_string())
            .collect();
        own.sort();
        own.dedup();
        own
    }
}

#[test]
fn the_scripts_that_a_line_names_are_found() {
    let place = LineFolder::new();
    place.write("work/check.sh", "x");
    place.write("work/tools/x.py", "x");
    place.write("work/Makefile", "x");
    place.write("home/hook.sh", "x");
    place.write("bin/own", "x");
    for (line, expected) in [
        ("echo a", &[][..]),
        ("./check.sh", &["work/check.sh"]),
        ("bash check.sh | tee -a log", &["work/check.sh"]),
        ("cat check.sh", &[]),
        ("cat check.sh | bash", &["work/check.sh"]),
        ("cd tools && python3 x.py", &["work/tools/x.py"]),
        (
            "python3 -u tools/x.py < check.sh",
            &["work/check.sh", "work/tools/x.py"],
        ),
        ("sh -c 'python3 tools/x.py'", &["work/tools/x.py"]),
        ("env A=1 ./check.sh", &["work/check.sh"]),
        ("F=./check.sh; bash $F", &["work/check.sh"]),
        (
            "for f in tools/*.py; do python3 $f; done",
            &["work/tools/x.py"],
        ),
        ("~/hook.sh && \"$HOME\"/hook.sh", &["home/hook.sh"]),
        (
            "python3 $(git rev-parse --show-toplevel)/tools/x.py",
            &["work/tools/x.py"],
        ),
        ("own --flag", &["bin/own"]),
        ("PATH=./tools:$PATH x.py", &["work/tools/x.py"]),
        ("make -s check", &["work/Makefile"]),
        ("./missing.sh > check.sh", &[]),
    ] {
        assert_eq!(place.own(line), expected, "{line}");
        assert_eq!(place.files_of(line).unknown, None, "{line}");
    }
}

#[test]
fn imported_and_called_files_of_scripts_are_found() {
    let place = LineFolder::new();
    for (path, text) in [
        (
            "work/a.py",
            "import helper, pkg.inner\nfrom .near import x\n",
        ),
        ("work/helper.py", "import deep"),
        ("work/deep.py", ""),
        ("work/pkg/__init__.py", ""),
        ("work/pkg/inner.py", ""),
        ("work/near.py", ""),
        ("work/unused.txt", ""),
        (
            "work/tools/a.sh",
            ". \"$(dirname \"$0\")/lib.sh\"\n./tools/b.sh && own x\n",
        ),
        ("work/tools/lib.sh", "make all\n"),
        ("work/tools/b.sh", ""),
        ("work/Makefile", "all:\n\t./made.sh\n"),
        ("work/made.sh", ""),
        (
            "work/js/a.js",
            "require('./b'); import x from '../c.mjs'; require('./d')",
        ),
        ("work/js/b.js", ""),
        ("work/c.mjs", ""),
        ("work/js/d/index.js", ""),
        ("bin/own", "x"),
        ("home/unrelated.sh", ""),
    ] {
        place.write(path, text);
    }
    let python = [
        "work/a.py",
        "work/deep.py",
        "work/helper.py",
        "work/near.py",
    ];
    let python = [&python[..], &["work/pkg/__init__.py", "work/pkg/inner.py"]].concat();
    for (line, expected) in [
        ("python3 a.py", &python[..]),
        (
            "bash tools/a.sh",
            &[
                "bin/own",
                "work/Makefile",
                "work/made.sh",
                "work/tools/a.sh",
                "work/tools/b.sh",
                "work/tools/lib.sh",
            ],
        ),
        (
            "node js/a.js",
            &[
                "work/c.mjs",
                "work/js/a.js",
                "work/js/b.js",
                "work/js/d/index.js",
            ],
        ),
    ] {
        assert_eq!(place.own(line), expected, "{line}");
        assert_eq!(place.files_of(line).unknown, None, "{line}");
    }
}

#[test]
fn modules_of_packages_of_python_are_protected() {
    let package = [
        "tools/__init__.py",
        "tools/sub/__init__.py",
        "tools/sub/x.py",
        "tools/lib/h.py",
        ".venv/bin/python",
    ];
    for (line, files, changed) in [
        ("python3 -m tools.a", "from tools.sub import x", "sub/x.py"),
        (
            "python3 -m tools.a",
            "from tools.sub import (\n y, # y\n x as z)",
            "sub/x.py",
        ),
        (
            "python3 -m tools.a",
            "from tools import lib",
            "sub/__init__.py",
        ),
        ("python3 -m tools.a", "from .sub import x", "sub/x.py"),
        ("python3 -m tools.sub.b", "", "sub/__init__.py"),
        ("python3 -m tools.sub.b", "", "__init__.py"),
        ("python3 -m tools.sub.b", "from ..lib import h", "lib/h.py"),
        (
            "python3 -m tools.sub.b",
            "from .. lib \\\n import h",
            "lib/h.py",
        ),
        ("python3 tools/a.py", "from sub import x", "sub/x.py"),
        (
            "python3 tools/a.py",
            "from sub import x",
            "sub/x/__init__.py",
        ),
        ("python3 tools/a.py", "import sub.deep.x", "sub/deep/x.py"),
        ("python3 tools/a.py", "import sub.x.y", "sub/x/__init__.py"),
        (
            "python3 tools/a.py",
            "from sub.deep import x",
            "sub/deep/x.py",
        ),
        (
            "python3 tools/a.py",
            "from sub.deep import x",
            "sub/deep/__init__.py",
        ),
        ("python3 tools/a.py", "from sub import x", "sub/x.pyc"),
        ("cd tools && python3 -m a", "from sub import x", "sub/x.py"),
        (
            ".venv/bin/python -m tools.a",
            "from tools.sub import x",
            "sub/x.py",
        ),
        (
            "uv run python -m tools.a",
            "from tools.sub import x",
            "sub/x.py",
        ),
        (
            "poetry run python3 -m tools.a",
            "from tools.sub import x",
            "sub/x.py",
        ),
        ("python3 -c 'from tools.sub import x'", "", "sub/x.py"),
        (
            "python3 -c 'from tools.sub import x'",
            "",
            "sub/__init__.py",
        ),
        ("python3 - <<E\nfrom tools.sub import x\nE", "", "sub/x.py"),
        (
            "sh -c 'python3 -m tools.a'",
            "from tools.sub import x",
            "sub/x.py",
        ),
        ("sh t.sh", "from tools.sub import x", "sub/x.py"),
        ("make x", "from tools.sub import x", "sub/x.py"),
        ("python3 t.py", "from tools.sub import x", "sub/x.py"),
        (
            "python3 tools/sub/b.py",
            "import sys; sys.path.append('.')\nfrom tools.lib import h",
            "lib/h.py",
        ),
        (
            "python3 tools/sub/b.py",
            "import sys, pathlib\nsys.path.insert(0, str(pathlib.Path(__file__).parent.parent / 'lib'))\n\
             from deep.more import h",
            "lib/deep/more/h.py",
        ),
        (
            "python3 tools/a.py",
            "import importlib\nimportlib.import_module('sub.deep.x')",
            "sub/deep/x.py",
        ),
    ] {
        let own = [
            format!("tools/a.py: {files}"),
            format!("tools/sub/b.py: {files}"),
            "t.sh: python3 -m tools.a".to_owned(),
            "t.py: import subprocess\nsubprocess.run(['python3', '-m', 'tools.a'])".to_owned(),
            "Makefile: x:\n\tpython3 -m tools.a\n".to_owned(),
        ];
        let files = own.iter().map(String::as_str).chain(package);
        check_rewritten(
            line,
            &files.collect::<Vec<_>>(),
            &format!("tools/{changed}"),
        );
    }
}

#[test]
fn settings_of_tools_are_protected() {
    for (line, changed) in [
        ("npx prettier --check .", ".prettierrc.json5"),
        ("npx prettier --check .", ".prettierrc.toml"),
        ("npx prettier --check .", "package.yaml"),
        ("npx prettier --check .", "evil.js"),
        ("sh fmt.sh", "evil.js"),
        (
            "node node_modules/prettier/bin/prettier.cjs .",
            ".prettierrc",
        ),
        ("prettier --check .", "prettier.config.mts"),
        ("rustfmt src/main.rs", "rust-toolchain"),
        ("rustc --version", "rust-toolchain.toml"),
        ("cargo fmt", "rust-toolchain.toml"),
        ("pylint x", "pylintrc.toml"),
        ("python3 -m pylint x", ".pylintrc"),
        ("python3 -m mypy x", "mypy.ini"),
        ("python3 -m flake8", "tox.ini"),
        ("uv run mypy x", ".mypy.ini"),
        ("mix format", ".formatter.exs"),
        ("npx eslint .", "eslint.config.mts"),
        ("eslint .", ".eslintrc.yaml"),
        ("bundle exec rubocop", ".rubocop"),
        ("vendor/bin/php-cs-fixer fix", ".php-cs-fixer.dist.php"),
        ("php vendor/bin/phpstan", "phpstan.neon"),
        ("composer exec rector", "rector.php"),
        ("latexmk x.tex", "latexmkrc"),
        ("Rscript -e 1", ".Rprofile"),
        ("R -q -e 1", ".Rprofile"),
        ("gunicorn app", "gunicorn.conf.py"),
        ("snakemake -n", "Snakefile"),
        ("thor list", "x.thor"),
        ("sphinx-build docs out", "docs/conf.py"),
        ("mkdocs build", "mkdocs.yml"),
        ("lefthook run x", "lefthook.toml"),
        ("prek run", "prek.toml"),
        ("mise exec -- x", "mise.local.toml"),
        ("mise exec -- x", ".config/mise.toml"),
        ("hg status", ".hg/hgrc"),
        ("yarn run x", ".yarn/releases/yarn-4.cjs"),
        ("golangci-lint run", ".golangci.yml"),
        ("npx cspell .", "cspell.config.cjs"),
        ("npx svelte-check", "svelte.config.js"),
        ("next lint", "eslint.config.mjs"),
        ("npx postcss a.css", "postcss.config.js"),
        ("npx tailwindcss -i a.css", "tailwind.config.js"),
        ("pod install", "Podfile"),
        ("fastlane x", "fastlane/Fastfile"),
        ("brew bundle", "Brewfile"),
        ("honcho start", "Procfile"),
        ("run-s fmt", "package.json"),
        ("tsx a.ts", "tsconfig.json"),
        ("sh -c 'npx eslint .'", "eslint.config.ts"),
        ("cd docs && npx eslint .", "eslint.config.ts"),
        // Below the working folder.
        ("npx prettier --check .", "src/deep/.prettierrc.json"),
        ("npx prettier --check .", "src/deep/package.json"),
        ("npx prettier --check .", "docs/x.config/.prettierrc"),
        ("sh fmt.sh", "src/prettier.config.mjs"),
        ("eslint .", "src/deep/.eslintrc.cjs"),
        ("npx stylelint a.css", "src/stylelint.config.js"),
        ("bundle exec rubocop", "lib/.rubocop.yml"),
        ("npx markdownlint-cli2 .", "docs/.markdownlint-cli2.cjs"),
        ("npx lint-staged", "src/.lintstagedrc.mjs"),
        ("npx babel src", "src/.babelrc.js"),
        ("cd ../other && npx eslint .", "../other/src/.eslintrc.cjs"),
    ] {
        let files = [
            ".prettierrc.yaml: plugins: [\"./evil.js\"]",
            ".yarn/releases/x",
            "docs/x",
            "evil.js",
            "fmt.sh: prettier --check .",
            "node_modules/prettier/bin/prettier.cjs",
            "../other/src/x",
        ];
        check_rewritten(line, &files, changed);
    }
}

#[test]
fn settings_in_packages_do_not_count() {
    let folder = LineFolder::new();
    let work = folder.root().join("work");
    fs::create_dir_all(work.join("src")).unwrap();
    let before = folder.files_of("rubocop .").content_hash().unwrap();
    for packages in [".git", "src/node_modules"] {
        let package = work.join(packages).join("x");
        fs::create_dir_all(&package).unwrap();
        fs::write(package.join(".rubocop.yml"), "1").unwrap();
    }
    let after = folder.files_of("rubocop .").content_hash().unwrap();
    assert_eq!(before, after);
}

#[test]
fn modules_with_other_names_are_protected() {
    let settings = "tsconfig.json: {\"compilerOptions\": {\"paths\": {\"@/*\": [\"./src/*\"]}}}";
    for changed in [
        "src/y.ts",
        "src/y.js",
        "src/y/index.ts",
        "src/z/w.ts",
        "tsconfig.json",
    ] {
        let files = [
            settings,
            "d/a.ts: import y from '@/y.js'; import w from \"@/z/w\";",
            "src/y.ts",
            "src/z/w.ts",
        ];
        check_rewritten("tsx d/a.ts", &files, changed);
        check_rewritten("node --import tsx d/a.ts", &files, changed);
    }
    // Settings of another kind that are nearer hide none.
    let files = [
        settings,
        "d/jsconfig.json: {}",
        "d/a.ts: import y from '@/y.js'",
        "src/y.ts",
    ];
    check_rewritten("tsx d/a.ts", &files, "src/y.ts");
    let names = "{\"compilerOptions\": {\"paths\": {\"@/*\": [\"../src/*\"]}}}";
    for (settings, base) in [
        (
            "tsconfig.json: {\"extends\": \"./settings/base\"}",
            "settings/base.json",
        ),
        (
            "jsconfig.json: {\"extends\": [\"./settings/base.json\"]}",
            "settings/base.json",
        ),
    ] {
        let base_text = format!("{base}: {names}");
        let files = [
            settings,
            &base_text,
            "d/a.ts: import y from '@/y.js'",
            "src/y.ts",
        ];
        for changed in ["src/y.ts", base] {
            check_rewritten("node --import tsx d/a.ts", &files, changed);
            check_rewritten("bun d/a.ts", &files, changed);
        }
    }
}

#[test]
fn modules_without_import_are_not_followed() {
    let place = LineFolder::new();
    for (path, text) in [
        (
            ".codex/a.py",
            "import json, sub.x\nfrom os import path\napp.run('settings.x')\n",
        ),
        (".codex/sub/__init__.py", ""),
        (".codex/sub/x.py", ""),
        (".codex/sub/y.py", ""),
        ("app.py", ""),
        ("path.py", ""),
        ("settings.py", ""),
        ("sub/z.py", ""),
    ] {
        place.write(&format!("work/{path}"), text);
    }
    let expected = ["a.py", "sub/__init__.py", "sub/x.py"];
    let expected = expected.map(|path| format!("work/.codex/{path}"));
    assert_eq!(place.own("python3 .codex/a.py"), expected);
}

#[test]
fn packages_and_virtual_environments_count_as_a_whole() {
    let place = LineFolder::new();
    place.write("work/a.js", "require('left')");
    place.write("work/node_modules/left/index.js", "one");
    place.write("work/.venv/pyvenv.cfg", "");
    place.write("work/.venv/bin/python", "x");
    place.write("work/.venv/lib/left.py", "one");
    for (line, file) in [
        ("node a.js", "work/node_modules/left/index.js"),
        (".venv/bin/python -c ''", "work/.venv/lib/left.py"),
    ] {
        let hash = || place.files_of(line).content_hash().unwrap();
        let first = hash();
        assert_eq!(hash(), first, "{line}");
        place.write(file, "two");
        assert_ne!(hash(), first, "{line}");
    }
}

#[test]
fn new_code_that_would_come_first_changes_the_hash() {
    let place = LineFolder::new();
    place.write("work/a.py", "import json");
    place.write("work/a.sh", "jq . x");
    for (line, file) in [
        ("python3 a.py", "work/re.py"),
        ("python3 -m json", "work/json.py"),
        ("python3 a.py && python3 -c 'import csv'", "work/csv.py"),
        ("bash a.sh", "bin/jq"),
        ("cat x", "bin/cat"),
        ("echo $UNSET; ./later.sh", "work/later.sh"),
    ] {
        let hash = || place.files_of(line).content_hash().unwrap();
        let first = hash();
        place.write(file, "x");
        assert_ne!(hash(), first, "{line}");
    }
    // Python does not look there.
    for (line, expected) in [
        ("python3 -I -c 'import json'", 1),
        ("python3 -c 'import json'", 2),
    ] {
        let files = place.files_of(line);
        assert_eq!(files.content_hash().unwrap(), None, "{line}");
        assert_eq!(
            files.variables(Path::new("/h"), None, &|_| true).len(),
            expected,
            "{line}"
        );
    }
}

#[test]
fn variables_name_code_too() {
    let mut place = LineFolder::new();
    place.write("work/lib/x.py", "one");
    place.write("work/pre.js", "one");
    let cwd = place.root().join("work");
    for (name, value, file) in [
        ("PYTHONPATH", "lib:/nowhere", "work/lib/x.py"),
        ("NODE_OPTIONS", "--require ./pre.js", "work/pre.js"),
        ("LD_LIBRARY_PATH", "/nowhere:", "work/evil.so"),
    ] {
        place.environment.insert(name.into(), value.into());
        let at = LaunchPlace {
            cwd: &cwd,
            environment: &place.environment,
        };
        let files = || ProgramFiles::of_arguments(&["true"], at).content_hash();
        let first = files().unwrap();
        place.write(file, "two");
        assert_ne!(files().unwrap(), first, "{name}");
        let writable = writable_variables(at, &|path| path.starts_with(&cwd));
        assert_eq!(writable, [name], "{name}");
        assert!(writable_variables(at, &|_| false).is_empty());
        place.environment.remove(std::ffi::OsStr::new(name));
    }
}

#[test]
fn lines_with_computed_programs_are_reported() {
    let place = LineFolder::new();
    for line in [
        "cargo test",
        "pytest",
        "while read f; do ./$f; done < list",
        "for f in $(cat list); do bash $f; done",
        "cd $(cat folder) && ./x.sh",
        "bash {a,b}.sh",
        "eval \"$(cat x)\"",
        "$(cat x)",
        "echo \"$(cat x)\" | sh",
    ] {
        assert!(place.files_of(line).unknown.is_some(), "{line}");
    }
    for line in ["cargo fmt", "echo {a,b}", "jq .x"] {
        assert_eq!(place.files_of(line).unknown, None, "{line}");
    }
}

#[test]
fn program_with_many_files_is_hashed_as_a_folder() {
    let place = LineFolder::new();
    let imports: Vec<String> = (0..600).map(|n| format!("require('./m{n}');")).collect();
    for folder in ["work/dist", "work"] {
        place.write(&format!("{folder}/index.js"), &imports.join("\n"));
        for n in 0..600 {
            place.write(&format!("{folder}/m{n}.js"), "one");
        }
    }
    assert_eq!(place.files_of("node dist/index.js").unknown, None);
    let hash = || place.files_of("node dist/index.js").content_hash().unwrap();
    let first = hash();
    place.write("work/dist/m599.js", "two");
    assert_ne!(hash(), first);
    assert!(place.files_of("node index.js").unknown.is_some());
}

#[test]
fn folders_that_commands_may_write_leave_the_search_path() {
    let place = LineFolder::new();
    place.write("bin/own", "x");
    let root = place.root();
    let path = variable(&place.environment, "PATH").unwrap();
    let path = format!("rel:{}", path.to_str().unwrap());
    let kept = |line: &str, writable: bool| {
        let may_write = |path: &Path| writable && path.starts_with(&root);
        let variables = place
            .files_of(line)
            .variables(&root, Some(path.as_ref()), &may_write);
        let mut paths = variables.into_iter().filter(|(name, _)| name == "PATH");
        let kept = paths.next().unwrap().1;
        std::env::split_paths(&kept).any(|folder| folder == root.join("bin"))
    };
    assert!(kept("cat x", false));
    assert!(!kept("cat x", true));
    // The hash covers the program, which is not elsewhere.
    assert!(kept("own x", true));
}

#[test]
fn more_scripts_than_are_read_are_not_known() {
    let place = LineFolder::new();
    let texts = "echo a b c\n".repeat(2_000);
    for name in 0..8 {
        let next = format!(". ./{}.sh\n", name + 1);
        place.write(&format!("work/{name}.sh"), &(next + &texts));
    }
    assert_eq!(place.files_of("sh 7.sh").unknown, None);
    // Each of them is read for each of the folders that the others change to.
    for name in 0..200 {
        let (above, next) = ("x/".repeat(name % 20), (name + 1) % 200);
        let text = format!("cd {above}\n. ./{next}.sh\n./{next}.sh\n{texts}");
        place.write(&format!("work/{above}y/z"), "");
        place.write(&format!("work/{name}.sh"), &text);
    }
    let unknown = place.files_of("sh 0.sh").unknown;
    assert_eq!(unknown.as_deref(), Some("more scripts than are read"));
}

#[test]
fn hash_depends_only_on_the_files() {
    let place = LineFolder::new();
    place.write("work/check.sh", "one");
    let hash = |line: &str| place.files_of(line).content_hash().unwrap();
    assert_eq!(hash("echo a"), None);
    let first = hash("./check.sh").unwrap();
    place.write("work/other.sh", "one");
    assert_eq!(hash("./check.sh").as_ref(), Some(&first));
    place.write("work/check.sh", "two");
    assert_ne!(hash("./check.sh").as_ref(), Some(&first));
    place.write("work/check.sh", "one");
    assert_eq!(hash("./check.sh").as_ref(), Some(&first));
    // A program of the same name comes first on the search path.
    let system = hash("sh -c true");
    assert_eq!(system, None);
    place.write("bin/sh", "mine");
    assert!(hash("sh -c true").is_some());
}

#[test]
fn writable_files_are_found_by_path_and_link_target() {
    let place = LineFolder::new();
    place.write("home/real.sh", "x");
    let link = place.root().join("work/link.sh");
    std::os::unix::fs::symlink(place.root().join("home/real.sh"), link).unwrap();
    let files = place.files_of("./link.sh");
    for folder in ["work", "home"] {
        let folder = place.root().join(folder);
        let may_write = |path: &Path| path.starts_with(&folder);
        assert!(files.first_writable(may_write).is_some(), "{folder:?}");
    }
    assert!(files.first_writable(|_| false).is_none());
}

#[test]
fn arguments_are_looked_at_like_words() {
    let place = LineFolder::new();
    place.write("work/server.js", "x");
    place.write("work/node_modules/.bin/p", "x");
    let cwd = place.root().join("work");
    let at = LaunchPlace {
        cwd: &cwd,
        environment: &place.environment,
    };
    for (arguments, is_found) in [
        (&["node", "server.js"][..], true),
        (&["awk", "./other.js"], false),
        (&["npx", "-y", "p@1"], true),
        (&["npx", "-y", "q"], false),
        (&["sh", "-c", "exec node server.js"], true),
    ] {
        let files = ProgramFiles::of_arguments(arguments, at);
        let found = files.first_writable(|path| path.starts_with(&cwd));
        assert_eq!(found.is_some(), is_found, "{arguments:?}");
    }
}

#[test]
fn scripts_have_folders_and_search_paths_of_their_own() {
    let folder = LineFolder::new();
    folder.write("work/main.sh", "cd lib; ./do\n");
    folder.write("work/lib/do", "#!/bin/sh\n");
    folder.write("work/env.sh", "PATH=$PWD/tools:$PATH\n");
    folder.write("work/tools/mine", "#!/bin/sh\n");
    let own = folder.own("sh main.sh");
    assert!(own.contains(&"work/lib/do".to_owned()), "{own:?}");
    let own = folder.own(". ./env.sh; mine");
    assert!(own.contains(&"work/tools/mine".to_owned()), "{own:?}");
}

#[test]
fn new_file_in_an_executed_folder_changes_the_hash() {
    let folder = LineFolder::new();
    folder.write("work/hooks.d/one", "#!/bin/sh\n");
    for line in [
        "run-parts hooks.d",
        "find hooks.d -type f -exec {} \\;",
        "find hooks.d -print0 | xargs -0 -n1 sh",
    ] {
        let _ = fs::remove_file(folder.root().join("work/hooks.d/two"));
        let before = folder.files_of(line).content_hash().unwrap();
        assert!(before.is_some(), "{line}");
        folder.write("work/hooks.d/two", "#!/bin/sh\n");
        assert_ne!(
            folder.files_of(line).content_hash().unwrap(),
            before,
            "{line}"
        );
    }
    assert!(folder.files_of("find . -exec sh {} \\;").unknown.is_some());
    assert_eq!(folder.files_of("find . -exec rustfmt {} \\;").unknown, None);
}

/// Writes files, and checks that a change of the last one shows, or that the line is never trusted.
#[track_caller]
fn check_rewritten(line: &str, files: &[&str], changed: &str) {
    let folder = LineFolder::new();
    let work = folder.root().join("work").display().to_string();
    for file in files {
        let (path, text) = file.split_once(": ").unwrap_or((file, "1"));
        let path = folder.root().join("work").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text.replace("WORK", &work)).unwrap();
    }
    let line = line.replace("WORK", &work);
    let before = folder.files_of(&line);
    let hash = before.content_hash().unwrap();
    let path = folder.root().join("work").join(changed);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let is_new = !path.exists();
    fs::write(&path, "rewritten").unwrap();
    if is_new {
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let after = folder.files_of(&line);
    let is_refused = before.unknown.is_some() && after.unknown.is_some();
    let is_noticed = after.content_hash().unwrap() != hash;
    assert!(is_refused || is_noticed, "{line}: {before:?}");
}

#[test]
fn interpreted_files_are_protected() {
    for (line, files, changed) in [
        // Folders.
        ("node .", &["index.js"][..], "index.js"),
        ("node .", &[], "package.json"),
        (
            "node ./",
            &["package.json: {\"main\":\"z.js\"}", "z.js"],
            "z.js",
        ),
        ("node sub", &["sub/index.js"], "sub/index.js"),
        (
            "node sub",
            &["sub/package.json: {\"main\":\"./lib/m\"}", "sub/lib/m.js"],
            "sub/lib/m.js",
        ),
        (
            "node sub",
            &[
                "sub/package.json: {\"exports\":{\".\":\"./e.mjs\"}}",
                "sub/e.mjs",
            ],
            "sub/e.mjs",
        ),
        ("node sub/h", &["sub/h.js"], "sub/h.js"),
        ("cd sub && node .", &["sub/index.js"], "sub/index.js"),
        ("python3 .", &["__main__.py"], "__main__.py"),
        ("python3 d", &["d/__main__.py"], "d/__main__.py"),
        ("python3 d", &["d/__main__.py: import json"], "d/re.py"),
        ("env A=1 python3 d", &["d/__main__.py"], "d/__main__.py"),
        ("uv run python d", &["d/__main__.py"], "d/__main__.py"),
        ("timeout 5 node sub", &["sub/index.js"], "sub/index.js"),
        ("bun run sub", &["sub/index.ts"], "sub/index.ts"),
        ("npx tsx sub", &["sub/index.ts"], "sub/index.ts"),
        ("npx ./sub", &["sub/package.json"], "sub/cli.js"),
        (
            "pipx run --spec ./pkg tool",
            &["pkg/setup.py"],
            "pkg/setup.py",
        ),
        ("uvx --from . tool", &["pyproject.toml"], "setup.py"),
        // Options.
        ("node -r ./m -e 1", &["m.js"], "m.js"),
        ("node --require ./m -e 1", &["m.js"], "m.js"),
        ("node --import=./m.mjs x.js", &["m.mjs"], "m.mjs"),
        (
            "node --experimental-loader ./l/m -e 1",
            &["l/m.mjs"],
            "l/m.mjs",
        ),
        ("node --require=./d -e 1", &["d/index.js"], "d/index.js"),
        ("ruby -r ./x -e 1", &["x.rb"], "x.rb"),
        ("perl -Ilib -MFoo -e 1", &["lib/Foo.pm"], "lib/strict.pm"),
        (
            "java -cp classes Main",
            &["classes/Main.class"],
            "classes/Main.class",
        ),
        ("php -d auto_prepend_file=p.inc x.php", &["p.inc"], "p.inc"),
        ("lua -l m", &["m.lua"], "m.lua"),
        ("jq -f x.jq /dev/null", &["x.jq"], "x.jq"),
        ("awk -f p.awk /dev/null", &["p.awk"], "p.awk"),
        ("sed -n -f p.sed /dev/null", &["p.sed"], "p.sed"),
        ("node --test", &[], "a.test.js"),
        ("python3 -m pytest", &[], "test_a.py"),
        ("time cargo test", &[], "tests/a.rs"),
        ("npx jest", &[], "a.test.js"),
        ("nice make", &["Makefile: all:\n\ttrue\n"], "Makefile"),
        // Variables.
        (
            "PYTHONPATH=lib python3 -c 'import foo'",
            &["lib/foo.py"],
            "lib/foo.py",
        ),
        (
            "PYTHONPATH=WORK/lib python3 -c 'import foo'",
            &["lib/foo.py"],
            "lib/foo.py",
        ),
        (
            "export PYTHONPATH=lib; python3 -c 'import foo'",
            &["lib/foo.py"],
            "lib/foo.py",
        ),
        (
            "env PYTHONPATH=lib python3 -c 'import foo'",
            &["lib/foo.py"],
            "lib/foo.py",
        ),
        (
            "sh -c 'PYTHONPATH=lib exec python3 a.py'",
            &["a.py", "lib/foo.py"],
            "lib/foo.py",
        ),
        (
            "PYTHONPATH=lib python3 -c pass",
            &["lib/foo.py"],
            "lib/sitecustomize.py",
        ),
        (
            "PYTHONPATH=lib python3 -c pass",
            &[],
            "lib/usercustomize.py",
        ),
        ("PYTHONPATH=src: python3 a.py", &["a.py"], "re.py"),
        ("PYTHONPATH=\"$(cat p)\" python3 a.py", &["a.py"], "re.py"),
        (
            "NODE_PATH=lib node -e 'require(\"foo\")'",
            &["lib/foo.js"],
            "lib/foo.js",
        ),
        ("NODE_OPTIONS='--require ./m' node a.js", &["m.js"], "m.js"),
        ("PERL5LIB=lib perl -e 1", &["lib/Foo.pm"], "lib/strict.pm"),
        ("RUBYLIB=lib ruby -e 1", &["lib/x.rb"], "lib/set.rb"),
        ("RUBYOPT=-r./x ruby -e 1", &["x.rb"], "x.rb"),
        ("BASH_ENV=e.sh bash -c true", &["e.sh"], "e.sh"),
        ("ENV=e.sh sh -ic true", &["e.sh"], "e.sh"),
        ("LD_PRELOAD=./x.so true", &["x.so"], "x.so"),
        ("LD_LIBRARY_PATH=l true", &["l/x"], "l/libc.so.6"),
        (
            "PATH=bin:$PATH sh x.sh",
            &["x.sh: $0_helper", "bin/foo"],
            "bin/ls",
        ),
        ("HOME=h git status", &["h/x"], "h/.gitconfig"),
        (
            "sh x.sh",
            &[
                "x.sh: export PYTHONPATH=lib\npython3 -c 'import foo'",
                "lib/foo.py",
            ],
            "lib/foo.py",
        ),
    ] {
        check_rewritten(line, files, changed);
    }
}

#[test]
fn files_run_by_code_are_protected() {
    for (line, files, changed) in [
        (
            "python3 s/a.py",
            &["s/a.py: os.system('cd d && sh h')", "d/h"][..],
            "d/h",
        ),
        (
            "node s/a.js",
            &[
                "s/a.js: require('#x')",
                "s/package.json: {\"imports\":{\"#x\":\"./q/x.js\"}}",
                "s/q/x.js",
            ],
            "s/q/x.js",
        ),
        (
            "node s/a.js",
            &[
                "s/a.js: require('me/y')",
                "s/package.json: {\"name\":\"me\",\"exports\":{\"./*\":\"./q/*.js\"}}",
                "s/q/x.js",
            ],
            "s/q/y.js",
        ),
        (
            "make",
            &["Makefile: all:\n\tcd d && $(MAKE)\n", "d/Makefile"],
            "d/Makefile",
        ),
        (
            "sh s/x",
            &[
                "s/x: #!/bin/sh\nfor f in \"$(dirname \"$0\")\"/d/*; do sh $f; done",
                "s/d/a",
            ],
            "s/d/b",
        ),
        (
            "bash s/x",
            &[
                "s/x: #!/bin/sh\nD=\"$(cd \"$(dirname \"$0\")\" && pwd)\"\nfor f in \"$D\"/d/*; do sh $f; done",
                "s/d/a",
            ],
            "s/d/b",
        ),
        // Code in the line.
        (
            "python3 -c \"exec(open('h.py').read())\"",
            &["h.py"][..],
            "h.py",
        ),
        (
            "python3 -c \"exec(open('h.txt').read())\"",
            &["h.txt"],
            "h.txt",
        ),
        (
            "python3 -c \"exec(open(\\\"h.txt\\\").read())\"",
            &["h.txt"],
            "h.txt",
        ),
        (
            "python3 -c 'import runpy; runpy.run_path(\"h.py\")'",
            &["h.py"],
            "h.py",
        ),
        ("env python3 -c 'exec(open(\"h\").read())'", &["h"], "h"),
        (
            "python3 -c 'import sys; exec(open(sys.argv[1]).read())' h",
            &["h"],
            "h",
        ),
        (
            "python3 -c 'import sys; exec(sys.stdin.read())' < h",
            &["h"],
            "h",
        ),
        (
            "cat h | python3 -c 'import sys; exec(sys.stdin.read())'",
            &["h"],
            "h",
        ),
        (
            "python3 -c 'import sys; sys.path.insert(0, \"lib\"); import foo'",
            &["lib/foo.py"],
            "lib/re.py",
        ),
        (
            "python3 - <<'E'\nexec(open('h.txt').read())\nE",
            &["h.txt"],
            "h.txt",
        ),
        ("echo \"exec(open('h').read())\" | python3", &["h"], "h"),
        ("cat h.py | python3 - x", &["h.py"], "h.py"),
        ("cat h.sh | bash -s x", &["h.sh"], "h.sh"),
        ("cat cmds | sqlite3 :memory:", &["cmds"], "cmds"),
        ("cat cmds | ed -s x", &["cmds"], "cmds"),
        ("node -e \"require('./m')\"", &["m.js"], "m.js"),
        ("node -e \"require('.')\"", &["index.js"], "index.js"),
        (
            "node -p \"eval(require('fs').readFileSync('h','utf8'))\"",
            &["h"],
            "h",
        ),
        (
            "node -e 'import(process.argv[1])' ./m.mjs",
            &["m.mjs"],
            "m.mjs",
        ),
        (
            "node -e \"new Function(require('fs').readFileSync('h','utf8'))()\"",
            &["h"],
            "h",
        ),
        (
            "node -e \"require('child_process').execSync('sh x.txt')\"",
            &["x.txt"],
            "x.txt",
        ),
        ("deno eval \"import('./m.ts')\"", &["m.ts"], "m.ts"),
        ("bun -e 'require(\"./m\")'", &["m.ts"], "m.ts"),
        ("perl -e 'do \"./i.pl\"'", &["i.pl"], "i.pl"),
        ("perl -e 'require \"./i\"'", &["i"], "i"),
        ("perl -e 'do $ARGV[0]' i.pl", &["i.pl"], "i.pl"),
        ("perl -ne 'system($_)' < cmds", &["cmds"], "cmds"),
        ("cat cmds | perl -ne 'system($_)'", &["cmds"], "cmds"),
        ("cat cmds | awk '{system($0)}'", &["cmds"], "cmds"),
        ("ruby -e 'load \"x\"'", &["x"], "x"),
        ("ruby -e 'eval File.read(\"x\")'", &["x"], "x"),
        ("php -r 'include \"x.inc\";'", &["x.inc"], "x.inc"),
        ("lua -e 'dofile(\"x\")'", &["x"], "x"),
        (
            "python3 -c 'import os; os.system(\"sh x.txt\")'",
            &["x.txt"],
            "x.txt",
        ),
        (
            "python3 -c 'import subprocess as s; s.run([\"sh\", \"x\"])'",
            &["x"],
            "x",
        ),
        // Code in scripts.
        (
            "python3 .codex/hooks/a.py",
            &[".codex/hooks/a.py: exec(open(\"h.py\").read())", "h.py"],
            "h.py",
        ),
        (
            "python3 s/a.py",
            &["s/a.py: exec(open(\"h\").read())", "h"],
            "h",
        ),
        (
            "python3 s/a.py",
            &["s/a.py: import sys\nsys.path.append('lib')", "lib/x.py"],
            "lib/re.py",
        ),
        (
            "python3 s/t/a.py",
            &[
                "s/t/a.py: import os,sys\nsys.path.insert(0, os.path.dirname(os.path.dirname(__file__)))",
            ],
            "s/re.py",
        ),
        (
            "python3 s/a.py",
            &["s/a.py: import importlib\nimportlib.import_module(name)"],
            "x.py",
        ),
        (
            "python3 s/a.py",
            &["s/a.py: with open(p) as f:\n  exec(f.read())"],
            "x.py",
        ),
        (
            "python3 s/a.py x",
            &[
                "s/a.py: import subprocess\nsubprocess.run(['sh', 'run'])",
                "run",
            ],
            "run",
        ),
        (
            "node sub/h.js",
            &["sub/h.js: require('..')", "index.js"],
            "index.js",
        ),
        (
            "node sub/h.js",
            &["sub/h.js: require('.')", "sub/index.js"],
            "sub/index.js",
        ),
        (
            "node sub/h.js",
            &[
                "sub/h.js: require(require('path').join(__dirname, '..', 'm'))",
                "m.js",
            ],
            "m.js",
        ),
        (
            "node sub/h.js",
            &["sub/h.js: require(process.argv[2])"],
            "m.js",
        ),
        (
            "perl h.pl",
            &["h.pl: use lib \"lib\"; use Foo;", "lib/Foo.pm"],
            "lib/Scalar.pm",
        ),
        ("ruby d/h.rb", &["d/h.rb: load 'x'", "x"], "x"),
        ("make -f M", &["M: include N\nall:\n\ttrue\n", "N"], "N"),
        (
            "make",
            &["Makefile: include *.mk\nall:\n\ttrue\n", "a.mk"],
            "b.mk",
        ),
        ("make", &["Makefile: -include local.mk\n"], "local.mk"),
        ("just", &["justfile: import 'x.just'\n", "x.just"], "x.just"),
        (
            "sh x.sh",
            &[
                "x.sh: python3 - <<'E'\nexec(open('h.txt').read())\nE\n",
                "h.txt",
            ],
            "h.txt",
        ),
        (
            "function f { node sub; }; f",
            &["sub/index.js"],
            "sub/index.js",
        ),
        ("eval node sub", &["sub/index.js"], "sub/index.js"),
        ("op run -- node sub", &["sub/index.js"], "sub/index.js"),
        ("alias r='node sub'; r", &["sub/index.js"], "sub/index.js"),
        (
            "case x in x) node sub;; esac",
            &["sub/index.js"],
            "sub/index.js",
        ),
        ("cat list | xargs node", &["list: a.js", "a.js"], "a.js"),
        ("xargs -n1 sh < list", &["list: a", "a"], "a"),
        (
            "node -e \"process.chdir('sub'); require('./m')\"",
            &["sub/m.js"],
            "sub/m.js",
        ),
        (
            "python3 s/a.py",
            &[
                "s/a.py: import os\nos.chdir('d')\nexec(open('h').read())",
                "d/h",
            ],
            "d/h",
        ),
        ("bash <<< \"$(cat x)\"", &["x"], "x"),
        ("bash < <(cat x)", &["x"], "x"),
        ("python3 <<< \"exec(open('h').read())\"", &["h"], "h"),
        ("python3 < h", &["h"], "h"),
        ("node <<'E'\nrequire('./m')\nE", &["m.js"], "m.js"),
        (
            "python3 s/a.py",
            &[
                "s/a.py: import subprocess\nsubprocess.run(['sh', 'x.txt'])",
                "x.txt",
            ],
            "x.txt",
        ),
        (
            "python3 s/a.py",
            &["s/a.py: os.environ[\"PYTHONPATH\"] = \"lib\"", "lib/foo.py"],
            "lib/re.py",
        ),
        (
            "node s/a.js",
            &[
                "s/a.js: spawn('node', ['x'], {env: {NODE_PATH: 'lib'}})",
                "lib/a.js",
            ],
            "lib/b.js",
        ),
        (
            "make",
            &[
                "Makefile: export PYTHONPATH := lib\nall:\n\tpython3 -c 1\n",
                "lib/a",
            ],
            "lib/re.py",
        ),
        (
            "./h",
            &["h: #!/usr/bin/env -S PYTHONPATH=lib python3\n", "lib/a"],
            "lib/re.py",
        ),
        (
            "npm run x",
            &[
                "package.json: {\"scripts\":{\"x\":\"node sub\"}}",
                "sub/index.js",
            ],
            "sub/index.js",
        ),
        ("npm test", &["package.json"], "a.test.js"),
        (
            "lua -e \"package.path='lib/?.lua;'..package.path; require 'm'\"",
            &["lib/m.lua"],
            "lib/m.lua",
        ),
        ("perl -Mlib=lib -e 1", &["lib/a"], "lib/strict.pm"),
        ("python3 -E -c 'import json'", &[], "json.py"),
        ("env -i python3 -c 'import json'", &[], "json.py"),
        (
            "env -u PYTHONSAFEPATH python3 -c 'import json'",
            &[],
            "json.py",
        ),
        ("PYTHONSAFEPATH= python3 -c 'import json'", &[], "json.py"),
        (
            "unset PYTHONSAFEPATH; python3 -c 'import json'",
            &[],
            "json.py",
        ),
        (
            "python3 -X pycache_prefix=d a.py",
            &["a.py", "d/x"],
            "d/a.pyc",
        ),
        (
            "for d in sub other; do node $d; done",
            &["sub/index.js"],
            "sub/index.js",
        ),
        ("echo sub | xargs node", &["sub/index.js"], "sub/index.js"),
        ("D=sub; node \"$D\"", &["sub/index.js"], "sub/index.js"),
        ("python3 -mfoo", &["foo.py"], "foo.py"),
        // Programs that begin others.
        ("git -c alias.x='!./x' x", &["x"], "x"),
        ("git -c core.hooksPath=d commit", &["d/a"], "d/pre-commit"),
        ("git -c core.fsmonitor=./x status", &["x"], "x"),
        ("git -C sub status", &["sub/a"], "sub/.git/config"),
        ("find d -exec python3 {} +", &["d/a"], "d/b"),
        ("fd . d/ -x sh", &["d/a"], "d/b"),
        ("xargs -a cmds sh -c", &["cmds"], "cmds"),
        ("xargs -I{} sh -c '{}' < cmds", &["cmds"], "cmds"),
        ("flock lock sh x", &["x"], "x"),
        ("env -S 'python3 d'", &["d/__main__.py"], "d/__main__.py"),
        ("bash -c '. \"$0\"' ./x", &["x"], "x"),
    ] {
        check_rewritten(line, files, changed);
    }
}

#[test]
fn program_with_several_search_places_is_found() {
    let folder = LineFolder::new();
    for line in [
        "X=$(command -v nosuch || echo ./tools/x); $X y",
        "\"$(command -v nosuch || echo ./tools/x)\" y",
        "sh \"$(command -v nosuch || echo ./tools/x.sh)\"",
        "\"$(dirname \"$(go env GOMOD)\")/tools/x\"",
    ] {
        assert!(folder.files_of(line).unknown.is_some(), "{line}");
    }
}

#[test]
fn scripts_that_build_or_test_the_workspace_are_reported() {
    let folder = LineFolder::new();
    for name in ["npm", "make", "just", "lefthook", "docker"] {
        folder.write(&format!("bin/{name}"), "#!/bin/sh\n");
    }
    folder.write(
        "work/Makefile",
        "fmt:\n\ttrue\nall: check\ncheck:\n\tcargo test\nagain:\n\t$(MAKE) check\n",
    );
    folder.write(
        "work/package.json",
        r#"{"scripts":{"fmt":"prettier .","ci":"npm run unit","unit":"jest","test":"jest","precheck":"jest"}}"#,
    );
    folder.write(
        "work/lefthook.yml",
        "pre-commit:\n  jobs:\n    - run: npm test\n",
    );
    folder.write(
        "work/justfile",
        "fmt:\n  true\ncheck:\n  cargo test\nalias c := check\n",
    );
    for (name, rules) in [
        ("variable", "GO ?= go\nt:\n\t$(GO) test ./...\n"),
        ("needs", "t: \\\n  u\nu:\n\tcargo test\n"),
        ("computed", "D := u\nt: $(D)\nu:\n\tcargo test\n"),
        ("goal", "t:\n\ttrue\nu:\n\tcargo test\n.DEFAULT_GOAL := u\n"),
    ] {
        folder.write(&format!("work/{name}/Makefile"), rules);
    }
    folder.write("work/inner.sh", "pytest\n");
    folder.write(
        "work/helper.py",
        "import subprocess\nsubprocess.run('go run ./x', shell=True)\n",
    );
    for line in [
        "cargo test",
        "npm test",
        "python3 -m pytest",
        "go run ./x",
        "npx jest",
        "docker compose up",
        "nix develop -c true",
        "make check",
        "make all",
        "make again",
        "npm run ci",
        "npm run check",
        "npm it",
        "just c",
        "cd variable; make t",
        "cd needs; make t",
        "cd computed; make t",
        "cd goal; make",
        "lefthook run pre-commit",
        "sh ./inner.sh",
        ". ./inner.sh",
        "python3 helper.py",
        "export PATH=\"$(cat place):$PATH\"",
        "add() { PATH=\"$1:$PATH\"; }",
    ] {
        folder.write("work/hook.sh", &format!("#!/bin/bash\n{line}\n"));
        let unknown = folder.files_of("./hook.sh").unknown;
        assert!(unknown.is_some(), "{line}");
    }
    for line in [
        "make fmt",
        "npm run fmt",
        "cargo fmt",
        "docker ps",
        "# cargo test",
        "echo run cargo test",
        "git diff --stat",
        "PY=$(command -v python3 || command -v python)\ngit diff --name-only\n\"$PY\" -c pass",
        "DIR=\"$( cd \"$( dirname \"${BASH_SOURCE[0]}\" )\" && pwd )\"\ncd \"$DIR\"",
        "export PATH=\"$(npm bin):$(brew --prefix)/bin:$PATH\"",
    ] {
        folder.write("work/hook.sh", &format!("#!/bin/bash\n{line}\n"));
        assert_eq!(folder.files_of("./hook.sh").unknown, None, "{line}");
    }
}

#[test]
fn installed_programs_may_run_computed_commands() {
    let folder = LineFolder::new();
    folder.write(
        "bin/python9",
        "#!/bin/sh\nPATH=\"$(x):$PATH\"\ncargo test\n",
    );
    assert_eq!(folder.files_of("python9").unknown, None);
    let path = folder.root().join("bin/python9");
    assert!(
        folder
            .files_of(&path.display().to_string())
            .unknown
            .is_some()
    );
}

#[test]
fn files_with_computed_names_count_with_their_folder() {
    for (script, files, changed) in [
        ("for f in $(ls d); do . \"d/$f\"; done", &["d/a"][..], "d/b"),
        ("ls d | while read f; do . \"d/$f\"; done", &["d/a"], "d/b"),
        (
            "sh \"./os/$(uname -s).run\"",
            &["os/Linux.run"],
            "os/Linux.run",
        ),
        ("\"os/$(uname -s)-run\"", &["os/Linux-run"], "os/Linux-run"),
        ("exec \"./os/$(uname -s)\" y", &["os/Linux"], "os/Linux"),
        (
            "env A=1 timeout 5 \"./os/$(uname -s)\"",
            &["os/Linux"],
            "os/Linux",
        ),
        ("exec \"./os/$1\" y", &["os/Linux"], "os/Linux"),
        (
            "load() { . \"./lib/$1.inc\"; }\nload x",
            &["lib/x.inc"],
            "lib/y.inc",
        ),
        ("for f in $(git ls-files); do sh \"$f\"; done", &["a"], "b"),
        (
            "R=$(git rev-parse --show-toplevel)\nPATH=\"$R/bin2:$PATH\"\nx",
            &["bin2/y"],
            "bin2/x",
        ),
    ] {
        let script = format!("hook.sh: {script}");
        let all: Vec<&str> = files.iter().copied().chain([script.as_str()]).collect();
        check_rewritten("sh hook.sh", &all, changed);
    }
}

#[test]
fn files_run_by_git_settings_are_protected() {
    let hook = ".git/hooks/pre-commit: #!/bin/sh\nsh ./x\n";
    for (line, settings, changed) in [
        ("git status", "[filter \"f\"]\n\tclean = ./x", "x"),
        ("git diff", "[diff \"f\"]\n\ttextconv = sh ./x -v", "x"),
        ("git st", "[alias]\n\tst = !sh ./x", "x"),
        ("git status", "[include]\n\tpath = ../x", "x"),
        ("git status", "[core]\n\tfsmonitor = \"./x\"", "x"),
        ("git commit -m y", "", "x"),
        ("git commit -m y", "[core]\n\thooksPath = h", "h/pre-commit"),
        ("cd sub && git status", "", "sub/.git/config"),
        ("git -C sub status", "", "sub/.git/config"),
        ("sh cd.sh", "", "sub/.git/config"),
    ] {
        let folder = LineFolder::new();
        for file in ["x", "cd.sh: cd sub\ngit status\n", "sub/y", hook] {
            let (path, text) = file.split_once(": ").unwrap_or((file, "1"));
            folder.write(&format!("work/{path}"), text);
        }
        folder.write("work/.git/config", settings);
        let before = folder.files_of(line).content_hash().unwrap();
        folder.write(&format!("work/{changed}"), "rewritten");
        let after = folder.files_of(line).content_hash().unwrap();
        assert_ne!(before, after, "{line} {settings}");
    }
}

#[test]
fn ordinary_use_of_git_changes_no_hash() {
    let folder = LineFolder::new();
    folder.write("work/.git/config", "[user]\n\tname = A B\n");
    folder.write("work/.git/hooks/pre-commit", "#!/bin/sh\ncargo test\n");
    folder.write("work/.git/hooks/update.sample", "#!/bin/sh\n");
    let before = folder.files_of("git diff --stat");
    assert_eq!(before.unknown, None);
    folder.write(
        "work/.git/config",
        "[user]\n\tname = A B\n[branch \"b\"]\n\tremote = origin\n[alias]\n\tt = !cargo test\n",
    );
    let after = folder.files_of("git diff --stat");
    assert_eq!(
        before.content_hash().unwrap(),
        after.content_hash().unwrap()
    );
    for line in ["git t", "git commit -m x"] {
        assert!(folder.files_of(line).unknown.is_some(), "{line}");
    }
}

#[test]
fn settings_of_repositories_in_the_index_count() {
    let folder = LineFolder::new();
    let work = folder.root().join("work");
    fs::remove_dir_all(work.join(".git")).unwrap();
    for version in ["2", "4"] {
        for arguments in [
            &["init", "-q", "."][..],
            &["init", "-q", "module"],
            &["-C", "module", "commit", "-q", "--allow-empty", "-m", "x"],
            &["add", "."],
            &["update-index", "--index-version", version],
        ] {
            let mut git = std::process::Command::new("git");
            git.current_dir(&work).env("HOME", work.join("none"));
            for name in ["AUTHOR", "COMMITTER"] {
                git.env(format!("GIT_{name}_NAME"), "n");
                git.env(format!("GIT_{name}_EMAIL"), "e@a.test");
            }
            let done = git.args(arguments).output().unwrap();
            assert!(done.status.success(), "{done:?}");
        }
        folder.write("work/file", "x");
        let before = folder.files_of("git diff").content_hash().unwrap();
        let config = work.join("module/.git/config");
        let text = fs::read_to_string(&config).unwrap();
        fs::write(&config, text + "[core]\n\tfsmonitor = ./x\n").unwrap();
        let after = folder.files_of("git diff").content_hash().unwrap();
        assert_ne!(after, before, "{version}");
    }
}

#[test]
fn ordinary_hooks_are_known_without_workspace_data() {
    let folder = LineFolder::new();
    let script = "#!/usr/bin/env python3\nimport json, os, re, subprocess, sys\nfrom pathlib import Path\n\
        data = json.load(sys.stdin)\nm = re.compile(r'\\.py$').search(data['file'])\n\
        subprocess.run(['ruff', 'check', data['file']], check=False)\n\
        STATE = Path(__file__).parent / 'state.json'\nprint(open('notes.md').read(), 'package.json')\n";
    folder.write("work/.claude/hooks/check.py", script);
    let script = "const fs = require('fs');\nconst path = require('node:path');\n\
        const { execSync } = require('child_process');\nimport x from './lib.mjs';\n\
        const file = JSON.parse(fs.readFileSync(0, 'utf8')).file;\n\
        if (/\\.js$/.exec(file)) execSync(`npx prettier --write ${file}`);\n";
    folder.write("work/scripts/hook.js", script);
    for data in [
        "package.json",
        "notes.md",
        "src/main.rs",
        "state.json",
        ".claude/hooks/state.json",
    ] {
        let path = folder.root().join("work").join(data);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "{}").unwrap();
    }
    for (line, expected) in [
        (
            "python3 .claude/hooks/check.py",
            &["work/.claude/hooks/check.py"][..],
        ),
        (
            "uv run .claude/hooks/check.py",
            &["work/.claude/hooks/check.py"],
        ),
        (
            "node scripts/hook.js",
            &["work/package.json", "work/scripts/hook.js"],
        ),
        (
            "bash -c 'jq -r .tool_input.file_path | xargs -r ruff check'",
            &[],
        ),
        (
            "jq -r '.tool_input.file_path' | { read f; ruff check \"$f\"; }",
            &[],
        ),
        ("ruff check --fix .", &[]),
        ("npx tsc --noEmit", &[]),
        ("npx tsc -p .", &[]),
        (
            "uv --directory . run .claude/hooks/check.py",
            &["work/.claude/hooks/check.py"],
        ),
        ("npx -y @scope/server-files .", &[]),
        ("jq -r '.version' package.json", &[]),
        (
            "python3 -c \"import json,sys; print(json.load(sys.stdin)['cwd'], open('notes.md').read())\"",
            &[],
        ),
        (
            "node -e \"console.log(process.env.HOME, JSON.parse(require('fs').readFileSync(0)))\"",
            &[],
        ),
        ("awk '{print $1}' < /dev/null", &[]),
        ("git diff --stat", &[]),
        ("exec env python3 -u -c pass", &[]),
        ("git diff --name-only | xargs ruff check", &[]),
        ("jq -r .file_path | xargs node --check", &[]),
        ("rg node \"$(date)\"", &[]),
        ("git -C . status", &[]),
        ("notify-send done", &[]),
        ("curl -s -d @- http://127.0.0.1:1/x", &[]),
        ("perl -pe 's/a/b/'", &[]),
        ("PATH=\"$HOME/.local/bin:$PATH\" ruff check", &[]),
        ("FOO=bar BAZ=1 ruff check src", &[]),
        ("timeout 30 npx eslint --fix src", &["work/package.json"]),
        ("npx prettier --check .", &["work/package.json"]),
    ] {
        assert_eq!(folder.own(line), expected, "{line}");
        assert_eq!(folder.files_of(line).unknown, None, "{line}");
    }
}

#[test]
fn python_without_a_script_imports_no_workspace_files() {
    let folder = LineFolder::new();
    for line in [
        "python3 -c 'import json'",
        "python3 -c'import json'",
        "python3 -Buc 'import json'",
        "python3 -W ignore -c 'import json'",
        "python3 -mjson.tool",
        "env python3 -m json.tool",
        "timeout 5 python3 -",
        "python3 < tools/x",
        "python3 <<E\nimport json\nE",
        "uv run python -c 'import json'",
        "ls | xargs python3 -m json.tool",
    ] {
        assert!(folder.files_of(line).imports_nothing, "{line}");
    }
}

#[test]
fn workspace_home_folder_contains_program_code() {
    let mut folder = LineFolder::new();
    let work = folder.root().join("work");
    folder
        .environment
        .insert("HOME".into(), work.clone().into());
    for (line, file) in [
        (
            "python3 -c pass",
            ".local/lib/python3.11/site-packages/usercustomize.py",
        ),
        ("node -e 1", ".node_modules/x.js"),
        ("git status", ".gitconfig"),
        ("bash -lc true", ".profile"),
    ] {
        let before = folder.files_of(line).content_hash().unwrap();
        folder.write(&format!("work/{file}"), "x");
        assert_ne!(
            folder.files_of(line).content_hash().unwrap(),
            before,
            "{line}"
        );
    }
}

#[test]
fn recipes_named_by_options_are_reported() {
    let folder = LineFolder::new();
    for name in [
        "npm", "pnpm", "yarn", "bun", "make", "gmake", "just", "task", "gulp",
    ] {
        folder.write(&format!("bin/{name}"), "#!/bin/sh\n");
    }
    let rules = "t:\n\tcargo test\nfmt:\n\ttrue\n";
    let package =
        r#"{"name":"@s/p","scripts":{"t":"cargo test","fmt":"prettier .","prepare":"cargo test"}}"#;
    for (path, text) in [
        ("rules", rules),
        ("rules.txt", rules),
        ("sub/Makefile", rules),
        ("sub/justfile", rules),
        ("sub/rules", rules),
        ("sub/package.json", package),
        ("packages/p/package.json", package),
        ("Makefile", "fmt:\n\ttrue\n"),
        ("justfile", "fmt:\n  true\n"),
        ("package.json", r#"{"scripts":{"fmt":"prettier ."}}"#),
        (
            "other.yml",
            "version: '3'\ntasks:\n  t:\n    cmds:\n      - cargo test\n",
        ),
        ("sub/Taskfile.yml", "tasks:\n  t: cargo test\n"),
    ] {
        folder.write(&format!("work/{path}"), text);
    }
    for line in [
        "make -f rules t",
        "make -f rules",
        "make -frules",
        "make --file=rules t",
        "make --file rules t",
        "make --makefile rules t",
        "make --makefile=rules.txt",
        "gmake -sf rules",
        "make -C sub",
        "make -Csub t",
        "make -C sub -f rules",
        "make --directory=sub",
        "make --directory sub -j 4",
        "make -j 4 -C sub",
        "make -s -k -C sub",
        "cd sub && make -j4 -s",
        "cd sub && make -j 4",
        "cd sub && make V=1",
        "make -E 't: ; cargo test'",
        "make --eval='fmt: ; cargo test' fmt",
        "cat rules | make -f -",
        "make -f - < rules",
        "make -f /dev/stdin < rules",
        "make -f \"$(ls)\"",
        "make \"$1\" -C sub",
        "just -f rules t",
        "just --justfile rules",
        "just --justfile=rules -d .",
        "just -f sub/justfile",
        "just sub/t",
        "just sub/",
        "cd sub && just",
        "cd sub && just --set a b",
        "npm --prefix sub run t",
        "npm run t --prefix=sub",
        "npm -C sub run t",
        "npm run t -w sub",
        "npm run t -w @s/p",
        "npm run t --workspaces",
        "npm run t -ws",
        "pnpm -C sub t",
        "pnpm --dir sub run t",
        "pnpm -r run t",
        "pnpm --filter @s/p t",
        "yarn --cwd sub t",
        "yarn workspace @s/p t",
        "yarn workspaces foreach run t",
        "bun --cwd sub run t",
        "bun run --cwd=sub t",
        "npm install",
        "npm ci",
        "yarn",
        "yarn install --frozen-lockfile",
        "cd sub; npm i",
        "task -t other.yml t",
        "task --taskfile=other.yml t",
        "task -d sub t",
        "cargo fmt --manifest-path sub/Cargo.toml --config alias.fmt='run'",
        "cargo --manifest-path sub/Cargo.toml test",
        "go -C sub test",
        "turbo run t",
        "nx run t",
        "lerna run t",
    ] {
        folder.write("work/hook.sh", &format!("#!/bin/bash\n{line}\n"));
        let unknown = folder.files_of("./hook.sh").unknown;
        assert!(unknown.is_some(), "in a script: {line}");
        assert!(folder.files_of(line).unknown.is_some(), "{line}");
    }
    for line in [
        "make fmt",
        "make -s fmt",
        "make -j 4 fmt",
        "make -f rules fmt",
        "make -C sub fmt",
        "make",
        "just fmt",
        "just -f rules fmt",
        "just --justfile=sub/justfile fmt",
        "npm --prefix sub run fmt",
        "pnpm -C sub fmt",
        "yarn --cwd sub fmt",
        "cargo fmt --manifest-path sub/Cargo.toml",
        "npm --version",
    ] {
        folder.write("work/hook.sh", &format!("#!/bin/bash\n{line}\n"));
        assert_eq!(folder.files_of("./hook.sh").unknown, None, "{line}");
    }
}

#[test]
fn files_run_by_recipes_elsewhere_are_protected() {
    for (line, files, changed) in [
        ("make -f M", &["M: all:\n\tsh ./y\n", "y"][..], "y"),
        (
            "sh h.sh",
            &["h.sh: make -f M\n", "M: all:\n\tsh ./y\n", "y"],
            "y",
        ),
        (
            "sh h.sh",
            &["h.sh: make -f M\n", "M: all:\n\tsh ./y\n", "y"],
            "M",
        ),
        (
            "make -C sub",
            &["sub/Makefile: all:\n\tnode y\n", "sub/y.js"],
            "sub/y.js",
        ),
        (
            "sh h.sh",
            &[
                "h.sh: make -C sub\n",
                "sub/Makefile: all:\n\tnode y\n",
                "sub/y.js",
            ],
            "sub/y.js",
        ),
        (
            "sh h.sh",
            &[
                "h.sh: npm --prefix sub run x\n",
                "sub/package.json: {\"scripts\":{\"x\":\"sh y\"}}",
                "sub/y",
            ],
            "sub/y",
        ),
        (
            "make -C sub",
            &["sub/Makefile: all:\n\ttrue\n"],
            "sub/GNUmakefile",
        ),
        ("just --justfile=j", &["j: all:\n  sh ./y\n", "y"], "y"),
        (
            "just -f j -d sub",
            &["j: all:\n  sh ./y\n", "sub/y"],
            "sub/y",
        ),
        ("gulp", &["gulpfile.js"], "gulpfile.js"),
        ("grunt", &["Gruntfile.js"], "Gruntfile.js"),
        (
            "npx lint-staged",
            &["lint-staged.config.js"],
            "lint-staged.config.js",
        ),
        (
            "npx lint-staged",
            &[".lintstagedrc: {\"*\":\"sh ./y\"}", "y"],
            "y",
        ),
        ("npx stylelint x.css", &[], "stylelint.config.js"),
        ("npx babel x.ts", &[], "babel.config.js"),
        ("npx vite build", &[], "vite.config.ts"),
        ("npx rollup -c", &[], "rollup.config.js"),
        (
            "mise run x",
            &["mise.toml: [tasks]\nx = 'sh ./y'\n", "y"],
            "y",
        ),
        ("mise run x", &["mise.toml"], "mise-tasks/x"),
        (
            "MAKEFILES=M make x",
            &["Makefile: x:\n\ttrue\n", "M: x: y\n"],
            "M",
        ),
        ("just", &[".env: A=1\n", "justfile: x:\n\ttrue\n"], ".env"),
    ] {
        check_rewritten(line, files, changed);
    }
}

#[test]
fn programs_of_installed_packages_cannot_be_rewritten() {
    let script = "package.json: {\"scripts\":{\"x\":\"tool .\"}}";
    check_rewritten("npm run x", &[script], "node_modules/.bin/sh");
    for line in [
        "npm exec -- tool .",
        "npm x tool",
        "npm exec -c 'tool .'",
        "pnpm exec tool",
        "pnpm tool",
        "yarn tool",
        "yarn run tool",
        "bun x tool",
        "bun run tool",
        "npm run x",
        "npm run x --silent",
        "yarn x",
    ] {
        let files = [script, "node_modules/.bin/tool"];
        check_rewritten(line, &files, "node_modules/.bin/tool");
    }
}

#[test]
fn programs_that_code_starts_with_arguments_are_looked_at() {
    let folder = LineFolder::new();
    for name in ["npm", "make", "cargo"] {
        folder.write(&format!("bin/{name}"), "#!/bin/sh\n");
    }
    folder.write("work/sub/Makefile", "all:\n\tcargo test\nfmt:\n\ttrue\n");
    folder.write("work/Makefile", "fmt:\n\ttrue\nall:\n\tcargo test\n");
    for (file, code, is_reported) in [
        ("h.py", "subprocess.run(['make', '-C', 'sub'])", true),
        ("h.py", "subprocess.run(['make'], cwd='sub')", true),
        (
            "h.py",
            "subprocess.Popen(args=['cargo', 'test'], check=True)",
            true,
        ),
        ("h.py", "subprocess.check_call((\"make\", \"all\"))", true),
        (
            "h.py",
            "subprocess.run(['make', 'fmt'], stdout='all')",
            false,
        ),
        ("h.py", "subprocess.run(['cargo', 'fmt', '--check'])", false),
        (
            "h.js",
            "require('child_process').spawnSync('npm', ['test'], { stdio: 'inherit' })",
            true,
        ),
        (
            "h.js",
            "require('child_process').execFileSync('make', { cwd: 'sub' })",
            true,
        ),
        (
            "h.js",
            "require('child_process').spawn('make', ['fmt'], { stdio: 'inherit' })",
            false,
        ),
        ("h.pl", "system('make', '-C', 'sub');", true),
        ("h.rb", "system('cargo', 'test')", true),
        (
            "h.py",
            "c = ['make', '-s', '-C', 'sub']\nsubprocess.run(c)",
            true,
        ),
        (
            "h.py",
            "os.chdir('sub')\nsubprocess.run(['make', '-s'])",
            true,
        ),
        (
            "h.py",
            "os.spawnlp(os.P_WAIT, 'make', 'make', '-C', 'sub')",
            true,
        ),
        (
            "h.py",
            "await asyncio.create_subprocess_exec('make', '-C', 'sub')",
            true,
        ),
        (
            "h.py",
            "if name in ('npm', 'cargo', 'make'): print('cargo test failed')",
            false,
        ),
        (
            "h.js",
            "import { execFileSync as e } from 'node:child_process'; e('make', ['-C', 'sub'])",
            true,
        ),
        ("h.pl", "`make -C sub`;", true),
        ("h.pl", "# run `cargo test` first\nprint 1;", false),
        ("h.pl", "qx(make -C sub);", true),
        ("h.pl", "open(F, \"make -C sub|\");", true),
        ("h.rb", "%x(cargo test)", true),
    ] {
        folder.write(&format!("work/{file}"), &format!("{code}\n"));
        let program = match file {
            "h.py" => "python3",
            "h.js" => "node",
            "h.pl" => "perl",
            _ => "ruby",
        };
        let unknown = folder.files_of(&format!("{program} {file}")).unknown;
        assert_eq!(unknown.is_some(), is_reported, "{code}: {unknown:?}");
    }
}

#[test]
fn settings_of_git_count_outside_of_a_repository() {
    let folder = LineFolder::new();
    fs::remove_dir_all(folder.root().join("work/.git")).unwrap();
    folder.write("work/y", "1");
    let config = format!("[alias]\n\tst = !sh {}/work/y\n", folder.root().display());
    folder.write("work/conf/git/config", &config);
    let line = "XDG_CONFIG_HOME=conf git st";
    let before = folder.files_of(line).content_hash().unwrap();
    folder.write("work/y", "rewritten");
    assert_ne!(folder.files_of(line).content_hash().unwrap(), before);
}

#[test]
fn git_settings_named_by_variables_are_found() {
    let config = "[filter \"f\"]\n\tclean = sh ./x\n";
    for (variable, value, file) in [
        ("XDG_CONFIG_HOME", "WORK/conf", "conf/git/config"),
        ("GIT_CONFIG_GLOBAL", "WORK/own", "own"),
        ("GIT_CONFIG_SYSTEM", "WORK/own", "own"),
        ("GIT_EXTERNAL_DIFF", "sh ./x", "none"),
        ("GIT_SSH_COMMAND", "./x -v", "none"),
        ("GIT_CONFIG_PARAMETERS", "'diff.external'='sh ./x'", "none"),
        ("GIT_CONFIG_VALUE_0", "sh ./x", "none"),
    ] {
        let mut folder = LineFolder::new();
        folder.write("work/x", "1");
        folder.write("work/.git/config", "");
        folder.write(&format!("work/{file}"), config);
        let work = folder.root().join("work").display().to_string();
        let value = value.replace("WORK", &work);
        let name = OsString::from(variable);
        let set = folder
            .environment
            .insert(name.clone(), value.clone().into());
        assert_eq!(set, None);
        let line = "git status";
        let before = folder.files_of(line).content_hash().unwrap();
        folder.write("work/x", "rewritten");
        assert_ne!(
            folder.files_of(line).content_hash().unwrap(),
            before,
            "{variable}"
        );
        // The same where the line sets it.
        folder.environment.remove(&name);
        let line = format!("{variable}=\"{value}\" git status");
        let before = folder.files_of(&line).content_hash().unwrap();
        folder.write("work/x", "rewritten again");
        assert_ne!(
            folder.files_of(&line).content_hash().unwrap(),
            before,
            "{line}"
        );
        if file != "none" {
            let before = folder.files_of(&line).content_hash().unwrap();
            folder.write(&format!("work/{file}"), "[alias]\n\tst = !sh y\n");
            let after = folder.files_of(&line).content_hash().unwrap();
            assert_ne!(after, before, "{line}");
        }
    }
}

#[test]
fn lines_that_sed_and_awk_run_are_reported() {
    let folder = LineFolder::new();
    for (script, is_reported) in [
        ("s/x/sh .\\/y/e", true),
        ("s|x|sh ./y|ge", true),
        ("1e sh ./y", true),
        ("/a/e", true),
        ("p; $e ./y", true),
        ("s/a/e/", false),
        ("s/a/b/g", false),
        ("/^e/d", false),
        ("s,one,two e,", false),
    ] {
        let unknown = folder.files_of(&format!("echo x | sed '{script}'")).unknown;
        assert_eq!(unknown.is_some(), is_reported, "{script}: {unknown:?}");
    }
    folder.write("work/plain.awk", "{ n += $1 }\nEND { print n }\n");
    folder.write("work/runs.awk", "# lines\n{ system($0) }\n");
    for (line, is_reported) in [
        ("cat list | sed -e1e", true),
        ("cat list | awk '{print | \"sh\"}'", true),
        ("cat list | awk '{\"./x\" | getline}'", true),
        ("cat list | awk '{print $1 \"|\" $2}'", false),
        ("cat list | awk 'a || b {print}'", false),
        ("awk -f plain.awk list", false),
        ("awk -f runs.awk list", true),
        ("awk -f program list", true),
    ] {
        let unknown = folder.files_of(line).unknown;
        assert_eq!(unknown.is_some(), is_reported, "{line}: {unknown:?}");
        folder.write("work/hook.sh", &format!("{line}\n"));
        let unknown = folder.files_of("sh hook.sh").unknown;
        assert_eq!(unknown.is_some(), is_reported, "{line}: {unknown:?}");
    }
}

/// A recipe that runs a script, in a folder below the working folder.
const RECIPE_BELOW: [&str; 2] = ["sub/Makefile: z:\n\tsh h.sh\n", "sub/h.sh"];

#[test]
fn files_in_folder_entered_by_code_are_protected() {
    for (file, code) in [
        (
            "a.py",
            "import os\nos.chdir(\"sub\")\nos.system(\"make z\")",
        ),
        (
            "a.py",
            "import os\nos.chdir( \"sub\")\nos.system(\"make z\")",
        ),
        (
            "a.py",
            "import os\nos.chdir(r\"sub\")\nos.system(\"make z\")",
        ),
        ("a.py", "os.chdir(Path(\"sub\"))\nos.system(\"make z\")"),
        ("a.py", "D = \"sub\"\nos.chdir(D)\nos.system(\"make z\")"),
        ("a.py", "os.chdir(sys.argv[1])\nos.system(\"make z\")"),
        (
            "a.py",
            "os.chdir(open('place').read())\nos.system(\"make z\")",
        ),
        ("a.py", "c = os.chdir\nc(\"sub\")\nos.system(\"make z\")"),
        (
            "a.py",
            "from os import chdir as c\nc('s' + 'ub')\nos.system(\"make z\")",
        ),
        (
            "a.py",
            "getattr(os, 'chdir')('s' + 'ub')\nos.system(\"make z\")",
        ),
        (
            "a.py",
            "with contextlib.chdir('s' + 'ub'):\n  os.system(\"make z\")",
        ),
        (
            "a.py",
            "def go(d):\n  os.chdir(d)\ngo('s' + 'ub')\nos.system(\"make z\")",
        ),
        (
            "a.py",
            "subprocess.run(\"make z\", shell=True, cwd=os.path.join(os.path.dirname(os.path.abspath(__file__)), \"sub\"))",
        ),
        (
            "a.py",
            "D = \"sub\"\nsubprocess.run([\"make\", \"z\"], cwd=D)",
        ),
        (
            "a.py",
            "for d in os.listdir('.'):\n  subprocess.run([\"make\", \"z\"], cwd=d)",
        ),
        (
            "a.py",
            "kw = {'cwd': d}\nsubprocess.run([\"make\", \"z\"], **kw)",
        ),
        (
            "a.py",
            "kw = dict(cwd=d)\nsubprocess.run(\n  [\"make\", \"z\"], **kw)",
        ),
        (
            "a.py",
            "from subprocess import run\nrun(\"make z\", shell=True, cwd=d)",
        ),
        (
            "a.py",
            "cmd = [\"make\"]\ncmd += [\"-C\", \"s\" + \"ub\", \"z\"]\nsubprocess.run(cmd)",
        ),
        (
            "a.py",
            "cmd = [\"make\"]\ncmd.extend(more)\nsubprocess.run(cmd)",
        ),
        ("a.py", "subprocess.run([\"make\", \"-C\", d, \"z\"])"),
        ("a.py", "subprocess.run([\"make\"] + rest)"),
        ("a.py", "subprocess.run([\"make\", *rest])"),
        ("a.py", "os.system(f\"make -C {d} z\")"),
        ("a.py", "os.system(\"make -C \" + d + \" z\")"),
        ("a.py", "os.system(\"make -C %s z\" % d)"),
        ("a.py", "os.system(f\"cd {d} && make z\")"),
        ("a.py", "subprocess.run(shlex.split(f\"make -C {d} z\"))"),
        ("a.py", "os.chdir(d)\nsubprocess.run([\"sh\", \"h.sh\"])"),
        ("a.py", "os.chdir(d)\nsubprocess.run([\"./h.sh\"])"),
        ("a.py", "os.chdir(d)\nexec(open('h.sh').read())"),
        (
            "a.py",
            "os.chdir(d)\nsubprocess.run([sys.executable, 'h.sh'])",
        ),
        ("a.py", "subprocess.run([sys.executable, 'h.sh'], cwd=d)"),
        (
            "a.py",
            "def r(c, cwd): subprocess.run(c, cwd=cwd)\nr([\"make\", \"z\"], d)",
        ),
        (
            "a.py",
            "r = functools.partial(subprocess.run, cwd=d)\nr(\"make z\", shell=True)",
        ),
        (
            "a.py",
            "from subprocess import run as go\ngo(\"make z\", shell=True, cwd=\"s\" + \"ub\")",
        ),
        ("a.py", "os.chdir(os.environ[\"D\"])\nos.system(\"make z\")"),
        (
            "a.py",
            "os.chdir(\"s\" + \"ub\")\nexec(open(\"h.sh\").read())",
        ),
        ("a.js", "execSync(\"make z\", { cwd: process.env.D })"),
        (
            "a.js",
            "function r(c, cwd) { execSync(c, { cwd }) }\nr(\"make z\", \"s\" + \"ub\")",
        ),
        (
            "a.js",
            "const r = (c, cwd) => execSync(c, { cwd })\nr(\"make z\", \"s\" + \"ub\")",
        ),
        (
            "a.js",
            "const r = promisify(exec)\nr(\"make z\", { cwd: \"s\" + \"ub\" })",
        ),
        ("a.js", "go(\"make\", [\"z\"], { cwd: \"s\" + \"ub\" })"),
        ("a.js", "go(\"make z\", { cwd: \"s\" + \"ub\" })"),
        ("a.pl", "chdir \"s\" . \"ub\";\ndo \"./h.sh\";"),
        (
            "a.js",
            "process.chdir(`${__dirname}/sub`)\nrequire(\"child_process\").execSync(\"make z\")",
        ),
        (
            "a.js",
            "process.chdir(process.argv[2])\nexecSync(\"make z\")",
        ),
        ("a.js", "process[\"chdir\"](d)\nexecSync(\"make z\")"),
        (
            "a.js",
            "import { chdir } from \"process\"\nchdir(d)\nexecSync(\"make z\")",
        ),
        (
            "a.js",
            "const { chdir: go } = process\ngo(\"s\" + \"ub\")\nexecSync(\"make z\")",
        ),
        (
            "a.js",
            "execSync(\"make z\", {cwd: path.join(__dirname, \"sub\")})",
        ),
        (
            "a.js",
            "const cwd = fs.readFileSync(\"d\", \"utf8\")\nspawn(\"make\", [\"z\"], { stdio: \"inherit\", cwd })",
        ),
        (
            "a.js",
            "const options = { cwd: d }\nspawn(\"make\", [\"z\"], options)",
        ),
        (
            "a.js",
            "options.cwd = d\nspawnSync(\"make\", [\"z\"], options)",
        ),
        ("a.js", "spawn(\"make\", [\"-C\", d, \"z\"])"),
        (
            "a.js",
            "const args = []\nargs.push(\"-C\", d)\nspawn(\"make\", args)",
        ),
        ("a.js", "exec(`make -C ${d} z`)"),
        ("a.js", "exec(`cd ${d} && make z`)"),
        ("a.js", "fork(\"./h.sh\", { cwd: d })"),
        (
            "a.py",
            "C = [\"make z\"]\nos.chdir(\"sub\")\nfor c in C: os.system(c)",
        ),
        (
            "a.py",
            "def f(c=\"make z\"): os.system(c)\nos.chdir(\"sub\")\nf()",
        ),
        ("a.py", "os.system(\"cd s\" \"ub && make z\")"),
        ("a.py", "os.chdir(\"\\x73ub\")\nos.system(\"make z\")"),
        ("a.pl", "system(sprintf(\"make -C %s z\", $d));"),
        ("a.pl", "my $x = qx{make -C $d z};"),
        (
            "a.pl",
            "my ($d) = (\"s\" . \"ub\");\nchdir($d);\nsystem qw(make z);",
        ),
        ("a.sh", "command cd \"$(cat place)\" && make z"),
        ("a.sh", "cat place | xargs -I% env -C % make z"),
        ("a.sh", "cat place | xargs -I% sh -c \"cd % && make z\""),
        ("a.sh", "cd \"$D\" && make z"),
        ("a.pl", "chdir $d;\nsystem \"make z\";"),
        ("a.pl", "chdir($ARGV[0]) or die;\nsystem(\"make\", \"z\");"),
        ("a.pl", "chdir \"$d/sub\";\n`make z`;"),
        (
            "a.pl",
            "use FindBin;\nchdir \"$FindBin::Bin/sub\";\nsystem \"make z\";",
        ),
        ("a.pl", "chdir $d;\ndo './h.sh';"),
        ("a.pl", "system(\"make -C $d z\");"),
        ("a.pl", "my @c = ('make');\npush @c, '-C', $d;\nsystem(@c);"),
        ("a.rb", "Dir.chdir(d) { system \"make\", \"z\" }"),
        ("a.rb", "Dir.chdir d do\n  system \"make z\"\nend"),
        ("a.rb", "system \"make\", \"z\", chdir: d"),
        ("a.rb", "system(\"make z\", :chdir => d)"),
        ("a.rb", "Dir.chdir(File.join(__dir__, \"sub\"))\n`make z`"),
        ("a.rb", "Dir.chdir(ARGV[0])\nload \"h.sh\""),
        ("a.rb", "system \"make -C #{d} z\""),
        ("a.rb", "Open3.capture2e(\"make\", \"z\", chdir: d)"),
        ("a.sh", "cd \"$(cat place)\"\nmake z"),
        ("a.sh", "read D < place\ncd $D && make z"),
        ("a.sh", "pushd \"$(cat place)\"\nmake z"),
        ("a.sh", "cd \"$1\"\nsh h.sh"),
        ("a.sh", "inside() { cd \"$1\" && make z; }\ninside su\"\"b"),
        ("a.sh", "env -C \"$(cat place)\" make z"),
        ("a.sh", "make -C $(cat place) z"),
        ("a.sh", "for d in s*; do (cd \"$d\" && make z); done"),
        ("a.sh", "ls -d s* | xargs -I{} make -C {} z"),
        ("a.sh", "ls -d s* | xargs -n1 make z -C"),
        ("a.sh", "find . -name Makefile -execdir make z \\;"),
        ("a.sh", "cd \"$(cat place)\"\ncat h.sh | sh"),
    ] {
        let program = match file {
            "a.py" => "python3",
            "a.js" => "node",
            "a.pl" => "perl",
            "a.rb" => "ruby",
            _ => "sh",
        };
        let own = format!("{file}: {code}\n");
        let files = [&[own.as_str()], &RECIPE_BELOW[..]].concat();
        check_rewritten(&format!("{program} {file}"), &files, "sub/h.sh");
    }
}

#[test]
fn files_in_folder_entered_by_imports_are_protected() {
    for (line, files) in [
        (
            "python3 a.py",
            [
                "a.py: import helper\nhelper.go('s' + 'ub')\n",
                "helper.py: import os\ndef go(d):\n  os.chdir(d)\n  os.system('make z')\n",
            ],
        ),
        (
            "python3 a.py",
            [
                "a.py: import os, helper\nos.chdir('s' + 'ub')\nhelper.go()\n",
                "helper.py: import os\ndef go():\n  os.system('make z')\n",
            ],
        ),
        (
            "python3 a.py",
            [
                "a.py: import os, helper\nos.chdir(d)\nhelper.go()\n",
                "helper.py: import os\ndef go():\n  os.system('make z')\n",
            ],
        ),
        (
            "node a.js",
            [
                "a.js: process.chdir(d); require('./b')\n",
                "b.js: require('child_process').execSync('make z')\n",
            ],
        ),
        (
            "perl a.pl",
            [
                "a.pl: use lib '.'; use B; B::go('s' . 'ub');\n",
                "B.pm: package B; sub go { chdir $_[0]; system 'make z'; } 1;\n",
            ],
        ),
    ] {
        let files = [&files[..], &RECIPE_BELOW[..]].concat();
        check_rewritten(line, &files, "sub/h.sh");
    }
}

#[test]
fn started_scripts_run_in_the_folder_of_their_starter() {
    const MAKE_SCRIPT: &str = "t/b.sh: make z\n";
    for (line, files) in [
        (
            "sh a.sh",
            &["a.sh: cd \"$(cat place)\"\nsh WORK/t/b.sh\n", MAKE_SCRIPT][..],
        ),
        ("sh a.sh", &["a.sh: cd sub\nsh WORK/t/b.sh\n", MAKE_SCRIPT]),
        ("sh a.sh", &["a.sh: cd sub\nsh ../t/b.sh\n", MAKE_SCRIPT]),
        (
            "sh a.sh",
            &[
                "a.sh: cd \"$(cat place)\"\nsh -c 'sh WORK/t/b.sh'\n",
                MAKE_SCRIPT,
            ],
        ),
        (
            "sh a.sh",
            &[
                "a.sh: env -C \"$(cat place)\" sh WORK/t/b.sh\n",
                MAKE_SCRIPT,
            ],
        ),
        (
            "sh a.sh",
            &["a.sh: env -C sub sh WORK/t/b.sh\n", MAKE_SCRIPT],
        ),
        (
            "sh a.sh",
            &[
                "a.sh: . WORK/t/b.sh\nmake z\n",
                "t/b.sh: cd \"$(cat place)\"\n",
            ],
        ),
        (
            "sh a.sh",
            &["a.sh: . WORK/t/b.sh\nmake z\n", "t/b.sh: cd sub\n"],
        ),
        (
            "sh a.sh",
            &[
                "a.sh: cd \"$(cat place)\"\nsh WORK/t/b.sh\n",
                "t/b.sh: ./h.sh\n",
            ],
        ),
        (
            "sh a.sh",
            &[
                "a.sh: cd \"$(cat place)\"\nsh WORK/t/b.sh\n",
                "t/b.sh: python3 -m h\n",
            ],
        ),
        (
            "sh a.sh",
            &[
                "a.sh: cd sub\nsh WORK/t/b.sh\n",
                "t/b.sh: sh WORK/t/c.sh\n",
                "t/c.sh: sh WORK/t/d.sh\n",
                "t/d.sh: make z\n",
            ],
        ),
        (
            "sh a.sh",
            &[
                "a.sh: cd \"$(cat place)\"\npython3 WORK/t/b.py\n",
                "t/b.py: import os\nos.system('sh WORK/t/c.sh')\n",
                "t/c.sh: make z\n",
            ],
        ),
        (
            "sh a.sh",
            &[
                "a.sh: cd \"$(cat place)\"\npython3 WORK/t/b.py\n",
                "t/b.py: exec(open('h.sh').read())\n",
            ],
        ),
        (
            "sh a.sh",
            &[
                "a.sh: cd sub\npython3 WORK/t/b.py\n",
                "t/b.py: exec(open('h.sh').read())\n",
            ],
        ),
        (
            "sh a.sh",
            &[
                "a.sh: cd \"$(cat place)\"\nperl WORK/t/b.pl\n",
                "t/b.pl: do './h.sh';\n",
            ],
        ),
        (
            "sh a.sh",
            &[
                "a.sh: cd \"$(cat place)\"\nruby WORK/t/b.rb\n",
                "t/b.rb: `make z`\n",
            ],
        ),
        (
            "python3 a.py",
            &[
                "a.py: import subprocess\nsubprocess.run(['sh', 'WORK/t/b.sh'], cwd=d)\n",
                MAKE_SCRIPT,
            ],
        ),
        (
            "python3 a.py",
            &[
                "a.py: import subprocess\nsubprocess.run(['sh', 'WORK/t/b.sh'], cwd='sub')\n",
                MAKE_SCRIPT,
            ],
        ),
        (
            "node a.js",
            &[
                "a.js: execFileSync('node', [__dirname + '/t/b.js'], { cwd: d() })\n",
                "t/b.js: execSync('make z')\n",
            ],
        ),
        (
            "ruby a.rb",
            &[
                "a.rb: Dir.chdir(d) { system 'sh', 'WORK/t/b.sh' }\n",
                MAKE_SCRIPT,
            ],
        ),
        (
            "perl a.pl",
            &["a.pl: chdir $d; system 'sh WORK/t/b.sh';\n", MAKE_SCRIPT],
        ),
        ("cd sub && sh WORK/t/b.sh", &[MAKE_SCRIPT]),
        ("cd \"$(cat place)\" && sh WORK/t/b.sh", &[MAKE_SCRIPT]),
        ("cd sub && ../t/b.sh", &["t/b.sh: #!/bin/sh\nmake z\n"]),
        (
            "python3 a.py",
            &[
                "a.py: import os, sys\nsys.path.insert(0, 'WORK/t')\nos.chdir(d)\nimport b\nb.go()\n",
                "t/b.py: import os\ndef go(): os.system('make z')\n",
            ],
        ),
    ] {
        let files = [files, &RECIPE_BELOW[..]].concat();
        check_rewritten(line, &files, "sub/h.sh");
    }
}

#[test]
fn programs_that_data_decides_cannot_be_rewritten() {
    for (line, code) in [
        ("python3 a.py", "import os\nos.system(open('place').read())"),
        (
            "python3 a.py",
            "import subprocess\nsubprocess.run(open('place').read().split())",
        ),
        (
            "python3 a.py",
            "import subprocess\nsubprocess.run(['sh', open('place').read()])",
        ),
        (
            "python3 a.py",
            "c = json.load(open('place'))\nsubprocess.run([c['program'], f])",
        ),
        (
            "python3 a.py",
            "c = json.load(open('place'))\nsubprocess.run(c['command'], shell=True)",
        ),
        (
            "python3 a.py",
            "def c(): return open('place').read()\nsubprocess.run(c(), shell=True)",
        ),
        ("python3 a.py", "for c in open('place'):\n  os.system(c)"),
        (
            "python3 a.py",
            "with open('place') as f:\n  c = f.read()\nsubprocess.run([c])",
        ),
        (
            "python3 a.py",
            "from subprocess import run\nc, d = open('place').read().split()\nrun([c, d])",
        ),
        (
            "python3 a.py",
            "import sh\nsh.make('-C', open('place').read())",
        ),
        (
            "python3 a.py",
            "from plumbum import local\nlocal[open('place').read()]()",
        ),
        (
            "python3 a.py",
            "for l in open('place'):\n  k, v = l.split('=')\n  os.environ[k] = v\nos.system('ls')",
        ),
        (
            "python3 a.py",
            "os.environ['PATH'] = open('place').read()\nos.system('ls')",
        ),
        (
            "python3 a.py",
            "subprocess.run(['ls'], env=json.load(open('place')))",
        ),
        (
            "python3 a.py",
            "os.environ['GIT_SSH_COMMAND'] = open('place').read()\nos.system('git fetch')",
        ),
        (
            "node a.js",
            "require('child_process').execSync(fs.readFileSync('place', 'utf8'))",
        ),
        (
            "node a.js",
            "const { fork } = require('child_process')\nfork(fs.readFileSync('place', 'utf8'))",
        ),
        (
            "node a.js",
            "import go from 'cross-spawn'\ngo.sync(fs.readFileSync('place', 'utf8'), [])",
        ),
        (
            "node a.js",
            "import { $ } from 'zx'\nawait $`sh ${fs.readFileSync('place')}`",
        ),
        (
            "node a.js",
            "process.env.NODE_OPTIONS = fs.readFileSync('place', 'utf8')\nspawnSync('node', ['-v'])",
        ),
        (
            "node a.js",
            "Object.assign(process.env, JSON.parse(fs.readFileSync('place')))\nexecSync('ls')",
        ),
        ("ruby a.rb", "system File.read('place')"),
        ("python3 a.py", "run = os.system\nrun(open('place').read())"),
        ("python3 a.py", "list(map(os.system, open('place')))"),
        (
            "python3 a.py",
            "Thread(target=os.system, args=(open('place').read(),)).start()",
        ),
        (
            "python3 a.py",
            "S = {}\nS['c'] = open('place').read()\nos.system(S['c'])",
        ),
        (
            "python3 a.py",
            "c = ConfigParser()\nc.read('place')\nsubprocess.run(c['x']['c'], shell=True)",
        ),
        (
            "python3 a.py",
            "for (c,) in connect('place').execute('select c from t'): os.system(c)",
        ),
        (
            "python3 a.py",
            "subprocess.run('x', shell=True, executable=open('place').read())",
        ),
        (
            "python3 a.py",
            "subprocess.run(['sh'], input=open('place').read(), text=True)",
        ),
        (
            "python3 a.py",
            "os.putenv(*open('place').read().split('='))\nos.system('ls')",
        ),
        (
            "python3 a.py",
            "sys.path.append(open('place').read())\nimport q",
        ),
        (
            "python3 a.py",
            "match open('place').read():\n  case c: os.system(c)",
        ),
        (
            "node a.js",
            "const cp = require('child_process')\ncp.fork('b.js', [], { execArgv: fs.readFileSync('place', 'utf8').split(' ') })",
        ),
        (
            "node a.js",
            "const cp = require('child_process')\ncp.spawn('x', [], { shell: fs.readFileSync('place', 'utf8') })",
        ),
        (
            "node a.js",
            "new (require('worker_threads').Worker)(fs.readFileSync('place'), { eval: true })",
        ),
        ("ruby a.rb", "File.foreach('place') { |l| system l }"),
        (
            "ruby a.rb",
            "c = JSON.parse(File.read('place'))\nexec c['c']",
        ),
        (
            "perl a.pl",
            "open(my $f, '<', 'place'); my $l = <$f>; open(P, '-|', $l);",
        ),
        (
            "perl a.pl",
            "open(F, 'place'); while (<F>) { my ($k, $v) = split /=/; $ENV{$k} = $v } system('ls');",
        ),
        (
            "php a.php",
            "<?php $c = json_decode(file_get_contents('place')); exec($c->c);",
        ),
        (
            "lua a.lua",
            "for l in io.lines('place') do os.execute(l) end",
        ),
        (
            "python3 a.py",
            "import subprocess\nsubprocess.run(['find', '.', '-exec', open('place').read(), ';'])",
        ),
        (
            "python3 a.py",
            "import subprocess\nsubprocess.run(['git', '-c', open('place').read(), 'status'])",
        ),
        (
            "python3 a.py",
            "import subprocess\nsubprocess.run(['flock', 'l', open('place').read()])",
        ),
        (
            "python3 a.py",
            "import subprocess\nc = ['flock', 'l']\nc = ['flock', 'l', open('place').read()]\nsubprocess.run(c)",
        ),
        (
            "python3 a.py",
            "import subprocess, os\nfor a, b, c, d in os.fwalk('.'):\n  subprocess.run([a + '/' + c[0]])",
        ),
        (
            "python3 a.py",
            "import os, pandas as pd\nfor c in pd.read_csv('place')['c']:\n  os.system(c)",
        ),
        (
            "python3 a.py",
            "import os, fileinput\nfor l in fileinput.FileInput('place'):\n  os.system(l)",
        ),
        (
            "python3 a.py",
            "import os, xml.etree.ElementTree as ET\nos.system(ET.parse('place').getroot().text)",
        ),
        (
            "python3 a.py",
            "import os, json\nos.environ |= json.load(open('place'))\nos.system('ls')",
        ),
        (
            "python3 a.py",
            "import os\nfor l in open('place'):\n  k, v = l.split('=')\n  os.environ.setdefault(k, v)\nos.system('ls')",
        ),
        (
            "python3 a.py",
            "import os\nE = os.environ\nfor l in open('place'):\n  k, v = l.split('=')\n  E[k] = v\nos.system('ls')",
        ),
        (
            "python3 a.py",
            "import os\nos.environ.update(dotenv_values('place'))\nos.system('ls')",
        ),
        (
            "ruby a.rb",
            "require 'find'\nFind.find('t') { |f| system(f) }",
        ),
        ("ruby a.rb", "Dir['t/*'].each { |f| system(f) }"),
        ("ruby a.rb", "system(YAML.safe_load_file('place')['c'])"),
        ("ruby a.rb", "system(File.binread('place'))"),
        ("perl a.pl", "system($_) for <t/*>;"),
        ("perl a.pl", "my @f = <t/*>; system($f[0]);"),
        (
            "perl a.pl",
            "open(IN, 'place'); while (my $l = <IN>) { system($l) }",
        ),
        (
            "perl a.pl",
            "use YAML qw(LoadFile); my $c = LoadFile('place'); system($c->{c});",
        ),
        (
            "php a.php",
            "<?php foreach (file('place') as $l) { system($l); }",
        ),
        (
            "php a.php",
            "<?php foreach (json_decode(file_get_contents('place')) as $k => $l) { system($l); }",
        ),
        (
            "php a.php",
            "<?php $c = parse_ini_file('place'); system($c['c']);",
        ),
        (
            "node a.js",
            "import { execSync } from 'node:child_process'\nexecSync(Deno.readTextFileSync('place'))",
        ),
        (
            "node a.js",
            "const cp = require('child_process')\ncp[\"execSync\"](fs.readFileSync(process.argv[2]))",
        ),
        ("ruby a.rb", "IO.popen(File.read(ARGV[0]))"),
        ("ruby a.rb", "Process.spawn(File.read(ARGV[0]))"),
        (
            "lua a.lua",
            "local c = io.open(arg[1]):read('a')\nio.popen(c)",
        ),
        (
            "python3 a.py",
            "import pty\npty.spawn(open(sys.argv[1]).read().split())",
        ),
        (
            "perl a.pl",
            "use File::Find;\nfind(sub { system($File::Find::name) }, 't');",
        ),
        (
            "php a.php",
            "<?php foreach (new DirectoryIterator('t') as $l) { system($l->getPathname()); }",
        ),
        (
            "node a.js",
            "import { execa } from 'execa'\nfor (const f of await globby('t/*')) await execa(f)",
        ),
        ("sh a.sh", "trap \"$(cat place)\" EXIT"),
        ("sh a.sh", "alias x=\"$(cat place)\"\nx"),
        ("sh a.sh", "bash -c 'c=$(cat place); $c'"),
        ("sh a.sh", "builtin eval \"$(cat place)\""),
        ("sh a.sh", "printf -v PATH %s \"$(cat place)\"\nls"),
        ("sh a.sh", "N=C\nC=$(cat place)\n${!N}"),
        ("sh a.sh", "git -c alias.x=\"!$(cat place)\" x"),
        ("sh a.sh", "find . -exec $(cat place) {} \\;"),
        ("ruby a.rb", "`#{File.read('place')}`"),
        ("ruby a.rb", "x = File.read('place')\n%x|#{x}|"),
        (
            "perl a.pl",
            "open F, 'place'; my $c = <F>; my $o = qx {$c};",
        ),
        (
            "node a.js",
            "const r = createRequire(import.meta.url)\nr(fs.readFileSync('place', 'utf8'))",
        ),
        (
            "python3 a.py",
            "p = open('place').read()\npickle.load(open(p, 'rb'))",
        ),
        (
            "python3 a.py",
            "p = open('place').read()\nexec(open(p).read())",
        ),
        ("sh a.sh", "$(cat place)"),
        ("sh a.sh", "timeout 5 $(cat place)"),
        ("sh a.sh", "c=$(jq -r .command place)\n$c"),
        ("sh a.sh", "c=$(jq -r .command place)\nsh -c \"$c\""),
        ("sh a.sh", "d=$(cat place)\n. \"$d/env\""),
        ("sh a.sh", "eval \"$(cat place)\""),
        ("sh a.sh", "while read c; do $c; done < place"),
        ("sh a.sh", "xargs -n1 sh < place"),
        ("sh a.sh", "cat place | xargs -n1 sh"),
        ("sh a.sh", "export $(cat place)\nls"),
        ("sh a.sh", "env $(cat place) ls"),
        ("sh a.sh", "npx \"$(cat place)\""),
        ("sh a.sh", "set -- $(cat place)\n\"$@\""),
        ("sh a.sh", "\"$SHELL\" -c \"$(cat place)\""),
        (
            "sh a.sh",
            "python3 -c \"import os; os.system(open('place').read())\"",
        ),
        (
            "ruby a.rb",
            "ENV['RUBYOPT'] = File.read('place')\nsystem 'ruby', '-v'",
        ),
        ("perl a.pl", "open F, 'place'; my $c = <F>; system($c);"),
        (
            "perl a.pl",
            "open F, 'place'; $ENV{PERL5OPT} = <F>; system('perl -v');",
        ),
    ] {
        let (_, file) = line.split_once(' ').unwrap();
        check_rewritten(line, &[&format!("{file}: {code}\n"), "place: x"], "place");
    }
}

#[test]
fn files_started_by_imported_functions_are_protected() {
    for (line, files) in [
        (
            "python3 a.py",
            [
                "a.py: import json, helper\nhelper.go(json.load(open('place'))['c'])\n",
                "helper.py: import subprocess\ndef go(c):\n  subprocess.run(c, shell=True)\n",
            ],
        ),
        (
            "node a.js",
            [
                "a.js: const h = require('./h'); h.run(fs.readFileSync('place', 'utf8'))\n",
                "h.js: const cp = require('child_process'); exports.run = c => cp.execSync(c)\n",
            ],
        ),
    ] {
        check_rewritten(line, &[&files[..], &["place: x"]].concat(), "place");
    }
}

#[test]
fn indirect_commands_of_script_are_found() {
    let folder = LineFolder::new();
    let unknown = |text: &str| {
        folder.write("work/a.sh", text);
        folder.files_of("sh a.sh").unknown.is_some()
    };
    for begin in [
        "readonly",
        "typeset",
        "local",
        "flock l -c",
        "flock l sh",
        "flock l",
        "chroot /",
        "coproc",
        "busybox sh -c",
        "timeout 5 git -c",
        "parallel",
        "git bisect run",
        "git rebase -x",
        "git rebase --exec",
        "git submodule foreach",
        "rsync -e",
        "tar cf a . --to-command",
        "script -c",
        "sudo sh -c",
        "uv run",
        "poetry run",
        "npm exec",
        "gdb --args",
        "xvfb-run -a",
        "f() { \"$@\"; }\nf",
        "f() { \"$@\"; }\nf sh -c",
        "f() { timeout 5 \"$@\"; }\nf",
        "f() { eval \"$*\"; }\nf",
        "f () {\n  bash -c \"$1\"\n}\nf",
        "function f {\n  shift\n  \"$@\"\n}\nf a",
    ] {
        assert!(
            unknown(&format!("{begin} \"$(ls | head -1)\"\n")),
            "{begin}"
        );
        assert!(
            !unknown(&format!("{begin} ls\n")) || begin.contains("git"),
            "{begin} ls"
        );
    }
    for text in [
        "ls | parallel",
        "tar cf a . --to-command=$(ls)",
        "read -r PATH < <(ls)\nlint",
        "ls | { read -r BASH_ENV; export BASH_ENV; bash -c true; }",
        "for PATH in $(ls); do lint; done",
        "mapfile -t NODE_OPTIONS < x\nnode y",
        "printf -v PATH %s x\nlint",
    ] {
        assert!(unknown(text), "{text}");
    }
    for text in [
        "for f in $(git diff --name-only); do prettier --check \"$f\"; done",
        "read -r -p \"$(date) > \" answer\nwhile read -r line; do echo \"$line\"; done",
        "flock \"$HOME/lock\" ls \"$(date)\"\nprintf '%s' \"$(date)\"",
        "log() { echo \"$1\"; }\nrun() { \"$@\" || exit 2; }\nlog \"$(date)\"\nrun ls \"$(date)\"",
        "git cherry-pick -x \"$(git rev-parse main)\"\nlocal x=\"$(date)\"\nexport X=\"$(date)\"",
        "find . -name x | xargs -n 1 grep \"$(date)\"\nparallel echo ::: a b",
    ] {
        assert!(!unknown(text), "{text}");
    }
}

#[test]
fn arguments_of_functions_that_run_them_are_looked_at() {
    let files = [
        "a.sh: run() { \"$@\" || exit 2; }\nrun make -C sub z\n",
        RECIPE_BELOW[0],
        RECIPE_BELOW[1],
    ];
    check_rewritten("sh a.sh", &files, "sub/h.sh");
}

#[test]
fn python_of_other_folders_imports_nothing_of_them_unseen() {
    for code in ["cwd='sub'", "cwd=open('place').read()"] {
        let code = format!(
            "a.py: import subprocess\nsubprocess.run(['python3', '-m', 'json.tool'], {code})\n"
        );
        check_rewritten("python3 a.py", &[&code, "sub/x"], "sub/json.py");
    }
}

#[test]
fn programs_that_the_code_chooses_itself_are_known() {
    let folder = LineFolder::new();
    for (line, code) in [
        (
            "php a.php",
            "<?php foreach (['ruff check', 'black .'] as $c) { system($c); }",
        ),
        (
            "perl a.pl",
            "for my $c ('ruff', 'black') { system($c) if $n < 5 and $m > 3 }",
        ),
        (
            "python3 a.py",
            "c = ['git', 'add']\nc = c + [json.load(sys.stdin)['file']]\nsubprocess.run(c)\nsubprocess.run(['git', 'log', '-1', json.load(sys.stdin)['file']])",
        ),
        (
            "python3 a.py",
            "E = os.environ\nE['MODE'] = json.load(sys.stdin)['mode']\nE.setdefault('LEVEL', sys.argv[1])\nsubprocess.run(['ruff'])",
        ),
        (
            "python3 a.py",
            "F = {'.py': ['black', '-q'], '.rs': ['rustfmt']}\nd = json.load(sys.stdin)\n\
             c = F.get(Path(d['file']).suffix)\nif c and shutil.which(c[0]):\n  subprocess.run(c + [d['file']])",
        ),
        (
            "python3 a.py",
            "def run(args):\n  return subprocess.run(args, capture_output=True)\n\
             files = run(['git', 'diff', '--name-only']).stdout.split()\n\
             for f in files:\n  c = ['ruff', 'check']\n  c.append(f)\n  run(c)",
        ),
        (
            "python3 a.py",
            "tool = shutil.which('ruff') or 'ruff'\ne = json.loads(sys.stdin.read())\n\
             env = dict(os.environ, NO_COLOR='1')\nenv['FILE'] = e['file']\n\
             p = subprocess.Popen([tool, e['file']], env=env, stdout=subprocess.PIPE)\nout, _ = p.communicate()",
        ),
        (
            "python3 a.py",
            "C = [['ruff', 'check', '.'], 'echo done']\nfor c in C:\n  subprocess.run(c, shell=isinstance(c, str))",
        ),
        (
            "node a.js",
            "const { execFileSync } = require('child_process')\n\
             const input = JSON.parse(fs.readFileSync(0, 'utf8'))\n\
             const map = { '.ts': ['npx', ['prettier', '--write']], '.py': ['black', []] }\n\
             const entry = map[path.extname(input.file)]\n\
             if (entry) { const [c, args] = entry; execFileSync(c, [...args, input.file]) }",
        ),
        (
            "python3 a.py",
            "def check(path):\n  return subprocess.run(['ruff', path]).returncode\n\
             def main(data):\n  check(data['file'])\nmain(json.load(sys.stdin))",
        ),
        (
            "bash a.sh",
            "git diff --name-only | while read -r f; do\n  case \"$f\" in *.py) ruff check \"$f\" ;; esac\ndone\n\
             export NOW=\"$(date)\" GIT_AUTHOR_NAME=\"$(whoami)\"\necho \"$NOW $f\" >> \"$HOME/log\"",
        ),
        (
            "sh a.sh",
            "run() { \"$@\" || echo \"$(date) failed: $*\" >&2; }\nrun ruff check\n\
             case \"$(jq -r .file)\" in *.py) run black . ;; esac\neval \"$(brew shellenv)\"",
        ),
        (
            "ruby a.rb",
            "file = JSON.parse($stdin.read).dig('file')\nout, s = Open3.capture2e('rubocop', '-a', file)",
        ),
        (
            "python3 a.py",
            "env = os.environ.copy()\nenv['PATH'] = os.path.expanduser('~/.local/bin') + os.pathsep + env['PATH']\n\
             subprocess.run(['ruff'], env=env)",
        ),
    ] {
        let (_, file) = line.split_once(' ').unwrap();
        folder.write(&format!("work/{file}"), &format!("{code}\n"));
        assert_eq!(folder.files_of(line).unknown, None, "{code}");
    }
}

#[test]
fn scripts_without_files_of_the_starting_folder_are_known() {
    let folder = LineFolder::new();
    folder.write("work/t/b.sh", "ruff check\nsh \"$(dirname \"$0\")/c.sh\"\n");
    folder.write("work/t/c.sh", "git rev-parse HEAD\n");
    folder.write(
        "work/a.sh",
        "cd \"$(cat place)\"\nsh \"$(dirname \"$0\")/t/b.sh\"\n",
    );
    assert_eq!(folder.files_of("sh a.sh").unknown, None);
}

#[test]
fn recipes_of_computed_makefile_are_protected() {
    let rules = "Makefile: include $(shell cat place)/rules\n";
    let files = [rules, "sub/rules: z:\n\tsh sub/h.sh\n", "sub/h.sh"];
    check_rewritten("make z", &files, "sub/h.sh");
}

#[test]
fn folders_entered_by_inline_code_are_protected() {
    for line in [
        "python3 -c \"import os; os.chdir('sub'); os.system('make z')\"",
        "python3 -c \"import os,sys; os.chdir(sys.argv[1]); os.system('make z')\" sub",
        "python3 -c \"import subprocess as s; s.run('make z', shell=True, cwd=open('p').read())\"",
        "node -e \"process.chdir(process.argv[1]); require('child_process').execSync('make z')\" sub",
        "node -e \"require('child_process').execSync('make z', {cwd: process.argv[1]})\" sub",
        "perl -e 'chdir $ARGV[0]; system \"make z\"' sub",
        "ruby -e 'Dir.chdir(ARGV[0]) { system \"make z\" }' sub",
        "python3 -c \"import subprocess; subprocess.run(['make', '-C', 's' + 'ub', 'z'])\"",
        "node -e \"require('child_process').spawnSync('make', ['-C', 'su' + 'b', 'z'])\"",
        "python3 -c \"import os; os.chdir('s' + 'ub'); os.system('make z')\"",
        "perl -e 'chdir \"s\" . \"ub\"; do \"./h.sh\"'",
        "python3 - <<'E'\nimport os\nos.chdir('s' + 'ub')\nos.system('make z')\nE",
        "env -C sub make z",
        "git -C \"$(cat place)\" status",
    ] {
        check_rewritten(line, &RECIPE_BELOW, "sub/h.sh");
    }
}

#[test]
fn entering_a_folder_alone_runs_nothing() {
    let folder = LineFolder::new();
    folder.write("work/sub/Makefile", "z:\n\ttrue\n");
    folder.write("work/Makefile", "z:\n\ttrue\n");
    for (line, code) in [
        (
            "python3 a.py",
            "import os\nos.chdir(d)\nos.system('ruff check')",
        ),
        (
            "python3 a.py",
            "import os\nos.chdir(os.path.dirname(__file__))\nos.system('make z')",
        ),
        (
            "python3 a.py",
            "subprocess.run(['ruff', 'check', f], cwd=data['cwd'])",
        ),
        (
            "python3 a.py",
            "subprocess.run(['/usr/bin/env', 'true'], cwd=d)",
        ),
        (
            "python3 a.py",
            "subprocess.run(['git', 'rev-parse', 'HEAD'], cwd=d)",
        ),
        (
            "python3 a.py",
            "cwd = data['cwd']\nsubprocess.run(['make', 'z'])",
        ),
        (
            "python3 a.py",
            "subprocess.run(['make', 'z'])\nsubprocess.run(['ls'], cwd=d)",
        ),
        ("python3 a.py", "subprocess.run(['make', 'z'], cwd=None)"),
        (
            "python3 a.py",
            "subprocess.run(['make', 'z'], cwd=os.environ['HOME'])",
        ),
        (
            "python3 a.py",
            "subprocess.run(['npm', 'run', 'lint', name])",
        ),
        (
            "python3 a.py",
            "def block(reason):\n  print(reason)\nblock('run cargo test first')",
        ),
        (
            "python3 a.py",
            "app.run(debug=True)\nasyncio.run(main(path))",
        ),
        (
            "node a.js",
            "const path = require('path'); const root = path.resolve(__dirname);\n\
             execSync('make z', { cwd: root, stdio: 'pipe' })",
        ),
        ("node a.js", "process.chdir(d)\nexecSync('ruff check')"),
        (
            "node a.js",
            "spawn('make', ['z'], options)\nexecSync('make z', options)",
        ),
        (
            "node a.js",
            "const { cwd } = JSON.parse(x)\nexecSync('make z')",
        ),
        (
            "node a.js",
            "execSync('make z', { cwd: __dirname, stdio: 'pipe' })",
        ),
        (
            "perl a.pl",
            "chdir $d or die 'cannot chdir';\nsystem('ls');",
        ),
        ("ruby a.rb", "Dir.chdir(d) { puts Dir.pwd }"),
        ("sh a.sh", "cd \"$(cat place)\"\nls\njq . x.json"),
        ("sh a.sh", "cd \"$(dirname \"$0\")/sub\" && make z"),
        ("sh a.sh", "cd \"$HOME\" && make z"),
    ] {
        let (_, file) = line.split_once(' ').unwrap();
        folder.write(&format!("work/{file}"), &format!("{code}\n"));
        assert_eq!(folder.files_of(line).unknown, None, "{code}");
    }
}
