//! Templates with the values of a row.

/// Puts values in place of `{name}`. `{{` and `}}` stand for braces; a name without a value stays as it is.
#[must_use]
pub fn fill<'v>(template: &str, value: impl Fn(&str) -> Option<&'v str>) -> String {
    let mut filled = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find(['{', '}']) {
        filled.push_str(&rest[..at]);
        rest = &rest[at..];
        let brace = &rest[..1];
        if rest[1..].starts_with(brace) {
            filled.push_str(brace);
            rest = &rest[2..];
            continue;
        }
        let name = rest[1..].split_once('}').map(|(name, _)| name);
        match name
            .filter(|_| brace == "{")
            .and_then(|name| Some((name, value(name)?)))
        {
            Some((name, value)) => {
                filled.push_str(value);
                rest = &rest[name.len() + 2..];
            }
            None => {
                filled.push_str(brace);
                rest = &rest[1..];
            }
        }
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_filled() {
        let value = |name: &str| match name {
            "a" => Some("1"),
            "a b" => Some("{a}"),
            "" => Some("nothing"),
            _ => None,
        };
        for (template, filled) in [
            ("plain", "plain"),
            ("{a}{a}", "11"),
            ("{a b} {none} {", "{a} {none} {"),
            ("{{a}} {{{a}}} }", "{a} {1} }"),
            ("{none{a}", "{none1"),
            ("{}é{a}é", "nothingé1é"),
            ("fn() { {a} }", "fn() { 1 }"),
        ] {
            assert_eq!(fill(template, value), filled);
        }
    }
}
