//! URL-encoded forms.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use url::form_urlencoded;

/// All characters except the unreserved ones of RFC 3986. A space becomes `%20`, which is valid in queries and
/// bodies.
const RESERVED_CHARACTERS: AsciiSet = NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Encodes fields for a body or a query.
#[must_use]
pub fn form(fields: &[(&str, &str)]) -> String {
    let pairs: Vec<String> = fields
        .iter()
        .map(|(name, value)| {
            let name = utf8_percent_encode(name, &RESERVED_CHARACTERS);
            format!(
                "{name}={}",
                utf8_percent_encode(value, &RESERVED_CHARACTERS)
            )
        })
        .collect();
    pairs.join("&")
}

/// The parameters of a query.
#[must_use]
pub fn parameters(query: &str) -> Vec<(String, String)> {
    form_urlencoded::parse(query.as_bytes())
        .into_owned()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_read_back() {
        let fields = [("a b", "ü&=%"), ("c", "")];
        let text = form(&fields);
        assert_eq!(text, "a%20b=%C3%BC%26%3D%25&c=");
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        assert_eq!(
            parameters(&text),
            fields.iter().map(owned).collect::<Vec<_>>()
        );
        let read = |query: &str| parameters(query).remove(0).0;
        assert_eq!(read("a+b%2"), "a b%2");
        assert_eq!(read("&%zz%41"), "%zzA");
    }
}
