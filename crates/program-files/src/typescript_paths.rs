//! Other names of modules, which the settings of TypeScript (`paths` in `tsconfig.json`) give them.

use std::path::{Path, PathBuf};

/// The limit on the files with settings that others are based on.
pub(crate) const MAX_SETTINGS: usize = 8;
/// What stands around the names of modules.
const QUOTES: [char; 3] = ['"', '\'', '`'];

/// The paths of the modules that a text names by such a name, relative to the folder of the settings. Nothing if `may_compare`
/// says that so many comparisons are too many.
pub(crate) fn renamed_modules(
    settings: &str,
    text: &str,
    may_compare: impl FnOnce(usize) -> bool,
) -> Vec<String> {
    let names = names(settings);
    let targets: usize = names.iter().map(|(_, targets)| targets.len()).sum();
    let words = text.matches(QUOTES).count();
    if !may_compare((names.len() + targets).saturating_mul(words)) {
        return Vec::new();
    }
    let base = value_of(settings, "baseUrl").unwrap_or(".");
    let mut found = Vec::new();
    for (name, targets) in names {
        let (prefix, suffix) = name.split_once('*').unwrap_or((name, ""));
        let is_pattern = name.contains('*');
        for word in text.split(QUOTES) {
            let rest = word.strip_prefix(prefix);
            let rest = rest.and_then(|rest| rest.strip_suffix(suffix));
            let rest = rest.filter(|rest| is_pattern || rest.is_empty());
            let rest = rest.filter(|rest| !rest.contains(char::is_whitespace));
            let Some(rest) = rest else { continue };
            let targets = targets.iter().map(|target| target.replace('*', rest));
            found.extend(targets.map(|target| format!("{base}/{target}")));
        }
    }
    found.sort();
    found.dedup();
    found
}

/// The files that settings are based on (`extends`), which is a name or a list of them. A comment may name more.
pub(crate) fn bases(settings: &str, folder: &Path) -> Vec<PathBuf> {
    let values = settings.split("\"extends\"").skip(1);
    let names = values.flat_map(|value| {
        let value = value.trim_start().trim_start_matches(':').trim_start();
        let names = match value.strip_prefix('[') {
            Some(list) => list.split(']').next().unwrap_or_default(),
            None => value.split_inclusive('"').nth(1).unwrap_or_default(),
        };
        let is_between = |name: &&str| name.trim().trim_matches(',').is_empty();
        names.split('"').filter(move |name| !is_between(name))
    });
    let files = names.filter_map(|name| {
        let is_path = name.starts_with(['.', '/']);
        let packages = folder.ancestors().filter(|_| !is_path);
        let packages = packages.map(|folder| folder.join("node_modules").join(name));
        let path = is_path.then(|| folder.join(name));
        packages
            .chain(path)
            .find_map(|path| existing_settings(&path))
    });
    files.collect()
}

/// The file with settings that a name stands for, which may be without its ending.
fn existing_settings(path: &Path) -> Option<PathBuf> {
    let mut with_ending = path.as_os_str().to_owned();
    with_ending.push(".json");
    let mut files = [
        path.to_path_buf(),
        with_ending.into(),
        path.join("tsconfig.json"),
    ]
    .into_iter();
    files.find(|path| codex_mounts::is_file(path))
}

/// The names, and what they stand for. Comments are not left out: they may name more.
fn names(settings: &str) -> Vec<(&str, Vec<&str>)> {
    let paths = settings.split_once("\"paths\"").map(|(_, rest)| rest);
    let paths = paths.and_then(|rest| rest.split_once('{'));
    let paths = paths.map_or("", |(_, rest)| rest.split('}').next().unwrap_or_default());
    let mut names: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut parts = paths.split('"').skip(1);
    while let (Some(text), Some(after)) = (parts.next(), parts.next()) {
        if after.trim_start().starts_with(':') {
            names.push((text, Vec::new()));
        } else if let Some((_, targets)) = names.last_mut() {
            targets.push(text);
        }
    }
    names
}

fn value_of<'t>(settings: &'t str, name: &str) -> Option<&'t str> {
    let (_, rest) = settings.split_once(&format!("\"{name}\""))?;
    rest.split('"').nth(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_modules_may_stand_for_paths() {
        let settings = r#"{ "compilerOptions": { "baseUrl": "./src", // why
            "paths": { "@/*": ["./*", "gen/*"], "~lib": ["lib/index.ts"], "*.x": ["x/*"] } } }"#;
        for (text, expected) in [
            (
                "import y from \"@/a/y\";",
                &["./src/./a/y", "./src/gen/a/y"][..],
            ),
            ("require('~lib')", &["./src/lib/index.ts"]),
            ("import 'b.x'", &["./src/x/b"]),
            ("import '~lib/other'; import './@/c'", &[]),
        ] {
            assert_eq!(
                renamed_modules(settings, text, |_| true),
                expected,
                "{text}"
            );
        }
        assert!(renamed_modules("{}", "import '@/a'", |_| true).is_empty());
        let mut comparisons = 0;
        let may_compare = |count| {
            comparisons = count;
            false
        };
        assert!(renamed_modules(settings, "'@/a' '@/b'", may_compare).is_empty());
        assert_eq!(comparisons, 7 * 4);
    }

    #[test]
    fn settings_are_based_on_others() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for path in [
            "base.json",
            "node_modules/a/tsconfig.json",
            "node_modules/b/x.json",
        ] {
            std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            std::fs::write(root.join(path), "{}").unwrap();
        }
        for (settings, expected) in [
            (
                r#"{"extends": "./base", "files": ["a"]}"#,
                &["base.json"][..],
            ),
            (r#"{"extends": "a"}"#, &["node_modules/a/tsconfig.json"]),
            (
                r#"{"extends": ["b/x.json", "./base.json"]}"#,
                &["node_modules/b/x.json", "base.json"],
            ),
            (r#"{"extends": "./missing"}"#, &[]),
            (r#"{"files": ["base.json"]}"#, &[]),
            (
                "{ // \"extends\": \"./missing\"\n \"extends\": \"a\"}",
                &["node_modules/a/tsconfig.json"],
            ),
        ] {
            let found = bases(settings, root).into_iter();
            let found: Vec<_> = found.map(|path| path.canonicalize().unwrap()).collect();
            let expected: Vec<_> = expected
                .iter()
                .map(|path| root.join(path).canonicalize().unwrap())
                .collect();
            assert_eq!(found, expected, "{settings}");
        }
    }
}
