//! Names of apps in addresses and mentions, and of their tools for models.

/// Where apps are connected.
const APP_PAGES: &str = "https://chatgpt.com/apps";

/// The name of an app in addresses and mentions.
#[must_use]
pub fn app_slug(name: &str) -> String {
    let slug: String = plain_letters(name, '-').collect();
    match slug.trim_matches('-') {
        "" => "app".to_owned(),
        slug => slug.to_owned(),
    }
}

/// The page where people connect an app.
#[must_use]
pub fn install_page(name: &str, id: &str) -> String {
    format!("{APP_PAGES}/{}/{id}", app_slug(name))
}

/// What a tool of an app is called after the name of its server: the app, and the tool without the name of the app.
#[must_use]
pub fn tool_name(app: &str, id: &str, tool: &str) -> String {
    let tool = plain(tool);
    let without = [app, id].iter().find_map(|prefix| {
        let rest = tool.strip_prefix(plain(prefix).as_str())?;
        rest.starts_with('_').then_some(rest)
    });
    let slug = app_slug(app).replace('-', "_");
    match without {
        Some(rest) => format!("{slug}{rest}"),
        None => format!("{slug}_{tool}"),
    }
}

/// The text in lower case, with `_` for everything but ASCII letters and digits.
fn plain(text: &str) -> String {
    plain_letters(text, '_').collect()
}

/// The letters in lower case, with `other` for everything but ASCII letters and digits.
fn plain_letters(text: &str, other: char) -> impl Iterator<Item = char> {
    text.chars().map(move |letter| {
        if letter.is_ascii_alphanumeric() {
            letter.to_ascii_lowercase()
        } else {
            other
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_plain() {
        for (name, expected) in [
            ("Demo App", "demo-app"),
            ("connector_1", "connector-1"),
            ("-Größe-", "gr--e"),
            ("?", "app"),
            ("", "app"),
        ] {
            assert_eq!(app_slug(name), expected);
        }
        let page = "https://chatgpt.com/apps/demo-app/connector_1";
        assert_eq!(install_page("Demo App", "connector_1"), page);
    }

    #[test]
    fn tools_have_the_name_of_their_app_once() {
        let name = |tool| tool_name("Google Mail", "connector_7", tool);
        assert_eq!(name("google_mail_send"), "google_mail_send");
        assert_eq!(name("Google Mail/send.it"), "google_mail_send_it");
        assert_eq!(name("connector_7_send"), "google_mail_send");
        assert_eq!(name("send"), "google_mail_send");
        assert_eq!(name("google_mailbox"), "google_mail_google_mailbox");
    }
}
