//! Prompts as steps from the prompt before.
//!
//! A session sends its whole history with every request, so the lists of items grow with the square of the turns. A
//! prompt is therefore what it keeps of the prompt before it in its thread, and what it adds.

use serde::Serialize;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(super) struct Prompt {
    /// The span of the prompt that this one goes on from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) base: Option<usize>,
    /// How many items of the base stay, from the front.
    pub(super) keep: usize,
    pub(super) add: Vec<u32>,
}

impl Prompt {
    pub(super) fn after(base: Option<(usize, &[u32])>, items: &[u32]) -> Self {
        let Some((base, before)) = base else {
            return Self {
                base: None,
                keep: 0,
                add: items.to_vec(),
            };
        };
        let same = before.iter().zip(items);
        let keep = same.take_while(|(before, now)| before == now).count();
        Self {
            base: (keep > 0).then_some(base),
            keep,
            add: items[keep..].to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompt_has_kept_and_added_items() {
        let step = |base, keep, add: &[u32]| Prompt {
            base,
            keep,
            add: add.to_vec(),
        };
        assert_eq!(Prompt::after(None, &[1, 2]), step(None, 0, &[1, 2]));
        let base = Some((7, &[1, 2, 3][..]));
        assert_eq!(Prompt::after(base, &[1, 2, 3, 4]), step(Some(7), 3, &[4]));
        assert_eq!(Prompt::after(base, &[1, 5]), step(Some(7), 1, &[5]));
        assert_eq!(Prompt::after(base, &[9]), step(None, 0, &[9]));
    }
}
