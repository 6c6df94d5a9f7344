//! Web search by the provider: its entry among the tools.

use codex_model_client::{ModelInfo, ToolSpec, WebSearchFilters, WebSearchToolType};
use codex_protocol::{SandboxPolicy, WebSearchMode};
use codex_session_base::config::WebSearch;

use super::offer::{ToolSetBuilder, ToolSituation};
use super::search_access::SearchAccess;

pub(super) fn offer(situation: &ToolSituation<'_>, builder: &mut ToolSetBuilder) {
    let search = make_spec(
        &situation.options().web_search,
        situation.model,
        situation.policy,
        &situation.services.search_access,
    );
    builder.specs.extend(search);
}

/// The tool for turns with this policy; none if the model may not search.
fn make_spec(
    search: &WebSearch,
    model: &ModelInfo,
    policy: &SandboxPolicy,
    access: &SearchAccess,
) -> Option<ToolSpec> {
    let has_full_access = access.under(policy);
    let is_live = match search.mode {
        WebSearchMode::Disabled => return None,
        WebSearchMode::Live => true,
        WebSearchMode::Cached => search.live_with_full_access && has_full_access,
    };
    let options = search.options.clone();
    let (size, domains, location) = options.map_or((None, None, None), |options| {
        (
            options.context_size,
            options.allowed_domains,
            options.location,
        )
    });
    Some(ToolSpec::WebSearch {
        external_web_access: Some(is_live),
        filters: domains.map(|domains| WebSearchFilters {
            allowed_domains: Some(domains),
        }),
        user_location: location,
        search_context_size: size,
        search_content_types: (model.web_search_tool_type == WebSearchToolType::TextAndImage)
            .then(|| vec!["text".to_owned(), "image".to_owned()]),
    })
}

#[cfg(test)]
mod tests {
    use codex_model_client::ModelCatalog;

    use super::*;

    #[test]
    fn full_access_permits_live_results_within_limits() {
        let live = |mode, live_with_full_access| {
            let search = WebSearch {
                mode,
                live_with_full_access,
                options: None,
            };
            let model = ModelCatalog::bundled().resolve("m").info;
            let access = SearchAccess::default();
            match make_spec(&search, &model, &SandboxPolicy::DangerFullAccess, &access)? {
                ToolSpec::WebSearch {
                    external_web_access,
                    ..
                } => external_web_access,
                _ => None,
            }
        };
        assert_eq!(live(WebSearchMode::Cached, true), Some(true));
        assert_eq!(live(WebSearchMode::Cached, false), Some(false));
        assert_eq!(live(WebSearchMode::Live, false), Some(true));
        assert_eq!(live(WebSearchMode::Disabled, true), None);
    }
}
