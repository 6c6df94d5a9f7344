//! The HTML pages at the end of a browser login.

/// The page after a successful login.
pub(crate) fn success() -> String {
    page(
        "Signed in",
        "You are signed in to Codex. You can close this tab and go back to where you came from.",
        &[],
    )
}

/// The page after a failed login.
pub(crate) fn failure(message: &str, code: &str, description: Option<&str>) -> String {
    let mut facts = vec![("Code", code)];
    facts.extend(description.map(|text| ("Details", text)));
    page("Not signed in", message, &facts)
}

fn page(title: &str, message: &str, facts: &[(&str, &str)]) -> String {
    let facts: String = facts
        .iter()
        .map(|(name, value)| format!("<dt>{name}</dt><dd>{}</dd>", escape(value)))
        .collect();
    let help = if facts.is_empty() {
        ""
    } else {
        "<p>Start the sign-in again from Codex. If it fails again, ask your administrator.</p>"
    };
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <style>body{{font:16px/1.5 system-ui,sans-serif;max-width:36em;margin:15vh auto;padding:0 1em}}\
         dt{{color:#777}}dd{{margin:0 0 .5em}}</style></head><body><h1>{title}</h1><p>{}</p><dl>{facts}</dl>\
         {help}</body></html>",
        escape(message)
    )
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn login_page_escapes_text() {
        let page = failure("<b>", "\"'", Some("a&b"));
        assert!(
            page.contains("&lt;b&gt;") && page.contains("&quot;&#39;") && page.contains("a&amp;b")
        );
        assert!(!page.contains("<b>"));
        assert!(success().contains("Signed in"));
    }
}
