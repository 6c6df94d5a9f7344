//! Pages of lists that are rebuilt for each request: the cursor is the index of the next entry, and nothing is kept
//! between pages.

use crate::failure::Failure;

/// The page of `all` at a cursor, and the cursor of the next one. `what` names the entries in errors.
pub(super) fn page<T>(
    all: Vec<T>,
    cursor: Option<&str>,
    limit: Option<u32>,
    what: &str,
) -> Result<(Vec<T>, Option<String>), Failure> {
    let total = all.len();
    let start = match cursor {
        None => 0,
        Some(cursor) => cursor
            .parse::<usize>()
            .map_err(|_| Failure::invalid(format!("invalid cursor: {cursor}")))?,
    };
    if start > total {
        let message = format!("cursor {start} exceeds total {what} {total}");
        return Err(Failure::invalid(message));
    }
    let limit = limit.map_or(total, |limit| {
        usize::try_from(limit.max(1)).unwrap_or(usize::MAX)
    });
    let end = start.saturating_add(limit).min(total);
    let next = (end < total).then(|| end.to_string());
    let page = all.into_iter().skip(start).take(end - start).collect();
    Ok((page, next))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letters(
        cursor: Option<&str>,
        limit: Option<u32>,
    ) -> Result<(String, Option<String>), String> {
        let all = "abc".chars().collect();
        match page(all, cursor, limit, "letters") {
            Ok((page, next)) => Ok((page.into_iter().collect(), next)),
            Err(failure) => Err(failure.into_object().message),
        }
    }

    #[test]
    fn pages_follow_each_other_to_the_end() {
        let page = |text: &str, next: Option<&str>| Ok((text.to_owned(), next.map(str::to_owned)));
        assert_eq!(letters(None, None), page("abc", None));
        assert_eq!(letters(None, Some(2)), page("ab", Some("2")));
        assert_eq!(letters(Some("2"), Some(2)), page("c", None));
        assert_eq!(letters(None, Some(0)), page("a", Some("1")));
        assert_eq!(letters(Some("3"), Some(1)), page("", None));
    }

    #[test]
    fn cursors_that_lead_nowhere_are_refused() {
        let error = |text: &str| Err(text.to_owned());
        assert_eq!(letters(Some("x"), None), error("invalid cursor: x"));
        assert_eq!(letters(Some("-1"), None), error("invalid cursor: -1"));
        assert_eq!(
            letters(Some("4"), None),
            error("cursor 4 exceeds total letters 3")
        );
    }
}
