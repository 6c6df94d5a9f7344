//! What an answer says about the memories that it is based on: a block that people do not see.

use codex_protocol::{MemoryCitation, MemoryCitationEntry};

use super::text_filter::{CLOSE_TAG, OPEN_TAG};

/// The limit on the entries of an answer.
const MAX_ENTRIES: usize = 256;

/// The citations of an answer; none if it has none that can be read.
pub(super) fn citation_of(answer: &str) -> Option<MemoryCitation> {
    let mut citation = MemoryCitation {
        entries: Vec::new(),
        rollout_ids: Vec::new(),
    };
    let mut rest = answer;
    while let Some((_, after)) = rest.split_once(OPEN_TAG) {
        let (block, behind) = after.split_once(CLOSE_TAG).unwrap_or((after, ""));
        let entries = lines_of(block, "citation_entries").filter_map(entry);
        citation.entries.extend(entries);
        for ids in ["rollout_ids", "thread_ids"] {
            for id in lines_of(block, ids) {
                if !citation.rollout_ids.iter().any(|known| known == id) {
                    citation.rollout_ids.push(id.to_owned());
                }
            }
        }
        rest = behind;
    }
    citation.entries.truncate(MAX_ENTRIES);
    citation.rollout_ids.truncate(MAX_ENTRIES);
    let is_empty = citation.entries.is_empty() && citation.rollout_ids.is_empty();
    (!is_empty).then_some(citation)
}

/// The lines in the elements of this name that are not blank.
fn lines_of<'a>(block: &'a str, element: &str) -> impl Iterator<Item = &'a str> {
    let (open, close) = (format!("<{element}>"), format!("</{element}>"));
    let inside = block.split_once(&open).map_or("", |(_, after)| {
        after.split_once(&close).map_or(after, |(inside, _)| inside)
    });
    inside
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
}

/// A line `path:first-last|note=[text]`.
fn entry(line: &str) -> Option<MemoryCitationEntry> {
    let (place, note) = line.rsplit_once("|note=[")?;
    let (path, range) = place.rsplit_once(':')?;
    let (first, last) = range.split_once('-')?;
    Some(MemoryCitationEntry {
        path: path.trim().to_owned(),
        line_start: first.trim().parse().ok()?,
        line_end: last.trim().parse().ok()?,
        note: note.strip_suffix(']')?.trim().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_threads_are_read() {
        let text = "Answer.\n<oai-mem-citation>\n<citation_entries>\nMEMORY.md:3-5|note=[the [port] ]\n\
            bad line\na:b.md:1-1|note=[x]\n</citation_entries>\n<rollout_ids>\none\ntwo\none\n</rollout_ids>\n\
            </oai-mem-citation>";
        let citation = citation_of(text).unwrap();
        let shown: Vec<_> = citation
            .entries
            .iter()
            .map(|entry| {
                (
                    entry.path.as_str(),
                    entry.line_start,
                    entry.line_end,
                    entry.note.as_str(),
                )
            })
            .collect();
        assert_eq!(
            shown,
            [("MEMORY.md", 3, 5, "the [port]"), ("a:b.md", 1, 1, "x")]
        );
        assert_eq!(citation.rollout_ids, ["one", "two"]);
    }

    #[test]
    fn citations_accept_both_names_of_threads() {
        let of = |inside: &str| citation_of(&format!("{OPEN_TAG}{inside}{CLOSE_TAG}"));
        let ids = of("<thread_ids>\nt\n</thread_ids>").unwrap().rollout_ids;
        assert_eq!(ids, ["t"]);
        for nothing in ["", "<citation_entries>\n</citation_entries>", "text"] {
            assert_eq!(of(nothing), None, "{nothing}");
        }
        assert_eq!(citation_of("MEMORY.md:3-5|note=[x]"), None);
    }
}
