//! The page of a session that still runs: the whole page once, and then what changed.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use codex_rollout_trace::Problems;
use codex_rollout_trace::model::RolloutTrace;
use serde_json::{Map, Value, json};

use super::bodies::size;
use super::data::{Data, PayloadData, in_order};
use super::notices::notices;
use super::write_page;

/// The longest text of a conversation or a terminal.
const TEXT_LIMIT: u64 = 256 << 10;
/// The longest body of a payload file, and of all together.
const BODY_LIMIT: u64 = 256 << 10;
const BODIES: u64 = 64 << 20;

/// The lists of the page's data. Their elements are sent one by one.
const LISTS: [&str; 4] = ["spans", "items", "edges", "payloads"];

/// The data of a page that follows a bundle.
#[derive(Debug)]
pub struct LiveView {
    bundle: PathBuf,
    /// Where the page asks for changes.
    source: String,
    version: u64,
    /// What is no list.
    head: Value,
    lists: [Vec<Element>; 4],
    /// The payloads that were read: their files do not change.
    payloads: HashMap<String, PayloadData>,
    bodies: u64,
}

#[derive(Debug)]
struct Element {
    hash: u64,
    /// The version that changed it last.
    version: u64,
    value: Value,
}

impl LiveView {
    /// A view of a bundle, whose page asks for changes at the address `source`.
    #[must_use]
    pub fn new(bundle: &Path, source: String) -> Self {
        Self {
            bundle: bundle.to_owned(),
            source,
            version: 0,
            head: json!({}),
            lists: Default::default(),
            payloads: HashMap::new(),
            bodies: 0,
        }
    }

    /// Takes over a newer state of the bundle.
    ///
    /// # Errors
    /// The data cannot be written as JSON.
    pub fn update(
        &mut self,
        trace: &RolloutTrace,
        problems: &Problems,
        is_over: bool,
    ) -> serde_json::Result<()> {
        let payloads = self.payloads(trace);
        let mut data = Data::build(trace, problems, TEXT_LIMIT, payloads);
        if is_over {
            // The log is read again for them.
            data.notices = notices(&self.bundle);
        }
        let Value::Object(mut data) = serde_json::to_value(&data)? else {
            return Ok(());
        };
        self.version += 1;
        for (name, elements) in LISTS.iter().zip(&mut self.lists) {
            if let Some(Value::Array(values)) = data.remove(*name) {
                replace(elements, values, self.version);
            }
        }
        data.insert(
            "live".into(),
            json!({ "source": self.source, "over": is_over }),
        );
        self.head = Value::Object(data);
        Ok(())
    }

    /// The number of the state, from 1.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Writes the page with the present state.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write_page(&self, out: &mut impl Write) -> io::Result<()> {
        let mut data = self.head_members();
        for (name, elements) in LISTS.iter().zip(&self.lists) {
            let values = elements.iter().map(|element| element.value.clone());
            data.insert((*name).to_owned(), values.collect());
        }
        write_page(&data, true, out)
    }

    /// What changed since a version.
    #[must_use]
    pub fn changes(&self, since: u64) -> Value {
        let mut changes = Map::new();
        for (name, elements) in LISTS.iter().zip(&self.lists) {
            let changed = elements.iter().enumerate();
            let changed = changed.filter(|(_, element)| element.version > since);
            let changed: Vec<Value> = changed
                .map(|(at, element)| json!([at, element.value]))
                .collect();
            changes.insert(
                (*name).to_owned(),
                json!({ "length": elements.len(), "changed": changed }),
            );
        }
        json!({ "head": self.head_members(), "lists": changes })
    }

    fn head_members(&self) -> Map<String, Value> {
        let mut head = match &self.head {
            Value::Object(head) => head.clone(),
            _ => Map::new(),
        };
        head.insert("version".into(), self.version.into());
        head
    }

    fn payloads(&mut self, trace: &RolloutTrace) -> Vec<PayloadData> {
        let mut payloads = Vec::new();
        for payload in in_order(trace) {
            let known = self.payloads.entry(payload.path.clone());
            let data = known.or_insert_with(|| {
                let bytes = size(&self.bundle, &payload.path);
                let limit = BODY_LIMIT.min(BODIES.saturating_sub(self.bodies));
                let data = PayloadData::read(payload, bytes, &self.bundle, limit);
                self.bodies += data.body_bytes();
                data
            });
            payloads.push(data.clone());
        }
        payloads
    }
}

/// Replaces the values of a list, and notes which ones are other than before.
fn replace(elements: &mut Vec<Element>, values: Vec<Value>, version: u64) {
    elements.truncate(values.len());
    for (at, value) in values.into_iter().enumerate() {
        let mut hasher = DefaultHasher::new();
        value.to_string().hash(&mut hasher);
        let hash = hasher.finish();
        let element = Element {
            hash,
            version,
            value,
        };
        match elements.get_mut(at) {
            Some(known) if known.hash == hash => {}
            Some(known) => *known = element,
            None => elements.push(element),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changed_is_sent() {
        let mut view = LiveView::new(Path::new("/nowhere"), String::new());
        view.version = 1;
        replace(&mut view.lists[0], vec![json!(1), json!(2)], 1);
        view.version = 2;
        replace(&mut view.lists[0], vec![json!(1), json!(3), json!(4)], 2);
        let spans = &view.changes(1)["lists"]["spans"];
        assert_eq!(spans["length"], 3);
        assert_eq!(spans["changed"], json!([[1, 3], [2, 4]]));
        assert_eq!(view.changes(2)["lists"]["spans"]["changed"], json!([]));
    }
}
