//! Data about models: the built-in catalogue, merged with the list of a server.
//!
//! The instructions of built-in models are in the engine, not here. [`ModelStore`] fetches the server's list and caches it
//! in a file.

mod bundled;
mod cache;
mod listed;
mod model_info;
mod prices;
mod store;
mod todays_models;

pub use cache::ModelsCache;
pub(crate) use listed::ListedModel;
pub use model_info::{
    AgentsVersion, ApplyPatchToolType, AvailabilityNux, InstructionsVariables, ModelInfo,
    ModelMessages, ModelUpgrade, OfferedTier, ReasoningLevel, ShellType, ToolMode, TruncationMode,
    TruncationPolicy, Visibility, WebSearchToolType,
};
pub use prices::ModelPrices;
pub use store::{AvailableModels, ModelStore};

use std::sync::{Arc, LazyLock};

use serde::Deserialize;
use serde_json::Value;

/// A catalogue of models. Copies share the models until one of them changes.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelCatalog {
    models: Arc<Vec<ModelInfo>>,
}

/// The result of a look-up by name.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedModel {
    /// The data, with the requested name.
    pub info: Arc<ModelInfo>,
    pub source: FactsSource,
}

/// Where the facts about a model come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FactsSource {
    /// The catalogue has them.
    Catalog,
    /// The model is not in the catalogue; these are the facts of this one, of the same family.
    Family(String),
    /// The model is unknown, and the facts are conservative defaults.
    Assumed,
}

impl Default for ModelCatalog {
    fn default() -> Self {
        Self::bundled()
    }
}

impl ModelCatalog {
    /// The built-in catalogue.
    pub fn bundled() -> Self {
        static BUNDLED: LazyLock<ModelCatalog> =
            LazyLock::new(|| ModelCatalog::new(bundled::models()));
        BUNDLED.clone()
    }

    /// A catalogue without the built-in models.
    pub fn new(models: Vec<ModelInfo>) -> Self {
        Self {
            models: Arc::new(models),
        }
    }

    pub fn models(&self) -> &[ModelInfo] {
        &self.models
    }

    /// Merges a server's list: an entry replaces the one with the same name, or is added.
    pub fn merge(&mut self, models: impl IntoIterator<Item = ModelInfo>) {
        for model in models {
            let all = Arc::make_mut(&mut self.models);
            match all.iter_mut().find(|known| known.slug == model.slug) {
                Some(known) => *known = model,
                None => all.push(model),
            }
        }
    }

    /// Adds the models whose names it does not have.
    pub fn add(&mut self, models: impl IntoIterator<Item = ModelInfo>) {
        for model in models {
            if self.models.iter().all(|known| known.slug != model.slug) {
                Arc::make_mut(&mut self.models).push(model);
            }
        }
    }

    /// Looks up a model.
    ///
    /// Uses the entry with the longest name that is a prefix of the requested one; for `<namespace>/<name>` also tries the
    /// plain name, and then a model of the same family; otherwise returns a fallback.
    pub fn resolve(&self, name: &str) -> ResolvedModel {
        let plain = without_namespace(name);
        let own = self
            .longest_prefix(name)
            .or_else(|| self.longest_prefix(plain?));
        let (found, source) = match own {
            Some(known) => (Some(known), FactsSource::Catalog),
            None => match self.of_family(plain.unwrap_or(name)) {
                Some(relative) => (Some(relative), FactsSource::Family(relative.slug.clone())),
                None => (None, FactsSource::Assumed),
            },
        };
        ResolvedModel {
            source,
            info: Arc::new(match found {
                Some(known) => ModelInfo {
                    slug: name.to_owned(),
                    ..known.clone()
                },
                None => bundled::fallback(name),
            }),
        }
    }

    /// The selectable models, best first. Some require a ChatGPT login.
    pub fn presets(&self, chatgpt: bool) -> Vec<&ModelInfo> {
        let offered = |model: &&ModelInfo| chatgpt || model.supported_in_api;
        let mut presets: Vec<_> = self.models.iter().filter(offered).collect();
        presets.sort_by_key(|model| model.priority);
        presets
    }

    /// The default model.
    pub fn default_model(&self, chatgpt: bool) -> Option<&ModelInfo> {
        let presets = self.presets(chatgpt);
        let listed = |model: &&&ModelInfo| model.visibility == Visibility::List;
        presets.iter().find(listed).or(presets.first()).copied()
    }

    fn longest_prefix(&self, name: &str) -> Option<&ModelInfo> {
        let begins = |model: &&ModelInfo| {
            let rest = name.strip_prefix(model.slug.as_str());
            rest.is_some_and(|rest| !goes_on_with_version(rest))
        };
        self.models
            .iter()
            .filter(begins)
            .max_by_key(|model| model.slug.len())
    }

    /// The best model of the same generation: one of the same kind if there is any.
    fn of_family(&self, name: &str) -> Option<&ModelInfo> {
        let (generation, kind) = generation_and_kind(name)?;
        let relatives = self.models.iter().filter(|model| {
            let own = generation_and_kind(&model.slug);
            own.is_some_and(|(own, _)| own == generation)
        });
        relatives.min_by_key(|model| {
            let own = generation_and_kind(&model.slug);
            let is_same_kind = own.is_some_and(|(_, own)| own == kind);
            (!is_same_kind, model.priority)
        })
    }
}

/// Parses an entry of a list. Skips entries in an unknown format.
pub(crate) fn readable(entry: Value) -> Option<ModelInfo> {
    ModelInfo::deserialize(&entry)
        .inspect_err(|error| tracing::warn!(%error, "skipping a model that cannot be read"))
        .ok()
}

/// Whether a name with this rest is of another version: `gpt-5.7` is no `gpt-5`.
fn goes_on_with_version(rest: &str) -> bool {
    let rest = rest.strip_prefix('.').unwrap_or(rest);
    rest.starts_with(|first: char| first.is_ascii_digit())
}

/// `gpt-6` and `sol` of `gpt-6.2-sol`.
fn generation_and_kind(name: &str) -> Option<(&str, &str)> {
    const PREFIX: &str = "gpt-";
    let version = name.strip_prefix(PREFIX)?;
    let digits = version.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return None;
    }
    let generation = &name[..PREFIX.len() + digits];
    let rest = &version[digits..];
    let minor = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    let kind = &rest[rest.bytes().take_while(|byte| minor(byte)).count()..];
    Some((generation, kind.strip_prefix('-').unwrap_or(kind)))
}

fn without_namespace(name: &str) -> Option<&str> {
    let (namespace, name) = name.split_once('/')?;
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_namespace = !namespace.is_empty() && namespace.bytes().all(word);
    (is_namespace && !name.contains('/')).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str) -> Option<String> {
        let resolved = ModelCatalog::bundled().resolve(name);
        assert_eq!(resolved.info.slug, name);
        (resolved.source == FactsSource::Catalog).then(|| resolved.info.display_name.clone())
    }

    #[test]
    fn the_longest_name_that_begins_the_asked_one_counts() {
        let check = |name, expected: Option<&str>| assert_eq!(found(name).as_deref(), expected);
        check("gpt-5.1-codex-mini", Some("gpt-5.1-codex-mini"));
        check("gpt-5.1-codex-2026", Some("gpt-5.1-codex"));
        check("gpt-5.1-2026", Some("gpt-5.1"));
        check("gpt-5-pro", Some("gpt-5"));
        check("openai/gpt-5.2", Some("gpt-5.2"));
        check("a/b/gpt-5.2", None);
        check("my-org/gpt-5.2", None);
        check("/gpt-5.2", None);
        check("gpt-5.5", Some("GPT-5.5"));
        check("gpt-5.50", None);
        check("mock-model", None);
        check("", None);
    }

    #[test]
    fn unlisted_version_has_facts_of_its_family() {
        let check = |name, expected: Option<&str>| {
            let resolved = ModelCatalog::bundled().resolve(name);
            assert_eq!(resolved.info.slug, name);
            let expected = expected.map_or(FactsSource::Assumed, |slug| {
                FactsSource::Family(slug.to_owned())
            });
            assert_eq!(resolved.source, expected, "{name}");
        };
        check("gpt-6.3-sol", Some("gpt-6.2-sol"));
        check("gpt-6.3-astra", Some("gpt-6.2-astra"));
        check("gpt-6.3", Some("gpt-6.2-sol"));
        check("openai/gpt-6.9-new-kind", Some("gpt-6.2-sol"));
        check("gpt-5.7-luna", Some("gpt-5.6-luna"));
        check("gpt-5.7-codex-mini", Some("gpt-5.1-codex-mini"));
        check("gpt-7-sol", None);
        check("gpt-oss-9", None);
        check("qwen3-coder", None);
        check("gpt-", None);
    }

    #[test]
    fn the_fallback_is_careful() {
        let info = ModelCatalog::bundled().resolve("mock-model").info;
        assert_eq!((info.priority, info.visibility), (99, Visibility::None));
        assert_eq!(info.context_window, Some(272_000));
        assert_eq!(info.truncation_policy, TruncationPolicy::bytes(10_000));
        assert_eq!(info.reasoning(None, None), None);
        assert!(!info.supports_parallel_tool_calls && !info.support_verbosity);
    }

    #[test]
    fn entries_of_a_server_replace_and_add() {
        let mut catalog = ModelCatalog::bundled();
        let before = catalog.models().len();
        let mut known = ModelInfo::clone(&catalog.resolve("gpt-5.2").info);
        known.context_window = Some(1);
        let new = ModelInfo {
            slug: "gpt-9".to_owned(),
            supported_in_api: false,
            priority: -1,
            ..known.clone()
        };
        catalog.merge([known, new]);
        assert_eq!(catalog.models().len(), before + 1);
        assert_eq!(catalog.resolve("gpt-5.2").info.context_window, Some(1));
        let default = |chatgpt| {
            catalog
                .default_model(chatgpt)
                .map(|model| model.slug.as_str())
        };
        assert_eq!(default(true), Some("gpt-9"));
        assert_eq!(default(false), Some("gpt-6.2-sol"));
    }

    #[test]
    fn presets_are_in_order_of_priority() {
        let catalog = ModelCatalog::bundled();
        let presets = catalog.presets(false);
        assert!(presets.is_sorted_by_key(|model| model.priority));
        assert_eq!(presets.len(), 27);
        assert_eq!(presets[1].slug, "gpt-6.2-astra");
    }

    #[test]
    fn an_empty_list_has_no_default() {
        let catalog = ModelCatalog::new(Vec::new());
        assert_eq!(catalog.default_model(true), None);
    }
}
