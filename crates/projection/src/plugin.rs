//! Plugins, marketplaces and apps as clients see them.

use std::path::Path;

use codex_app_server_protocol::v2;
use codex_apps::App;
use codex_plugins::{
    AuthPolicy, InstallPolicy, Marketplace, MarketplacePlugin, Plugin, PluginInterface,
    PluginSource,
};
use codex_protocol::AbsolutePathBuf;

/// The state of a plugin on this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct PluginState {
    /// Whether it is configured and there.
    pub installed: bool,
    /// Whether the configuration enables it.
    pub enabled: bool,
}

pub fn wire_marketplace(
    marketplace: &Marketplace,
    plugins: Vec<v2::PluginSummary>,
) -> v2::PluginMarketplaceEntry {
    let display_name = marketplace.display_name.clone();
    v2::PluginMarketplaceEntry {
        name: marketplace.name.clone(),
        path: wire_path(&marketplace.path),
        interface: marketplace
            .has_interface
            .then_some(v2::MarketplaceInterface { display_name }),
        plugins,
    }
}

pub fn wire_plugin(
    id: String,
    plugin: &MarketplacePlugin,
    read: Option<&Plugin>,
    state: PluginState,
) -> v2::PluginSummary {
    let (mut interface, version, keywords) = match read {
        Some(Plugin { manifest, .. }) => {
            let interface = manifest.interface.clone().map(wire_interface);
            (
                interface,
                manifest.version.clone(),
                manifest.keywords.clone(),
            )
        }
        None => (None, None, Vec::new()),
    };
    if let Some(category) = &plugin.category {
        let interface = interface.get_or_insert_with(|| wire_interface(PluginInterface::default()));
        interface.category = Some(category.clone());
    }
    v2::PluginSummary {
        id,
        name: plugin.name.clone(),
        source: wire_source(&plugin.source),
        installed: state.installed,
        enabled: state.enabled,
        install_policy: match plugin.install_policy {
            InstallPolicy::NotAvailable => v2::PluginInstallPolicy::NotAvailable,
            InstallPolicy::Available => v2::PluginInstallPolicy::Available,
            InstallPolicy::InstalledByDefault => v2::PluginInstallPolicy::InstalledByDefault,
        },
        auth_policy: wire_auth_policy(plugin.auth_policy),
        interface,
        local_version: version,
        availability: Some(v2::PluginAvailability::Available),
        keywords,
    }
}

fn wire_source(source: &PluginSource) -> v2::PluginSource {
    match source {
        PluginSource::Folder(folder) => v2::PluginSource::Local {
            path: wire_path(folder),
        },
        PluginSource::Repository(repository) => v2::PluginSource::Git {
            url: repository.url.clone(),
            path: repository.path.clone(),
            ref_name: repository.reference.clone(),
            sha: repository.commit.clone(),
        },
    }
}

pub fn wire_auth_policy(policy: AuthPolicy) -> v2::PluginAuthPolicy {
    match policy {
        AuthPolicy::OnInstall => v2::PluginAuthPolicy::OnInstall,
        AuthPolicy::OnUse => v2::PluginAuthPolicy::OnUse,
    }
}

fn wire_interface(interface: PluginInterface) -> v2::PluginInterface {
    let image = |path: std::path::PathBuf| wire_path(&path);
    v2::PluginInterface {
        display_name: interface.display_name,
        short_description: interface.short_description,
        long_description: interface.long_description,
        developer_name: interface.developer_name,
        category: interface.category,
        capabilities: interface.capabilities,
        website_url: interface.website_url,
        privacy_policy_url: interface.privacy_policy_url,
        terms_of_service_url: interface.terms_of_service_url,
        default_prompt: interface.default_prompt,
        brand_color: interface.brand_color,
        composer_icon: interface.composer_icon.map(image),
        logo: interface.logo.map(image),
        logo_dark: interface.logo_dark.map(image),
        screenshots: interface.screenshots.into_iter().map(image).collect(),
        screenshot_urls: Some(Vec::new()),
    }
}

/// An app as the details of a plugin name it.
pub fn wire_app_summary(app: App) -> v2::AppSummary {
    v2::AppSummary {
        id: app.id,
        name: app.name,
        description: app.description,
        install_url: app.install_url,
        needs_auth: !app.is_accessible,
    }
}

/// An app in lists. What the directory says in another form than expected is left out.
pub fn wire_app(app: App, is_enabled: bool, plugin_display_names: Vec<String>) -> v2::AppInfo {
    v2::AppInfo {
        id: app.id,
        name: app.name,
        description: app.description,
        logo_url: app.logo_url,
        logo_url_dark: app.logo_url_dark,
        distribution_channel: app.distribution_channel,
        branding: serde_json::from_value(app.branding).unwrap_or_default(),
        app_metadata: serde_json::from_value(app.app_metadata).unwrap_or_default(),
        labels: app.labels,
        install_url: app.install_url,
        is_accessible: app.is_accessible,
        is_enabled,
        plugin_display_names,
    }
}

pub fn wire_path(path: &Path) -> AbsolutePathBuf {
    AbsolutePathBuf(path.display().to_string())
}
