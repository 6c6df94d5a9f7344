//! Configures hooks: where they are read from, and which of them may run.

use std::path::Path;
use std::sync::Arc;

use codex_config::{Feature, FeatureSet, LayerSource, LayerStack};
use codex_core::{HookDecisionSource as _, SessionConfig, SessionHooks};
use codex_hooks::{
    HookCatalog, HookDecisions, HookLayer, HookPlace, HookPlugin, HookStates, HookTrust,
    PluginHooks, load,
};
use codex_plugins::InstalledPlugin;
use codex_protocol::HookSource;

use crate::hook_decisions::LiveHookDecisions;

/// All hooks of the layers and of enabled plugins. Reads files.
pub(crate) fn catalog(
    stack: &LayerStack,
    plugins: &[InstalledPlugin],
    home: &Path,
    place: &HookPlace<'_>,
) -> HookCatalog {
    let layer = |layer: codex_config::HookLayer| HookLayer {
        source: source_of(&layer.source),
        folder: layer.folder,
        settings_file: layer.settings_file,
        table: layer.table,
    };
    let layers: Vec<HookLayer> = stack.hook_layers().into_iter().map(layer).collect();
    let plugins = plugins.iter().filter_map(|plugin| of_plugin(plugin, home));
    let states = HookStates::parse(&stack.hook_states());
    load(&layers, plugins.collect(), &states, place)
}

/// The hooks of a plugin, if it has any.
fn of_plugin(plugin: &InstalledPlugin, home: &Path) -> Option<PluginHooks> {
    let hooks = plugin.hooks.clone()?;
    let data = home
        .join("plugins")
        .join("data")
        .join(plugin.id.to_string());
    Some(PluginHooks {
        plugin: HookPlugin {
            id: plugin.id.to_string(),
            root: hooks.root,
            data,
        },
        files: hooks.files,
        tables: hooks.tables,
        manifest: hooks.manifest,
        content_hash: hooks.content_hash,
    })
}

/// What the user decides about hooks. Those that the user has not decided about may run where the user has enabled
/// `codex_hooks`, as in releases without trust.
pub(crate) fn decisions(
    stack: &LayerStack,
    plugins: &[InstalledPlugin],
    features: FeatureSet,
) -> HookDecisions {
    HookDecisions {
        are_on: features.enabled(Feature::Hooks),
        trusts_new: features.enabled(Feature::CodexHooks),
        plugins: plugins.iter().map(|plugin| plugin.id.to_string()).collect(),
        states: HookStates::parse(&stack.hook_states()),
        defined: None,
    }
}

/// Puts the hooks into the configuration of a session.
pub(crate) fn configure(
    session: &mut SessionConfig,
    catalog: HookCatalog,
    decisions: LiveHookDecisions,
) {
    let (may_run, others): (Vec<_>, Vec<_>) = {
        let current = decisions.current();
        catalog.hooks.iter().partition(|hook| current.allow(hook))
    };
    let files = may_run.iter().flat_map(|hook| hook.files.paths.iter());
    session
        .services
        .engine_files
        .program_files
        .add(files.cloned());
    let modified = others
        .iter()
        .filter(|hook| hook.enabled && hook.trust == HookTrust::Modified && hook.files.are_known());
    let warnings = modified.map(|hook| {
        format!(
            "The hook {} has changed since it was trusted and does not run; look at it and trust it again.",
            hook.key
        )
    });
    let modified: Vec<_> = warnings.collect();
    // Hooks of plugins expect their folder for data.
    let folders = catalog.hooks.iter().filter_map(|hook| hook.plugin.as_ref());
    for plugin in folders {
        if let Err(error) = codex_private_files::create_dir_all(&plugin.data) {
            tracing::warn!(plugin = plugin.id, %error, "hooks have no folder for data");
        }
    }
    if decisions.current().are_on {
        session.options.hook_warnings = catalog.warnings;
        session.options.hook_warnings.extend(modified);
    }
    session.services.hooks = SessionHooks::new(catalog.hooks, Arc::new(decisions));
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
