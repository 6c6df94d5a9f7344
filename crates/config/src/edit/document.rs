//! A settings file as editable text that keeps the formatting of everything unedited.

use toml::Value;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table};

use super::change::{ConfigEdit, MergeStrategy, SettingChange};
use super::error::EditError;

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// A settings file.
pub(super) struct SettingsDocument {
    document: DocumentMut,
    /// Formatting that the parser does not keep.
    format: TextFormat,
}

/// Formatting of the whole file.
struct TextFormat {
    byte_order_mark: bool,
    carriage_returns: bool,
    ends_with_newline: bool,
}

impl SettingsDocument {
    pub(super) fn parse(text: &str) -> Result<Self, EditError> {
        let plain = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        let lines = plain.matches('\n').count();
        let format = TextFormat {
            byte_order_mark: plain.len() < text.len(),
            carriage_returns: lines > 0 && plain.matches("\r\n").count() == lines,
            ends_with_newline: plain.is_empty() || plain.ends_with('\n'),
        };
        let plain = if format.carriage_returns {
            plain.replace("\r\n", "\n")
        } else {
            plain.to_owned()
        };
        let document: DocumentMut = plain
            .parse()
            .map_err(|error: toml_edit::TomlError| EditError::Invalid(error.to_string()))?;
        Ok(Self { document, format })
    }

    pub(super) fn apply(&mut self, edit: &ConfigEdit) {
        let path = edit.path.segments();
        let root = TableContainer::Table(self.document.as_table_mut());
        match &edit.change {
            SettingChange::Remove => root.remove(path),
            SettingChange::Set(value, strategy) => root.set(path, value, *strategy),
        }
    }

    pub(super) fn finish(self) -> String {
        let mut text = self.document.to_string();
        if !self.format.ends_with_newline && text.ends_with('\n') {
            text.pop();
        }
        if self.format.carriage_returns {
            text = text.replace('\n', "\r\n");
        }
        if self.format.byte_order_mark {
            text.insert_str(0, BYTE_ORDER_MARK);
        }
        text
    }
}

/// A table in one of its forms: with a header, as dotted keys, or inline.
enum TableContainer<'a> {
    Table(&'a mut Table),
    Inline(&'a mut InlineTable),
}

impl<'a> TableContainer<'a> {
    fn from_item(item: &'a mut Item) -> Option<Self> {
        match item {
            Item::Table(table) => Some(Self::Table(table)),
            Item::Value(toml_edit::Value::InlineTable(table)) => Some(Self::Inline(table)),
            _ => None,
        }
    }

    /// Whether new tables inside it are inline.
    fn has_inline_tables(&self) -> bool {
        match self {
            Self::Table(table) => table.is_dotted(),
            Self::Inline(_) => true,
        }
    }

    fn remove(self, path: &[String]) {
        match (self, path) {
            (_, []) => {}
            (Self::Table(table), [key]) => {
                table.remove(key);
            }
            (Self::Inline(table), [key]) => remove_inline(table, key),
            (Self::Table(table), [first, rest @ ..]) => {
                if let Some(inner) = table.get_mut(first).and_then(TableContainer::from_item) {
                    inner.remove(rest);
                }
            }
            (Self::Inline(table), [first, rest @ ..]) => {
                if let Some(toml_edit::Value::InlineTable(inner)) = table.get_mut(first) {
                    Self::Inline(inner).remove(rest);
                }
            }
        }
    }

    fn set(mut self, path: &[String], value: &Value, strategy: MergeStrategy) {
        let Some((key, rest)) = path.split_first() else {
            return;
        };
        if !rest.is_empty() {
            if let Some(inner) = self.table_at(key) {
                inner.set(rest, value, strategy);
            }
            return;
        }
        if let (Value::Table(new), MergeStrategy::Upsert) = (value, strategy)
            && self.has_table(key)
        {
            for (name, value) in new {
                if let Some(inner) = self.table_at(key) {
                    inner.set(std::slice::from_ref(name), value, strategy);
                }
            }
            return;
        }
        self.put(key, value);
    }

    fn has_table(&self, key: &str) -> bool {
        match self {
            Self::Table(table) => table.get(key).is_some_and(Item::is_table_like),
            Self::Inline(table) => table
                .get(key)
                .is_some_and(toml_edit::Value::is_inline_table),
        }
    }

    /// The table at a key. Creates it, and replaces any other value.
    fn table_at(&mut self, key: &str) -> Option<TableContainer<'_>> {
        if !self.has_table(key) {
            let inline = self.has_inline_tables();
            match self {
                Self::Table(table) if !inline => {
                    let mut inner = Table::new();
                    // Its header is written only if it has direct values.
                    inner.set_implicit(true);
                    replace_in_table(table, key, Item::Table(inner));
                }
                _ => self.put_inline(key, InlineTable::new().into()),
            }
        }
        match self {
            Self::Table(table) => TableContainer::from_item(table.get_mut(key)?),
            Self::Inline(table) => match table.get_mut(key)? {
                toml_edit::Value::InlineTable(inner) => Some(TableContainer::Inline(inner)),
                _ => None,
            },
        }
    }

    /// Sets a value at a key, in the form of the existing value.
    fn put(&mut self, key: &str, value: &Value) {
        let inline = self.has_inline_tables();
        match (self, value) {
            (Self::Table(table), Value::Table(new)) if !inline && !has_inline_value(table, key) => {
                let mut new = new_table(new);
                if let Some(Item::Table(old)) = table.get(key) {
                    *new.decor_mut() = old.decor().clone();
                    new.set_position(old.position());
                }
                replace_in_table(table, key, Item::Table(new));
            }
            (container, value) => container.put_inline(key, new_value(value)),
        }
    }

    fn put_inline(&mut self, key: &str, mut value: toml_edit::Value) {
        match self {
            Self::Table(table) => match table.get_mut(key) {
                Some(Item::Value(old)) => {
                    *value.decor_mut() = old.decor().clone();
                    *old = value;
                }
                _ => replace_in_table(table, key, Item::Value(value)),
            },
            Self::Inline(table) => {
                if let Some(old) = table.get_mut(key) {
                    *value.decor_mut() = old.decor().clone();
                    *old = value;
                    return;
                }
                // The space before the closing brace belongs to the last value.
                let last = table.iter_mut().last();
                if let Some(suffix) = last.and_then(|(_, last)| last.decor().suffix().cloned()) {
                    if let Some((_, last)) = table.iter_mut().last() {
                        last.decor_mut().set_suffix("");
                    }
                    value.decor_mut().set_prefix(" ");
                    value.decor_mut().set_suffix(suffix);
                }
                table.insert(key, value);
            }
        }
    }
}

/// Removes a key from an inline table and keeps the space before the closing brace.
fn remove_inline(table: &mut InlineTable, key: &str) {
    let was_last = table.iter().last().is_some_and(|(last, _)| last == key);
    let Some(removed) = table.remove(key) else {
        return;
    };
    if let (true, Some(suffix), Some((_, last))) =
        (was_last, removed.decor().suffix(), table.iter_mut().last())
    {
        last.decor_mut().set_suffix(suffix.clone());
    }
}

/// Whether the existing value at the key is inline, so that the new one is written inline too.
fn has_inline_value(table: &Table, key: &str) -> bool {
    matches!(
        table.get(key),
        Some(Item::Value(toml_edit::Value::InlineTable(_)))
    )
}

/// Sets an item at a key. The old key is removed because its formatting is for another kind of item; a comment above it is
/// kept.
fn replace_in_table(table: &mut Table, key: &str, mut item: Item) {
    let old = table.remove_entry(key);
    if let Some((old_key, Item::Value(_))) = &old
        && let Some(comment) = old_key
            .leaf_decor()
            .prefix()
            .and_then(|prefix| prefix.as_str())
        && let Item::Table(new) = &mut item
        && comment.contains('#')
    {
        new.set_implicit(false);
        new.decor_mut()
            .set_prefix(format!("\n{}", comment.trim_start_matches('\n')));
    }
    table.insert(key, item);
}

/// A table with headers, also for its subtables.
fn new_table(table: &toml::Table) -> Table {
    let mut new = Table::new();
    let holds_values = table.values().any(|value| !value.is_table());
    new.set_implicit(!table.is_empty() && !holds_values);
    for (key, value) in table {
        let item = match value {
            Value::Table(inner) => Item::Table(new_table(inner)),
            value => Item::Value(new_value(value)),
        };
        new.insert(key, item);
    }
    new
}

fn new_value(value: &Value) -> toml_edit::Value {
    match value {
        Value::String(text) => text.as_str().into(),
        Value::Integer(number) => (*number).into(),
        Value::Float(number) => (*number).into(),
        Value::Boolean(flag) => (*flag).into(),
        Value::Datetime(date) => (*date).into(),
        Value::Array(items) => items.iter().map(new_value).collect::<Array>().into(),
        Value::Table(table) => {
            let mut inline = InlineTable::new();
            for (key, value) in table {
                inline.insert(key, new_value(value));
            }
            inline.into()
        }
    }
}
