//! Requests that go on from the one before: only their new items are parsed and converted.
//!
//! A session sends its whole history with every request. Instructions, tools and older items are the same bytes, so what they
//! became is taken over from the conversion before.

use crate::json::{Json, Scanner, SyntaxError, compact};

/// A longer request is not kept for the next one.
const MOST_KEPT: usize = 8 << 20;

/// The member of a request whose items are converted.
const LIST: &str = "input";

/// A request as it was and as it became.
pub(super) struct ConvertedRequest {
    original: Vec<u8>,
    converted: Vec<u8>,
    /// Where the list is in both.
    places: [ListPlaces; 2],
}

/// Where a list and its items are in a text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct ListPlaces {
    /// After the bracket.
    start: usize,
    /// The ends of the items.
    ends: Vec<usize>,
    /// The closing bracket.
    end: usize,
}

/// A request whose first items are those of the one before.
pub(super) struct Continuation {
    /// How many items are the same.
    pub(super) kept: usize,
    /// The text of the others, as an array.
    pub(super) added: Vec<u8>,
}

impl ConvertedRequest {
    /// Keeps a request for the next one; none if it has another form.
    pub(super) fn new(original: &[u8], converted: &[u8]) -> Option<Self> {
        if original.len() > MOST_KEPT {
            return None;
        }
        let places = [
            ListPlaces::find(original, LIST)?,
            ListPlaces::find(converted, LIST)?,
        ];
        let is_same = places[0].ends.len() == places[1].ends.len();
        is_same.then(|| Self {
            original: original.to_vec(),
            converted: converted.to_vec(),
            places,
        })
    }

    /// What of a request is new, if everything around its items is as before.
    pub(super) fn continuation(&self, text: &[u8]) -> Option<Continuation> {
        if text.len() > MOST_KEPT {
            return None;
        }
        let [places, _] = &self.places;
        let tail = &self.original[places.end..];
        let items_end = text.len().checked_sub(tail.len())?;
        if !text.ends_with(tail) || text.get(..places.start)? != &self.original[..places.start] {
            return None;
        }
        let same = common_head(&text[..items_end], &self.original[..places.end]);
        let kept = places.ends.partition_point(|end| *end <= same);
        let from = kept
            .checked_sub(1)
            .map_or(places.start, |last| places.ends[last]);
        let mut rest = text.get(from..items_end)?;
        if kept > 0 && !rest.is_empty() {
            rest = rest.strip_prefix(b",")?;
        }
        let added = [b"[", rest, b"]"].concat();
        Some(Continuation { kept, added })
    }

    /// Goes on with a request: its first `kept` items stay, the others are `items`. Returns what it becomes.
    pub(super) fn extend(
        &mut self,
        text: &[u8],
        kept: usize,
        added: &[u8],
        items: &[Json<'_>],
    ) -> Option<Vec<u8>> {
        let [before, after] = &mut self.places;
        let texts = items.iter().map(|item| compact(item).into_bytes());
        let places = ListPlaces::of_array(added)?;
        let tail = self.converted.split_off(after.end);
        after.cut(kept);
        self.converted.truncate(after.end);
        for item in texts {
            if !after.ends.is_empty() {
                self.converted.push(b',');
            }
            self.converted.extend_from_slice(&item);
            after.ends.push(self.converted.len());
        }
        after.end = self.converted.len();
        self.converted.extend_from_slice(&tail);
        let tail_length = self.original.len() - before.end;
        before.cut(kept);
        self.original.truncate(before.end);
        self.original.extend_from_slice(&text[before.end..]);
        // In the added array the items begin after one bracket, in the text perhaps after a comma.
        let comma = usize::from(kept > 0 && !items.is_empty());
        let shift = before.end + comma;
        before
            .ends
            .extend(places.ends.iter().map(|end| end - 1 + shift));
        before.end = self.original.len() - tail_length;
        Some(self.converted.clone())
    }
}

/// How many bytes two texts have in common at their beginning.
fn common_head(one: &[u8], other: &[u8]) -> usize {
    const BLOCK: usize = 512;
    let blocks = one.chunks_exact(BLOCK).zip(other.chunks_exact(BLOCK));
    let equal = BLOCK * blocks.take_while(|(one, other)| one == other).count();
    let rest = one[equal..].iter().zip(&other[equal..]);
    equal + rest.take_while(|(one, other)| one == other).count()
}

impl ListPlaces {
    /// The places of a member that is a list of objects and is there once.
    fn find(text: &[u8], member: &str) -> Option<Self> {
        let mut found = None;
        let mut is_plain = true;
        let mut scanner = Scanner::new(text);
        let walked = scanner.object(|scanner, key| {
            if key != member {
                return scanner.skip();
            }
            is_plain &= found.is_none() && scanner.peek() == Some(b'[');
            if !is_plain {
                return scanner.skip();
            }
            let (places, are_objects) = Self::walk(scanner)?;
            is_plain &= are_objects;
            found = Some(places);
            Ok::<_, SyntaxError>(())
        });
        walked.ok()?;
        scanner.end().ok()?;
        found.filter(|_| is_plain)
    }

    /// The places in a text that is such a list.
    fn of_array(text: &[u8]) -> Option<Self> {
        let (places, are_objects) = Self::walk(&mut Scanner::new(text)).ok()?;
        are_objects.then_some(places)
    }

    fn walk(scanner: &mut Scanner<'_>) -> Result<(Self, bool), SyntaxError> {
        let mut places = Self {
            start: scanner.position() + 1,
            ..Self::default()
        };
        let mut are_objects = true;
        scanner.array(|scanner| {
            are_objects &= scanner.peek() == Some(b'{');
            scanner.skip()?;
            places.ends.push(scanner.position());
            Ok::<_, SyntaxError>(())
        })?;
        places.end = scanner.position() - 1;
        Ok((places, are_objects))
    }

    /// Leaves the first items.
    fn cut(&mut self, kept: usize) {
        self.ends.truncate(kept);
        self.end = self.ends.last().copied().unwrap_or(self.start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Converts requests one after the other: each object of a new item gets a member. Returns how many went on from the
    /// one before.
    fn convert(requests: &[&str]) -> usize {
        let mut last: Option<ConvertedRequest> = None;
        let mut continued = 0;
        for text in requests {
            let text = text.as_bytes();
            let marked = |added: &[u8]| {
                let list = String::from_utf8(added.to_vec()).unwrap();
                list.replace("}", ",\"m\":1}")
            };
            let grown = last.as_mut().and_then(|last| {
                let Continuation { kept, added } = last.continuation(text)?;
                let list = marked(&added);
                let items = Scanner::parse(list.as_bytes()).ok()?;
                last.extend(text, kept, &added, items.as_array()?)
            });
            continued += usize::from(grown.is_some());
            let converted = grown.unwrap_or_else(|| marked(text).into_bytes());
            assert_eq!(converted, marked(text).into_bytes());
            let whole = ConvertedRequest::new(text, &converted);
            if let (Some(last), Some(whole)) = (&last, &whole)
                && last.original == text
            {
                assert_eq!(last.places, whole.places);
            }
            last = last.filter(|last| last.original == text).or(whole);
        }
        continued
    }

    #[test]
    fn requests_become_the_same_piece_by_piece() {
        let others = [
            r#"["no object"]"#,
            r#"{"a":"x","input":[],"b":[1]}"#,
            r#"{"a":"x","input":[],"b":[1]}"#,
        ];
        assert_eq!(convert(&others), 1);
        let list = |items: &str| format!(r#"{{"a":"\"input\":[","input":[{items}],"b":[1,2]"#);
        let steps = [
            "",
            r#"{"i":1"#,
            r#"{"i":1},{"i":"]""#,
            r#"{"i":1},{"i":"],\"b\":[1,2]""#,
            r#"{"i":1},{"i":12"#,
            r#"{"i":1"#,
            r#"{"i":10"#,
            "",
            r#"{"i":[{"k":1}]},{"k":2},{"k":3},{"j":null"#,
            r#"{"i":[{"k":1}]},{"k":2},{"j":null"#,
        ];
        let requests: Vec<String> = steps
            .iter()
            .map(|items| match *items {
                "" => list("") + "}",
                items => list(&format!("{items}}}")) + "}",
            })
            .collect();
        let requests: Vec<&str> = requests.iter().map(String::as_str).collect();
        assert_eq!(convert(&requests), requests.len() - 1);
    }

    #[test]
    fn long_requests_are_not_kept() {
        let request = |length: usize| format!(r#"{{"a":"{}","input":[{{}}]}}"#, "x".repeat(length));
        let (short, long) = (request(1), request(MOST_KEPT));
        let [short, long] = [short.as_bytes(), long.as_bytes()];
        assert!(ConvertedRequest::new(long, long).is_none());
        let kept = ConvertedRequest::new(short, short).unwrap();
        assert!(kept.continuation(short).is_some() && kept.continuation(long).is_none());
        // One that only became too long.
        let grown = format!(
            r#"{{"a":"x","input":[{{}},{{"b":"{}"}}]}}"#,
            "x".repeat(MOST_KEPT)
        );
        assert!(kept.continuation(grown.as_bytes()).is_none());
    }

    #[test]
    fn input_without_objects_is_not_kept() {
        for text in [
            r#"{"input":[1]}"#,
            r#"{"input":"x"}"#,
            r#"{"input":[],"input":[]}"#,
            r#"{"x":[]}"#,
            r#"{"input":[{}]"#,
        ] {
            assert!(ConvertedRequest::new(text.as_bytes(), text.as_bytes()).is_none());
        }
    }
}
