//! Edits the user's settings file: all edits or none, validated before anything is written.
//!
//! Unedited text is kept byte for byte. The file is locked against other edits by this program and compared again just
//! before it is replaced, so that no change of another program is lost.

mod change;
mod check;
mod document;
mod error;
mod overridden;
mod request;
mod store;

use std::path::PathBuf;

use toml::{Table, Value};

pub use change::{ConfigEdit, MergeStrategy, SettingChange};
pub use error::{EditError, EditErrorKind};
pub use overridden::Overridden;
pub use request::EditRequest;

use crate::layer::version_of;
use crate::nesting::parse_table;
use crate::stack::{LayerStack, user_layer_of};

/// The result of an edit.
#[derive(Clone, Debug, PartialEq)]
pub struct EditOutcome {
    pub file: PathBuf,
    /// The new version of the user's layer.
    pub version: String,
    /// The first setting that another layer overrides.
    pub overridden: Option<Overridden>,
}

/// Edits the user's settings file.
pub fn edit_user_config(request: EditRequest<'_>) -> Result<EditOutcome, EditError> {
    let env = request.env;
    let file = env.user_config_file();
    if request
        .file
        .is_some_and(|asked| !store::same_file(asked, &file))
    {
        return Err(EditError::Readonly);
    }
    let target = store::LockedFile::lock(&file)?;
    let stack = LayerStack::load(env, None, request.flags)?;
    let old_text = target.read()?;
    let old = user_layer_of(env, old_text.clone())?;
    if request
        .expected_version
        .is_some_and(|expected| expected != old.version)
    {
        return Err(EditError::VersionConflict);
    }
    let new_text = edit_text(&old_text, request.edits)?;
    let new = user_layer_of(env, new_text.clone())?;
    let version = new.version.clone();
    let old_stack = stack.with_user(old);
    let new_stack = old_stack.with_user(new);
    check::check(&old_stack, &new_stack, request)?;
    if new_text != old_text {
        target.replace(&old_text, &new_text)?;
    }
    Ok(EditOutcome {
        file,
        version,
        overridden: overridden::first(&new_stack, request.edits),
    })
}

/// Applies edits to the text of a settings file. Unedited text is kept byte for byte.
pub fn edit_text(text: &str, edits: &[ConfigEdit]) -> Result<String, EditError> {
    let syntax = |error: toml::de::Error| EditError::Invalid(error.to_string());
    let mut table = parse_table(text).map_err(syntax)?;
    let before = version_of(&table);
    let mut document = document::SettingsDocument::parse(text)?;
    for edit in edits {
        edit.apply_to_table(&mut table)?;
        document.apply(edit);
    }
    if version_of(&table) == before {
        return Ok(text.to_owned());
    }
    let result = document.finish();
    // Both ways of applying the edits must agree; otherwise nothing is written.
    let mut written = parse_table(&result).map_err(syntax)?;
    prune(&mut written);
    prune(&mut table);
    if version_of(&written) != version_of(&table) {
        let message = "the file cannot be edited without changing other settings";
        return Err(EditError::Invalid(message.to_owned()));
    }
    Ok(result)
}

/// Removes empty tables before the comparison: they have no meaning, and removing a table's last key may remove it too.
fn prune(table: &mut Table) {
    table.retain(|_, value| match value {
        Value::Table(inner) => {
            prune(inner);
            !inner.is_empty()
        }
        _ => true,
    });
}

#[cfg(test)]
mod tests;
