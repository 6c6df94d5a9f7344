//! Other names of modules, which the settings of TypeScript (`paths` in `tsconfig.json`) give them.

/// The paths of the modules that a text names by such a name, relative to the folder of the settings.
pub(crate) fn renamed_modules(settings: &str, text: &str) -> Vec<String> {
    let base = value_of(settings, "baseUrl").unwrap_or(".");
    let mut found = Vec::new();
    for (name, targets) in names(settings) {
        let (prefix, suffix) = name.split_once('*').unwrap_or((name, ""));
        let is_pattern = name.contains('*');
        for word in text.split(['"', '\'', '`']) {
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
            assert_eq!(renamed_modules(settings, text), expected, "{text}");
        }
        assert!(renamed_modules("{}", "import '@/a'").is_empty());
    }
}
