//! The redirect policy: a few redirects to the same origin are followed.
//!
//! Requests carry keys in their headers and the conversation in their body. A server must not be able to send them to
//! another origin or in plain text. Status 307 and 308 keep method and body; other redirects become GET requests, as
//! in browsers.

use reqwest::Url;
use reqwest::header::{HeaderMap, LOCATION};
use reqwest::redirect::Policy;

/// A longer chain is a loop.
const LIMIT: usize = 5;

/// The policy for every client. A redirect that is not followed is the reply to its request.
pub(crate) fn policy() -> Policy {
    Policy::custom(|attempt| {
        let previous = attempt.previous();
        let is_followed = previous.len() <= LIMIT
            && (previous.last()).is_some_and(|from| from.origin() == attempt.url().origin());
        if is_followed {
            attempt.follow()
        } else {
            attempt.stop()
        }
    })
}

/// The error text for a redirect that was not followed; none for other replies. It has only the origin of the target,
/// as the rest may be secret.
#[must_use]
pub fn refused(status: u16, headers: &HeaderMap) -> Option<String> {
    if !(300..400).contains(&status) {
        return None;
    }
    let location = headers.get(LOCATION)?.to_str().unwrap_or_default();
    let target = match Url::parse(location) {
        Ok(url) => url.origin().ascii_serialization(),
        Err(_) => "the same server".to_owned(),
    };
    Some(format!(
        "the server redirects to {target}, and only few redirects to the same server are followed"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_redirect_names_the_origin_alone() {
        let mut headers = HeaderMap::new();
        assert_eq!(refused(307, &headers), None);
        let location = "http://me:secret@other:1/path?key=secret";
        headers.insert(LOCATION, location.parse().unwrap());
        assert_eq!(refused(200, &headers), None);
        let text = refused(307, &headers).unwrap();
        assert!(
            text.contains("http://other:1,") && !text.contains("secret"),
            "{text}"
        );
    }
}
