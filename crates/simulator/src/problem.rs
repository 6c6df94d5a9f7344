//! What a check finds.

/// Something that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// The rule, in a few words.
    pub rule: &'static str,
    pub details: String,
}
