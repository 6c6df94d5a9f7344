//! The modules that code of Python imports: packages on the way to them, and names that may be modules.

use std::collections::BTreeSet;

/// A module that may be imported.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ModuleName {
    /// How many dots are before the name: one means the package of the code, two the one around it.
    pub(crate) level: usize,
    /// The packages on the way, and the module.
    pub(crate) parts: Vec<String>,
}

impl ModuleName {
    fn new(dotted: &str) -> Self {
        let name = dotted.trim_start_matches('.');
        let parts = name.split('.').filter(|part| !part.is_empty());
        Self {
            level: dotted.len() - name.len(),
            parts: parts.map(str::to_owned).collect(),
        }
    }

    /// The path of the module without ending, below the folder from which it is imported.
    pub(crate) fn path(&self) -> String {
        self.parts.join("/")
    }
}

/// The modules that a text may import: in statements, whose names may be modules too, and in strings with dots in them.
pub(crate) fn imported_modules(text: &str) -> BTreeSet<ModuleName> {
    let quotes = ['"', '\''];
    let words = text.split(|c: char| !is_name(c) && c != '.' && !quotes.contains(&c));
    let quoted = words.filter_map(|word| word.strip_prefix(quotes));
    let quoted = quoted.map(|word| word.trim_end_matches(quotes));
    let quoted = quoted.filter(|word| word.contains('.') && !word.contains(quotes));
    let mut modules: BTreeSet<ModuleName> = quoted.map(ModuleName::new).collect();
    let mut of_packages = BTreeSet::new();
    for rest in keywords(text, "from") {
        let mut rest = Statement(rest);
        let package = rest.dotted_name();
        if rest.name() != "import" || package.is_empty() {
            continue;
        }
        of_packages.insert(rest.0.len());
        let package = ModuleName::new(&package);
        for name in rest.names() {
            let mut module = package.clone();
            module.parts.extend(ModuleName::new(&name).parts);
            modules.insert(module);
        }
        modules.insert(package);
    }
    for rest in keywords(text, "import").filter(|rest| !of_packages.contains(&rest.len())) {
        let names = Statement(rest).names();
        modules.extend(names.iter().map(|name| ModuleName::new(name)));
    }
    modules.retain(|module| !module.parts.is_empty());
    modules
}

/// Whether code changes where modules are looked for.
pub(crate) fn changes_module_folders(text: &str) -> bool {
    ["sys.path", "addsitedir", "PYTHONPATH"]
        .iter()
        .any(|name| text.contains(name))
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// What follows a keyword, wherever it stands.
fn keywords<'t>(text: &'t str, keyword: &'static str) -> impl Iterator<Item = &'t str> {
    let found = text.match_indices(keyword);
    let found = found.map(move |(at, _)| text.split_at(at));
    let found = found.map(|(before, rest)| (before, &rest[keyword.len()..]));
    let found =
        found.filter(|(before, rest)| !before.ends_with(is_name) && !rest.starts_with(is_name));
    found.map(|(_, rest)| rest)
}

/// The rest of a statement.
struct Statement<'t>(&'t str);

impl<'t> Statement<'t> {
    /// Skips blanks and continued lines.
    fn skip_blanks(&mut self) {
        loop {
            let rest = self.0.trim_start_matches([' ', '\t', '\x0c']);
            let joined = ["\\\n", "\\\r\n"];
            let rest = joined.iter().find_map(|end| rest.strip_prefix(end));
            match rest {
                Some(rest) => self.0 = rest,
                None => break,
            }
        }
        self.0 = self.0.trim_start_matches([' ', '\t', '\x0c']);
    }

    fn name(&mut self) -> &'t str {
        self.skip_blanks();
        let end = self.0.find(|c| !is_name(c)).unwrap_or(self.0.len());
        let (name, rest) = self.0.split_at(end);
        self.0 = rest;
        name
    }

    /// Names and dots, up to the keyword `import`.
    fn dotted_name(&mut self) -> String {
        let mut dotted = String::new();
        loop {
            self.skip_blanks();
            if let Some(rest) = self.0.strip_prefix('.') {
                self.0 = rest;
                dotted.push('.');
                continue;
            }
            let before = self.0;
            let name = self.name();
            if name.is_empty() || (name == "import" && !dotted.is_empty()) {
                self.0 = before;
                return dotted;
            }
            if !dotted.is_empty() && !dotted.ends_with('.') {
                self.0 = before;
                return dotted;
            }
            dotted.push_str(name);
        }
    }

    /// The names after `import`, which brackets may hold over more lines. A new name of one is none of a module. Another keyword
    /// ends them, so that no text is read more than once.
    fn names(mut self) -> Vec<String> {
        let mut names = Vec::new();
        self.skip_blanks();
        let in_brackets = self.0.strip_prefix('(');
        self.0 = in_brackets.unwrap_or(self.0);
        loop {
            self.skip_blanks();
            let name = self.dotted_name();
            if name == "as" {
                self.name();
                continue;
            }
            if ["import", "from"].contains(&&*name) {
                return names;
            }
            if !name.is_empty() {
                names.push(name);
                continue;
            }
            let first = self.0.chars().next();
            let rest = self.0.get(first.map_or(0, char::len_utf8)..);
            match first {
                Some(',') => {}
                Some('\r' | '\n') if in_brackets.is_some() => {}
                Some('#') if in_brackets.is_some() => {
                    let end = self.0.find('\n').unwrap_or(self.0.len());
                    self.0 = &self.0[end..];
                    continue;
                }
                _ => return names,
            }
            self.0 = rest.unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_after_import_may_be_modules() {
        for (text, expected) in [
            ("import a.b.c as d", &["a.b.c"][..]),
            ("from a import b", &["a", "a.b"]),
            ("from a.b import c as d, e", &["a.b", "a.b.c", "a.b.e"]),
            ("try: from a import b", &["a", "a.b"]),
            ("x = 1;from\ta\timport(b)", &["a", "a.b"]),
            (
                "from a import (  # why\n    b,\n    c as d,\n)\ne",
                &["a", "a.b", "a.c"],
            ),
            ("from a \\\n  import b, \\\n  c\nd", &["a", "a.b", "a.c"]),
            ("from . import b", &[".b"]),
            ("from .. a import b", &["..a", "..a.b"]),
            ("from a import *", &["a"]),
            ("from a.import_ import b", &["a.import_", "a.import_.b"]),
            ("yield from a\nimport b", &["b"]),
            ("text_from a; b_import c", &[]),
            ("import_module('a.b')", &["a.b"]),
            ("import a, b.c as d\nimport e", &["a", "b.c", "e"]),
            ("app.run(); important.x", &[]),
            ("import import a", &["a"]),
        ] {
            let found = imported_modules(text).into_iter();
            let found = found.map(|it| ".".repeat(it.level) + &it.parts.join("."));
            let mut found: Vec<String> = found.collect();
            found.sort();
            assert_eq!(found, expected, "{text}");
        }
    }
}
