//! The names of tools in scripts.

/// The name of a tool with its namespace.
#[must_use]
pub fn scoped_name(namespace: Option<&str>, name: &str) -> String {
    match namespace {
        Some(namespace) if namespace.ends_with('_') || name.starts_with('_') => {
            format!("{namespace}{name}")
        }
        Some(namespace) => format!("{namespace}__{name}"),
        None => name.to_owned(),
    }
}

/// A name as an identifier: what is not allowed in one becomes `_`.
#[must_use]
pub fn identifier(name: &str) -> String {
    let allowed = |(place, character): (usize, char)| {
        let is_allowed = character == '_'
            || character == '$'
            || character.is_ascii_alphabetic()
            || (place > 0 && character.is_ascii_digit());
        if is_allowed { character } else { '_' }
    };
    name.chars().enumerate().map(allowed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_identifiers() {
        let name = |namespace, name| identifier(&scoped_name(namespace, name));
        assert_eq!(name(None, "exec_command"), "exec_command");
        assert_eq!(name(None, "9-a.b"), "__a_b");
        assert_eq!(name(Some("crm"), "find"), "crm__find");
        assert_eq!(name(Some("mcp__docs__"), "find"), "mcp__docs__find");
        assert_eq!(name(Some("crm"), "_find"), "crm_find");
    }
}
