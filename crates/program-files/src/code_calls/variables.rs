//! Variables of code: what they are set to, as far as that is one value.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::ops::Range;

use super::bindings::is_bound;
use super::places::is_part_of_name;
use super::reflection::sets_variables_unseen;
use super::scan::{Brackets, assigns, statement};
use crate::interpreters::Language;

/// How deeply variables stand for values.
pub(super) const MAX_DEPTH: usize = 6;
/// How many bytes are searched for variables. What is left after that is not known.
const MAX_SEARCHED: usize = 64 * 1024 * 1024;
/// A variable that is used more often is not known.
const MAX_USES: usize = 1024;

/// The variables that have been looked for.
#[derive(Default)]
pub(super) struct Variables<'t> {
    /// What they are set to, and whether that is changed then.
    values: RefCell<HashMap<String, Option<(&'t str, bool)>>>,
    /// How many bytes have been searched.
    searched: Cell<usize>,
    /// Whether the text may set any variable unseen.
    sets_unseen: OnceCell<bool>,
    /// The brackets of the text.
    brackets: OnceCell<Brackets>,
}

impl<'t> Variables<'t> {
    /// The expression that a variable of a text is set to, and whether its value is changed then.
    pub(super) fn find(
        &self,
        text: &'t str,
        name: &str,
        language: Language,
    ) -> Option<(&'t str, bool)> {
        let sets_unseen = || sets_variables_unseen(text, language);
        if *self.sets_unseen.get_or_init(sets_unseen) {
            return None;
        }
        if let Some(value) = self.values.borrow().get(name) {
            return *value;
        }
        if !self.may_search(text) {
            return None;
        }
        let value = value_of(text, self.brackets(text, language), name, language);
        let value = value.map(|value| (value, is_changed(text, name)));
        self.values.borrow_mut().insert(name.to_owned(), value);
        value
    }

    /// Whether a text may be searched once more.
    pub(super) fn may_search(&self, text: &str) -> bool {
        let searched = self.searched.get() + text.len();
        let may_search = searched <= MAX_SEARCHED;
        if may_search {
            self.searched.set(searched);
        }
        may_search
    }

    /// Whether a name at a place of the text gets a value there by more than `name = value`.
    pub(super) fn is_bound(&self, text: &str, place: Range<usize>, language: Language) -> bool {
        is_bound(text, self.brackets(text, language), place, language)
    }

    /// Whether a place of the text is in brackets.
    pub(super) fn is_inside(&self, text: &str, at: usize, language: Language) -> bool {
        self.brackets(text, language).around(at).is_some()
    }

    fn brackets(&self, text: &str, language: Language) -> &Brackets {
        self.brackets.get_or_init(|| Brackets::find(text, language))
    }
}

/// The value of a variable that is set exactly once, by a statement of its own.
fn value_of<'t>(
    text: &'t str,
    brackets: &Brackets,
    name: &str,
    language: Language,
) -> Option<&'t str> {
    let mut value = None;
    for (count, (before, after)) in uses(text, name).enumerate() {
        let place = before.len()..before.len() + name.len();
        if count >= MAX_USES || is_bound(text, brackets, place, language) {
            return None;
        }
        let after = after.trim_start_matches([' ', '\t']);
        let is_set = assigns(after);
        if changes(after) || (is_set && value.is_some()) {
            return None;
        }
        if is_set {
            value = Some(statement(&after[1..], language));
        }
        // An import of everything may set it again.
        let is_python = language == Language::Python;
        if is_set && is_python && after.contains("import *") {
            return None;
        }
    }
    value
}

/// Whether code adds something to a list after it was set.
pub(super) fn is_changed(text: &str, name: &str) -> bool {
    const METHODS: [&str; 8] = [
        "append", "concat", "extend", "insert", "push", "replace", "splice", "unshift",
    ];
    const FUNCTIONS: [&str; 3] = ["push", "splice", "unshift"];
    uses(text, name).any(|(before, after)| {
        let member = after.strip_prefix('.').unwrap_or_default();
        let before = before.trim_end_matches(['@', '(', ' ', '{', '$']);
        let after = after.trim_start_matches([' ', '\t']);
        let is_element_set = after.starts_with('[')
            && after
                .split_once(']')
                .is_some_and(|(_, rest)| rest.trim_start().starts_with('='));
        METHODS.iter().any(|method| member.starts_with(method))
            || FUNCTIONS.iter().any(|function| before.ends_with(function))
            || after.starts_with("<<")
            || is_element_set
            || changes(after)
    })
}

/// The texts before and behind each place where a variable stands.
fn uses<'t>(text: &'t str, name: &str) -> impl Iterator<Item = (&'t str, &'t str)> {
    let length = name.len();
    let places = if length == 0 {
        Vec::new()
    } else {
        text.match_indices(name).map(|(at, _)| at).collect()
    };
    let uses = { places }
        .into_iter()
        .map(move |at| (&text[..at], &text[at + length..]));
    uses.filter(|(before, after)| {
        let is_member = before.ends_with('.') && !before.ends_with("...");
        !after.starts_with(is_part_of_name) && !before.ends_with(is_part_of_name) && !is_member
    })
}

/// Whether what follows a variable changes its value.
pub(super) fn changes(after: &str) -> bool {
    let rest = after.trim_start_matches(['+', '-', '*', '/', '.', '|', '?', '&', '%', '^']);
    rest.len() < after.len() && rest.starts_with('=') && !rest.starts_with("==")
}
