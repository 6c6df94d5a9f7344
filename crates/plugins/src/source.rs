//! Where a marketplace comes from, as users write it: a folder, or the address of a repository.

/// The source of a marketplace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MarketplaceSource {
    /// A path.
    Folder(String),
    /// A repository.
    Repository {
        /// Its address.
        url: String,
        /// The branch, tag or commit.
        reference: Option<String>,
    },
}

/// A text that is no source.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSource {
    /// There is no text.
    #[error("marketplace source must not be empty")]
    Empty,
    /// It is neither a path nor an address.
    #[error(
        "invalid marketplace source format; expected owner/repo, a git URL, or a local marketplace path"
    )]
    Form,
}

const SCHEMES: [&str; 5] = ["https://", "http://", "ssh://", "git://", "file://"];

impl MarketplaceSource {
    /// Reads a source. `#ref` at the end of an address and `@ref` at that of `owner/repo` name a branch, tag or commit.
    ///
    /// # Errors
    /// It is neither a path nor an address.
    pub fn parse(text: &str) -> Result<Self, InvalidSource> {
        let text = text.trim();
        if text.is_empty() {
            return Err(InvalidSource::Empty);
        }
        if is_path(text) {
            return Ok(Self::Folder(text.to_owned()));
        }
        if text.contains(char::is_whitespace) || text.contains(char::is_control) {
            return Err(InvalidSource::Form);
        }
        let is_address = SCHEMES.iter().any(|scheme| text.starts_with(scheme)) || is_ssh(text);
        if is_address {
            let (url, reference) = split(text, '#');
            return Ok(Self::Repository { url, reference });
        }
        let (name, reference) = split(text, '@');
        let is_name = |part: &str| {
            let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            !part.is_empty() && !part.starts_with(['-', '.']) && part.bytes().all(is_letter)
        };
        match name.split_once('/') {
            Some((owner, repository)) if is_name(owner) && is_name(repository) => {
                Ok(Self::Repository {
                    url: format!("https://github.com/{}.git", name.trim_end_matches(".git")),
                    reference,
                })
            }
            _ => Err(InvalidSource::Form),
        }
    }
}

/// Whether a text can be the name of a branch, tag or commit, and is no option and no pair of names.
#[must_use]
pub fn is_reference(text: &str) -> bool {
    let is_odd = |letter: char| letter.is_whitespace() || letter.is_control() || letter == ':';
    !text.is_empty() && !text.starts_with('-') && !text.contains(is_odd)
}

fn is_path(text: &str) -> bool {
    let starts = ["/", "./", "../", "~/"];
    let is_relative = starts.iter().any(|start| text.starts_with(start));
    is_relative || [".", "..", "~"].contains(&text) || std::path::Path::new(text).is_absolute()
}

/// Whether a text has the form `user@host:path`.
fn is_ssh(text: &str) -> bool {
    let Some((user, rest)) = text.split_once('@') else {
        return false;
    };
    let is_plain = !user.is_empty() && !user.starts_with('-') && !user.contains(['/', ':']);
    is_plain
        && rest
            .split_once(':')
            .is_some_and(|(host, path)| !host.contains('/') && !path.is_empty())
}

fn split(text: &str, at: char) -> (String, Option<String>) {
    match text.split_once(at) {
        Some((start, end)) => (start.to_owned(), (!end.is_empty()).then(|| end.to_owned())),
        None => (text.to_owned(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_addresses_are_distinguished() {
        for path in ["/a", "./a", "../a", "~/a", ".", "~"] {
            assert_eq!(
                MarketplaceSource::parse(path),
                Ok(MarketplaceSource::Folder(path.to_owned()))
            );
        }
        for (text, url, reference) in [
            ("https://h/x.git", "https://h/x.git", None),
            (" http://h/x#v1 ", "http://h/x", Some("v1")),
            ("file:///x#", "file:///x", None),
            ("git@h:o/r.git#main", "git@h:o/r.git", Some("main")),
            ("o/r", "https://github.com/o/r.git", None),
            ("o/r.git@v1", "https://github.com/o/r.git", Some("v1")),
        ] {
            let expected = MarketplaceSource::Repository {
                url: url.to_owned(),
                reference: reference.map(str::to_owned),
            };
            assert_eq!(MarketplaceSource::parse(text), Ok(expected), "{text}");
        }
        assert_eq!(MarketplaceSource::parse(" "), Err(InvalidSource::Empty));
        for text in [
            "foo",
            "a/b/c",
            "-o/r",
            "o/../r",
            "ext::sh -c x",
            "o/r x",
            "@h:x",
            "-u@h:x",
        ] {
            assert_eq!(
                MarketplaceSource::parse(text),
                Err(InvalidSource::Form),
                "{text}"
            );
        }
    }
}
