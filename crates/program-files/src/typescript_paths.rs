//! Other names of modules, which the settings of TypeScript (`paths` in `tsconfig.json`) give them.

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
}
