//! Memories for new threads: the summary, and what is made in their background.

use codex_config::{Config, Feature, MemorySettings};

/// The file below the home folder.
const SUMMARY: &str = "memories/memory_summary.md";
/// The limit on the text: about 5,000 tokens.
const LIMIT: u64 = 20_000;

/// The start of the summary, if the feature is on and there is one. Reads a file then.
pub fn summary(config: &Config) -> Option<String> {
    if !config.features.enabled(Feature::Memories) || !config.memories.use_memories {
        return None;
    }
    let start = codex_regular_file::read_start(&config.home.join(SUMMARY), LIMIT).ok()?;
    // The limit may have cut a character.
    let text = String::from_utf8_lossy(&start);
    let text = text.trim_end_matches('\u{fffd}').trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// How memories are made, if they are.
pub fn generation(config: &Config) -> Option<MemorySettings> {
    let is_on = config.features.enabled(Feature::Memories) && config.memories.generate_memories;
    is_on.then(|| config.memories.clone())
}

/// The memory mode for the file of a new thread, where no memories shall be made of it.
pub fn mode(config: &Config) -> Option<String> {
    let is_on = config.features.enabled(Feature::Memories);
    (is_on && !config.memories.generate_memories).then(|| "disabled".to_owned())
}
