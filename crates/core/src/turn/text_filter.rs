//! Removes hidden markup from text while it streams.
//!
//! Text that may begin a tag is held back until that is known.

pub(super) const OPEN_TAG: &str = "<oai-mem-citation>";
pub(super) const CLOSE_TAG: &str = "</oai-mem-citation>";

/// The filter of one message.
#[derive(Debug, Default)]
pub(crate) struct TextFilter {
    held: String,
    hidden: bool,
}

impl TextFilter {
    /// Adds text and returns what is visible.
    pub(crate) fn push(&mut self, text: String) -> String {
        if self.held.is_empty() && !self.hidden && !text.contains('<') {
            return text;
        }
        self.held.push_str(&text);
        let mut shown = String::new();
        loop {
            let tag = if self.hidden { CLOSE_TAG } else { OPEN_TAG };
            let (before, found) = match self.held.find(tag) {
                Some(at) => (at, true),
                None => (self.held.len() - partial(&self.held, tag), false),
            };
            if !self.hidden {
                shown.push_str(&self.held[..before]);
            }
            self.held
                .drain(..before + if found { tag.len() } else { 0 });
            if !found {
                return shown;
            }
            self.hidden = !self.hidden;
        }
    }

    /// Ends the text: what was held back is no tag.
    pub(crate) fn finish(&mut self) -> String {
        let held = std::mem::take(&mut self.held);
        if std::mem::take(&mut self.hidden) {
            String::new()
        } else {
            held
        }
    }
}

/// The visible part of a whole text.
pub(crate) fn visible(text: &str) -> String {
    let mut filter = TextFilter::default();
    let mut shown = filter.push(text.to_owned());
    shown.push_str(&filter.finish());
    shown
}

/// How many bytes at the end of `text` may begin `tag`.
fn partial(text: &str, tag: &str) -> usize {
    let longest = tag.len().min(text.len() + 1) - 1;
    (1..=longest)
        .rev()
        .find(|length| text.ends_with(&tag[..*length]))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_makes_no_difference_how_the_text_is_cut() {
        let text = "a < b <oai-mem-citation>x</oai-mem-citation>é<oai <oai-mem-citation>y";
        for step in 1..8 {
            let mut filter = TextFilter::default();
            let mut shown = String::new();
            let characters: Vec<char> = text.chars().collect();
            for chunk in characters.chunks(step) {
                shown.push_str(&filter.push(chunk.iter().collect()));
            }
            shown.push_str(&filter.finish());
            assert_eq!(shown, "a < b é<oai ");
        }
        assert_eq!(visible("x <oai"), "x <oai");
    }
}
