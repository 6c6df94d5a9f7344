//! The viewer: one HTML file with everything in it.
//!
//! The page is the files of this folder and the data as JSON. It loads nothing, and its content policy forbids it
//! to. The data cannot end the element that holds it, because no `<` of theirs reaches the page; the script puts text
//! into the document as text only.

mod bodies;
mod data;
mod live;
mod live_list;
mod markdown_tree;
mod prompts;
mod totals;

pub use live::LiveView;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use codex_rollout_trace::Reduction;
use serde::Serialize;

use data::Data;

/// How much of a bundle goes into the page, in bytes. What does not fit is cut, the largest first, and says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// For all payload bodies together.
    pub payloads: u64,
    /// For all texts of the conversation and the terminals together.
    pub texts: u64,
}

/// What a million tokens cost, by model: new input, cached input, output.
pub type Prices = BTreeMap<String, [f64; 3]>;

/// How a page is made.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ViewOptions {
    pub budget: Budget,
    pub prices: Prices,
    /// The page is a conversation to be read, with the timeline behind it.
    pub is_document: bool,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            payloads: 16 << 20,
            texts: 16 << 20,
        }
    }
}

/// The part of the content policy that forbids connections.
const NO_CONNECTIONS: &str = "default-src 'none'";

const PAGE: &str = include_str!("viewer.html");
const STYLE: &str = include_str!("viewer.css");
const SCRIPTS: [&str; 10] = [
    include_str!("elements.js"),
    include_str!("timeline.js"),
    include_str!("outcome.js"),
    include_str!("details.js"),
    include_str!("context.js"),
    include_str!("overview.js"),
    include_str!("story.js"),
    include_str!("conversation.js"),
    include_str!("live.js"),
    include_str!("viewer.js"),
];

/// Writes the page for a reduced bundle. The bundle is read again for the payload bodies.
pub fn write_view(
    reduction: &Reduction,
    bundle: &Path,
    options: &ViewOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    write_page(&Data::new(reduction, bundle, options), false, out)
}

/// Writes the page with its data. A live page may ask its own server for more.
fn write_page(data: &impl Serialize, is_live: bool, out: &mut impl Write) -> io::Result<()> {
    // The page has three marks, in this order.
    let (head, rest) = PAGE.split_once("/*STYLE*/").unwrap_or((PAGE, ""));
    let (body, rest) = rest.split_once("/*DATA*/").unwrap_or((rest, ""));
    let (middle, end) = rest.split_once("/*SCRIPT*/").unwrap_or((rest, ""));
    match head.split_once(NO_CONNECTIONS).filter(|_| is_live) {
        Some((start, end)) => {
            write!(out, "{start}{NO_CONNECTIONS}; connect-src 'self'{end}")?;
        }
        None => out.write_all(head.as_bytes())?,
    }
    out.write_all(STYLE.as_bytes())?;
    out.write_all(body.as_bytes())?;
    serde_json::to_writer(Escaped(&mut *out), data)?;
    out.write_all(middle.as_bytes())?;
    for script in SCRIPTS {
        out.write_all(script.as_bytes())?;
    }
    out.write_all(end.as_bytes())
}

/// Lets JSON through with every `<` written as an escape. JSON has that character inside strings only.
struct Escaped<W>(W);

impl<W: Write> Write for Escaped<W> {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        for (at, piece) in text.split(|byte| *byte == b'<').enumerate() {
            if at > 0 {
                self.0.write_all(b"\\u003c")?;
            }
            self.0.write_all(piece)?;
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_template_has_each_mark_once_in_order() {
        let at = ["/*STYLE*/", "/*DATA*/", "/*SCRIPT*/"].map(|mark| {
            assert_eq!(PAGE.matches(mark).count(), 1, "{mark}");
            PAGE.find(mark)
        });
        assert!(at.is_sorted());
    }

    #[test]
    fn script_element_cannot_be_closed_by_a_string() {
        let text = "</script><!-- <script>";
        let mut page = Vec::new();
        serde_json::to_writer(Escaped(&mut page), text).unwrap();
        assert!(!page.contains(&b'<'));
        assert_eq!(serde_json::from_slice::<String>(&page).unwrap(), text);
    }

    #[test]
    fn scripts_set_text_and_never_markup() {
        for script in SCRIPTS {
            for way in [
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "document.write",
                "eval(",
            ] {
                assert!(!script.contains(way), "{way}");
            }
            assert!(!script.contains("</script"));
        }
    }
}
