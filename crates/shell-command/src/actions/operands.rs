//! Taking an argument list apart into options and operands.

/// How a program's options look, as far as it matters for finding the operands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Options {
    /// Options whose value is the next word.
    pub(super) with_value: &'static [&'static str],
    /// Options whose value is the pattern to look for.
    pub(super) pattern: &'static [&'static str],
}

/// An argument list taken apart.
#[derive(Debug, Default)]
pub(super) struct Arguments<'a> {
    pub(super) options: Vec<&'a str>,
    pub(super) pattern: Option<&'a str>,
    pub(super) operands: Vec<&'a str>,
}

impl Options {
    pub(super) const NONE: Self = Self::with_value(&[]);

    pub(super) const fn with_value(with_value: &'static [&'static str]) -> Self {
        Self {
            with_value,
            pattern: &[],
        }
    }

    pub(super) fn read<'a>(&self, arguments: &[&'a str]) -> Arguments<'a> {
        let mut read = Arguments::default();
        let mut words = arguments.iter().copied();
        while let Some(word) = words.next() {
            if word == "--" {
                read.operands.extend(words.by_ref());
            } else if self.pattern.contains(&word) {
                read.options.push(word);
                read.pattern = words.next().or(read.pattern);
            } else if self.with_value.contains(&word) {
                read.options.push(word);
                words.next();
            } else if word.starts_with('-') {
                read.options.push(word);
            } else {
                read.operands.push(word);
            }
        }
        read
    }
}

/// The part of a path that names it best: its last component, or the one before folders that say nothing.
pub(super) fn short_path(path: &str) -> String {
    let trimmed = path.trim_end_matches(['/', '\\']);
    let name = trimmed
        .rsplit(['/', '\\'])
        .find(|part| !part.is_empty() && !["build", "dist", "node_modules", "src"].contains(part));
    match name {
        Some(name) => name,
        None if trimmed.is_empty() => path,
        None => trimmed,
    }
    .to_owned()
}
