//! Splits the text of a message in plan mode into the message and the proposed plan.
//!
//! A tag counts only alone on its line. A line is held back while it may still be a tag.

const OPEN_TAG: &str = "<proposed_plan>";
const CLOSE_TAG: &str = "</proposed_plan>";

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TextPiece {
    /// Text of the message.
    Message(String),
    /// A plan begins.
    PlanBegins,
    /// Text of the plan.
    Plan(String),
}

/// The splitter of one message.
#[derive(Debug, Default)]
pub(crate) struct PlanSplitter {
    /// The line so far, while it may be a tag.
    held: String,
    /// Whether the line is known to be no tag.
    plain: bool,
    inside: bool,
}

impl PlanSplitter {
    pub(crate) fn push(&mut self, text: &str) -> Vec<TextPiece> {
        let mut pieces = Vec::new();
        for part in text.split_inclusive('\n') {
            let ends = part.ends_with('\n');
            if self.plain {
                self.text(part, &mut pieces);
            } else {
                self.held.push_str(part);
                self.settle(ends, &mut pieces);
            }
            self.plain &= !ends;
        }
        pieces
    }

    /// Ends the text.
    pub(crate) fn finish(&mut self) -> Vec<TextPiece> {
        let mut pieces = Vec::new();
        self.settle(true, &mut pieces);
        (self.inside, self.plain) = (false, false);
        pieces
    }

    /// Decides about the held line, if possible.
    fn settle(&mut self, whole: bool, pieces: &mut Vec<TextPiece>) {
        let tag = if self.inside { CLOSE_TAG } else { OPEN_TAG };
        let line = self.held.trim();
        if whole && line == tag {
            self.held.clear();
            self.inside = !self.inside;
            if self.inside {
                pieces.push(TextPiece::PlanBegins);
            }
        } else if whole || !tag.starts_with(line) {
            let held = std::mem::take(&mut self.held);
            self.text(&held, pieces);
            self.plain = !whole;
        }
    }

    fn text(&self, text: &str, pieces: &mut Vec<TextPiece>) {
        if text.is_empty() {
            return;
        }
        match (pieces.last_mut(), self.inside) {
            (Some(TextPiece::Message(last)), false) | (Some(TextPiece::Plan(last)), true) => {
                last.push_str(text);
            }
            (_, false) => pieces.push(TextPiece::Message(text.to_owned())),
            (_, true) => pieces.push(TextPiece::Plan(text.to_owned())),
        }
    }
}

/// The message in a whole text, and the last plan in it.
pub(crate) fn split(text: &str) -> (String, Option<String>) {
    let mut splitter = PlanSplitter::default();
    let mut pieces = splitter.push(text);
    pieces.extend(splitter.finish());
    let (mut message, mut plan) = (String::new(), None);
    for piece in pieces {
        match piece {
            TextPiece::Message(text) => message.push_str(&text),
            TextPiece::PlanBegins => plan = Some(String::new()),
            TextPiece::Plan(text) => plan.get_or_insert_default().push_str(&text),
        }
    }
    (message, plan)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_makes_no_difference_how_the_text_is_cut() {
        let text = "So:\n <proposed_plan> \n# Do\n<proposed_plan>\n- a </proposed_plan>\n\
                    </proposed_plan>\nWell?\n</proposed_plan>\n<prop";
        let plan = "# Do\n<proposed_plan>\n- a </proposed_plan>\n".to_owned();
        let message = "So:\nWell?\n</proposed_plan>\n<prop".to_owned();
        assert_eq!(split(text), (message.clone(), Some(plan.clone())));
        for step in 1..9 {
            let mut splitter = PlanSplitter::default();
            let characters: Vec<char> = text.chars().collect();
            let chunks = characters
                .chunks(step)
                .map(|chunk| chunk.iter().collect::<String>());
            let mut pieces: Vec<TextPiece> =
                chunks.flat_map(|chunk| splitter.push(&chunk)).collect();
            pieces.extend(splitter.finish());
            let joined = |plans: bool| -> String {
                let text = pieces.iter().filter_map(|piece| match piece {
                    TextPiece::Message(text) if !plans => Some(text.as_str()),
                    TextPiece::Plan(text) if plans => Some(text.as_str()),
                    _ => None,
                });
                text.collect()
            };
            assert_eq!(
                (joined(false), joined(true)),
                (message.clone(), plan.clone()),
                "{step}"
            );
        }
    }

    #[test]
    fn unclosed_plan_ends_with_text() {
        let (message, plan) = split("<proposed_plan>\nx");
        assert_eq!((message.as_str(), plan.as_deref()), ("", Some("x")));
    }
}
