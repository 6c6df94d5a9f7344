//! Requests on their way to the trace, as what is new in them.
//!
//! A request repeats the one before: instructions, tools, the conversation so far. To keep each of them whole until it
//! is written would cost the turns fresh memory, and long conversations much of it.

use std::sync::Mutex;

use bytes::Bytes;

use crate::traces::lock;

/// How much is compared at a time.
const BLOCK: usize = 512;

/// The request that others are compared with.
#[derive(Debug, Default)]
pub(crate) struct Requests(Mutex<Bytes>);

/// A request, as what differs from another one.
#[derive(Debug)]
pub(crate) struct Request {
    base: Bytes,
    /// So many bytes at the beginning, and so many at the end, are those of the other one.
    head: usize,
    tail: usize,
    middle: Vec<u8>,
    /// How many bytes are kept for it alone.
    pub(crate) weight: usize,
}

impl Requests {
    /// The request with this body. Where much is new in it, later ones are compared with it.
    pub(crate) fn note(&self, body: &Bytes) -> Request {
        let mut base = lock(&self.0);
        let head = common_head(&base, body);
        let tail = common_tail(&base[head..], &body[head..]);
        let middle = &body[head..body.len() - tail];
        if middle.len() > base.len() / 4 {
            base.clone_from(body);
            return Request {
                base: body.clone(),
                head: body.len(),
                tail: 0,
                middle: Vec::new(),
                weight: body.len(),
            };
        }
        Request {
            base: base.clone(),
            head,
            tail,
            middle: middle.to_vec(),
            weight: middle.len(),
        }
    }
}

impl Request {
    /// The body as it was.
    pub(crate) fn pieces(&self) -> [&[u8]; 3] {
        let end = self.base.len() - self.tail;
        [&self.base[..self.head], &self.middle, &self.base[end..]]
    }
}

fn common_head(one: &[u8], other: &[u8]) -> usize {
    let blocks = one.chunks(BLOCK).zip(other.chunks(BLOCK));
    let equal = BLOCK * blocks.take_while(|(one, other)| one == other).count();
    let equal = equal.min(one.len()).min(other.len());
    let rest = one[equal..].iter().zip(&other[equal..]);
    equal + rest.take_while(|(one, other)| one == other).count()
}

fn common_tail(one: &[u8], other: &[u8]) -> usize {
    let blocks = one.rchunks(BLOCK).zip(other.rchunks(BLOCK));
    let equal = BLOCK * blocks.take_while(|(one, other)| one == other).count();
    let equal = equal.min(one.len()).min(other.len());
    let one = one[..one.len() - equal].iter().rev();
    let rest = one.zip(other[..other.len() - equal].iter().rev());
    equal + rest.take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_is_written_as_it_was() {
        let requests = Requests::default();
        let fixed = "x".repeat(1000);
        let body = |new: &str, end: &str| Bytes::from(format!("{fixed}{new}{fixed}{end}"));
        let bodies = [
            Bytes::new(),
            body("", ""),
            body("one", ""),
            body("one, two", ""),
            body("one, two", "!"),
            body(&"much more ".repeat(200), ""),
            body("", ""),
            Bytes::from_static(b"x"),
            body(&fixed, &fixed),
            body("", ""),
        ];
        for body in bodies {
            assert!(requests.note(&body).pieces().concat() == body);
        }
    }

    #[test]
    fn of_a_request_like_the_one_before_only_the_difference_is_kept() {
        let requests = Requests::default();
        let conversation = |turns: usize| format!("{}{}]", "i".repeat(4000), "turn".repeat(turns));
        let first = requests.note(&conversation(1).into());
        assert_eq!(first.weight, 4005);
        for turns in 2..50 {
            let next = requests.note(&conversation(turns).into());
            assert_eq!(next.weight, 4 * (turns - 1));
            assert_eq!(next.base.as_ptr(), first.base.as_ptr());
        }
    }
}
