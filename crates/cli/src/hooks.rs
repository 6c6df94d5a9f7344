//! Configures hooks: where they are read from, and which of them may run.

use std::sync::Arc;

use codex_config::{Feature, FeatureSet, LayerSource, LayerStack};
use codex_core::SessionConfig;
use codex_hooks::{HookCatalog, HookLayer, HookStates, load};
use codex_protocol::HookSource;

/// All hooks of the layers. Reads files. There are none if the feature is disabled.
pub(crate) fn catalog(stack: &LayerStack, features: FeatureSet) -> HookCatalog {
    if !features.enabled(Feature::Hooks) {
        return HookCatalog::default();
    }
    let layer = |layer: codex_config::HookLayer| HookLayer {
        source: source_of(&layer.source),
        folder: layer.folder,
        settings_file: layer.settings_file,
        table: layer.table,
    };
    let layers: Vec<HookLayer> = stack.hook_layers().into_iter().map(layer).collect();
    load(&layers, &HookStates::parse(&stack.hook_states()))
}

/// Puts the hooks that may run into the configuration of a session. Those that the user has not decided about may run where
/// the user has enabled `codex_hooks`, as in releases without trust.
pub(crate) fn configure(session: &mut SessionConfig, catalog: HookCatalog, features: FeatureSet) {
    let trusts_new = features.enabled(Feature::CodexHooks);
    let hooks = catalog.hooks.into_iter();
    let may_run: Vec<_> = hooks.filter(|hook| hook.may_run(trusts_new)).collect();
    session.hooks = Arc::from(may_run);
    session.hook_warnings = catalog.warnings;
}

fn source_of(source: &LayerSource) -> HookSource {
    match source {
        LayerSource::System { .. }
        | LayerSource::ManagedFile { .. }
        | LayerSource::ManagedPreferences { .. } => HookSource::System,
        LayerSource::User { .. } => HookSource::User,
        LayerSource::Project { .. } => HookSource::Project,
        LayerSource::SessionFlags => HookSource::SessionFlags,
    }
}
