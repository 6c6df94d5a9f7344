//! Splits an argument list into options and operands.

/// The option syntax of a program, as far as needed to find the operands.
#[derive(Debug, Clone, Copy)]
pub(super) struct OptionSyntax {
    /// Options that take the next word as their value.
    pub(super) with_value: &'static [&'static str],
    /// Options whose value is the search pattern.
    pub(super) pattern: &'static [&'static str],
}

/// A parsed argument list.
#[derive(Debug, Default)]
pub(super) struct ParsedArguments<'a> {
    pub(super) options: Vec<&'a str>,
    pub(super) pattern: Option<&'a str>,
    pub(super) operands: Vec<&'a str>,
}

impl OptionSyntax {
    pub(super) const NONE: Self = Self::with_value(&[]);

    pub(super) const fn with_value(with_value: &'static [&'static str]) -> Self {
        Self {
            with_value,
            pattern: &[],
        }
    }

    pub(super) fn read<'a>(&self, arguments: &[&'a str]) -> ParsedArguments<'a> {
        let mut read = ParsedArguments::default();
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

/// The most descriptive component of a path: the last one, or the one before generic folder names.
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
