//! Decodes merged settings, and says which file an error is in.

use crate::decode::{DecodeError, decode, dotted};
use crate::error::ConfigError;
use crate::locate;
use crate::schema::ConfigFile;
use crate::stack::LayerStack;
use crate::unknown_values::{DecodedSettings, decode_without_unknown};

/// Decodes merged settings, and lists the unknown keys.
pub(crate) fn decode_file(
    stack: &LayerStack,
    merged: &toml::Table,
) -> Result<DecodedSettings, ConfigError> {
    decode_without_unknown(stack, merged).map_err(|error| blame(stack, error))
}

/// Finds the layer that caused an error, and the position in its file.
fn blame(stack: &LayerStack, error: DecodeError) -> ConfigError {
    let mut first = None;
    for layer in stack.enabled() {
        let Err(own) = decode::<ConfigFile>(&layer.effective_table()) else {
            continue;
        };
        let range = layer.text().and_then(|text| locate::find(text, &own.path));
        let (Some(file), Some(range)) = (layer.source.file(), range) else {
            continue;
        };
        let own_path = dotted(&own.path);
        let same = own_path == dotted(&error.path);
        let found = ConfigError::in_file(file, range, own.message, own_path);
        if same {
            return found;
        }
        first.get_or_insert(found);
    }
    first.unwrap_or_else(|| ConfigError::in_table(error.message, dotted(&error.path)))
}
