//! The environment of a process as Windows takes it.

use std::collections::BTreeMap;

/// `NAME=VALUE` for each variable, each ended by a zero, and another zero. Names that differ only in case are the same
/// variable; the last one counts. What the system could not tell apart from another variable is left out.
pub(crate) fn environment_block(variables: impl Iterator<Item = (String, String)>) -> Vec<u16> {
    let is_usable = |(name, value): &(String, String)| {
        !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0')
    };
    let by_name: BTreeMap<String, (String, String)> = variables
        .filter(is_usable)
        .map(|variable| (variable.0.to_uppercase(), variable))
        .collect();
    let mut block: Vec<u16> = by_name
        .into_values()
        .flat_map(|(name, value)| {
            format!("{name}={value}\0")
                .encode_utf16()
                .collect::<Vec<_>>()
        })
        .collect();
    if block.is_empty() {
        block.push(0);
    }
    block.push(0);
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(variables: &[(&str, &str)]) -> String {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let block = environment_block(variables.iter().map(owned));
        String::from_utf16(&block).unwrap()
    }

    #[test]
    fn the_last_of_the_same_name_counts() {
        let text = block(&[("Path", "a"), ("TEMP", "t"), ("PATH", "b"), ("é", "=")]);
        assert_eq!(text, "PATH=b\0TEMP=t\0é==\0\0");
        assert_eq!(block(&[]), "\0\0");
        assert_eq!(
            block(&[("=C:", "x"), ("", "x"), ("a\0b", "x"), ("a", "\0")]),
            "\0\0"
        );
    }
}
