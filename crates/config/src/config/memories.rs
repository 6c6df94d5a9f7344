//! Settings of memories.

use crate::schema::{ConfigFile, MemoriesFile};

/// Settings of memories. They count where the feature is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemorySettings {
    /// Whether the summary of memories is part of the context.
    pub use_memories: bool,
    /// Whether memories are made.
    pub generate_memories: bool,
    /// Whether none are made of threads with calls of MCP tools or web searches.
    pub no_memories_if_mcp_or_web_search: bool,
    /// The number of threads whose notes are kept in the files.
    pub max_raw_memories_for_consolidation: u32,
    /// After how many days without use the notes of a thread are left out.
    pub max_unused_days: u32,
    /// Threads that were changed more days ago are left alone.
    pub max_rollout_age_days: u32,
    /// The number of threads that notes are taken of when a thread starts.
    pub max_rollouts_per_startup: u32,
    /// Threads that were changed fewer hours ago are left alone.
    pub min_rollout_idle_hours: u32,
    /// How much of each limit of the account must be left for making memories, in percent.
    pub min_rate_limit_remaining_percent: u32,
    /// The model that takes notes, if it is not that of the thread.
    pub extract_model: Option<String>,
    /// The model of the consolidating agent, if it is not that of the thread.
    pub consolidation_model: Option<String>,
}

impl Default for MemorySettings {
    fn default() -> Self {
        Self::resolve(&MemoriesFile::default())
    }
}

impl MemorySettings {
    pub(super) fn from_file(file: &ConfigFile) -> Self {
        file.memories
            .as_ref()
            .map(Self::resolve)
            .unwrap_or_default()
    }

    /// Numbers out of range become the nearest allowed ones.
    fn resolve(file: &MemoriesFile) -> Self {
        let number = |value: Option<i64>, default, least, most| {
            let value = value.map(|value| u32::try_from(value.max(0)).unwrap_or(u32::MAX));
            value.unwrap_or(default).clamp(least, most)
        };
        Self {
            use_memories: file.use_memories.unwrap_or(true),
            generate_memories: file.generate_memories.unwrap_or(true),
            no_memories_if_mcp_or_web_search: (file.no_memories_if_mcp_or_web_search)
                .unwrap_or_default(),
            max_raw_memories_for_consolidation: number(
                file.max_raw_memories_for_consolidation,
                256,
                1,
                4096,
            ),
            max_unused_days: number(file.max_unused_days, 30, 0, 365),
            max_rollout_age_days: number(file.max_rollout_age_days, 30, 0, 90),
            max_rollouts_per_startup: number(file.max_rollouts_per_startup, 16, 1, 128),
            min_rollout_idle_hours: number(file.min_rollout_idle_hours, 6, 1, 48),
            min_rate_limit_remaining_percent: number(
                file.min_rate_limit_remaining_percent,
                25,
                0,
                100,
            ),
            extract_model: file.extract_model.clone(),
            consolidation_model: file.consolidation_model.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_out_of_range_become_the_nearest_allowed_ones() {
        let file = MemoriesFile {
            min_rollout_idle_hours: Some(0),
            max_rollout_age_days: Some(1000),
            max_unused_days: Some(-1),
            max_raw_memories_for_consolidation: Some(i64::MAX),
            ..MemoriesFile::default()
        };
        let settings = MemorySettings::resolve(&file);
        assert_eq!(settings.min_rollout_idle_hours, 1);
        assert_eq!(settings.max_rollout_age_days, 90);
        assert_eq!(settings.max_unused_days, 0);
        assert_eq!(settings.max_raw_memories_for_consolidation, 4096);
        assert_eq!(settings.max_rollouts_per_startup, 16);
        assert!(settings.use_memories && settings.generate_memories);
    }
}
