//! YAML as skills use it: strings in maps and lists.

use yaml_rust2::{Yaml, YamlLoader};

/// The longest text that is read as YAML.
const LIMIT: usize = 64 * 1024;

/// The first document of a text.
///
/// # Errors
/// It is no YAML; a sentence that says where.
pub(crate) fn parse(text: &str) -> Result<Yaml, String> {
    if text.len() > LIMIT {
        return Err(format!("longer than {LIMIT} bytes"));
    }
    let documents = YamlLoader::load_from_str(text).map_err(|error| error.to_string())?;
    Ok(documents.into_iter().next().unwrap_or(Yaml::Null))
}

/// A text with its white space collapsed; none if it is no text or blank.
pub(crate) fn text(value: &Yaml) -> Option<String> {
    let raw = match value {
        Yaml::String(text) | Yaml::Real(text) => text.clone(),
        Yaml::Integer(number) => number.to_string(),
        Yaml::Boolean(value) => value.to_string(),
        _ => return None,
    };
    let words: Vec<&str> = raw.split_whitespace().collect();
    (!words.is_empty()).then(|| words.join(" "))
}
