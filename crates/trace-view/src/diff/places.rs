//! Paths that each run has of its own: its working folder, the home of its user, temporary folders.

use std::sync::LazyLock;

use codex_rollout_trace::model::{Part, RolloutTrace, TerminalRequest};
use regex::Regex;

static WORKING_FOLDER: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"<cwd>([^<]+)</cwd>").ok());

/// Temporary folders and homes, up to their own name.
static OTHER_PLACES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?:/private)?(?:/var/folders/[\w+]+/[\w+]+/T|/var/tmp|/tmp)/[\w.+-]+|/(?:home|Users)/[\w.-]+|/root\b(?:/)").ok()
});

/// The working folders of a run, the longest first.
pub(super) struct OwnPlaces(Vec<String>);

impl OwnPlaces {
    pub(super) fn from_trace(trace: &RolloutTrace) -> Self {
        let items = trace.conversation_items.values();
        let parts = items.flat_map(|item| &item.body.parts);
        let told = parts.filter_map(|part| match (part, &*WORKING_FOLDER) {
            (Part::Text { text }, Some(folder)) => {
                Some(folder.captures(&text.shown())?[1].to_owned())
            }
            _ => None,
        });
        let operations = trace.terminal_operations.values();
        let used = operations.filter_map(|operation| match &operation.request {
            TerminalRequest::ExecCommand { cwd, .. } => Some(cwd.clone()),
            TerminalRequest::WriteStdin { .. } => None,
        });
        let first = told.chain(used).find(|folder| folder.len() > 1);
        Self(first.into_iter().collect())
    }

    /// A text with words in place of the paths.
    pub(super) fn replace(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for folder in &self.0 {
            if text.contains(folder.as_str()) {
                text = text.replace(folder.as_str(), "(working folder)");
            }
        }
        match &*OTHER_PLACES {
            Some(others) if others.is_match(&text) => {
                others.replace_all(&text, "(own folder)").into_owned()
            }
            _ => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_paths_are_replaced_and_others_stay() {
        let places = OwnPlaces(vec!["/srv/work-1".to_owned()]);
        let replaced = places.replace("cat /srv/work-1/a /tmp/x9/b /home/ada/c /usr/d");
        assert_eq!(
            replaced,
            "cat (working folder)/a (own folder)/b (own folder)/c /usr/d"
        );
    }
}
