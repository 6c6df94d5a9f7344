//! Web search by the provider: its entry among the tools.

use codex_model_client::{ModelInfo, ToolSpec, WebSearchFilters, WebSearchToolType};
use codex_protocol::{SandboxPolicy, WebSearchMode};
use parking_lot::Mutex;

use super::offer::{ToolOffers, ToolSituation};
use codex_session_base::config::WebSearch;

/// Whether the thread has full access, as far as searches go. That it began without full access is never changed, because any
/// change of the tools makes the provider read the whole conversation anew. Full access is lost once, for good.
#[derive(Debug, Default)]
pub struct SearchAccess(Mutex<Option<bool>>);

impl SearchAccess {
    /// What the turns of a stored thread had.
    pub fn stored(policies: Option<bool>) -> Self {
        Self(Mutex::new(policies))
    }

    /// Takes the policy of a turn into account.
    fn under(&self, policy: &SandboxPolicy) -> bool {
        let mut state = self.0.lock();
        let access = state.get_or_insert(true);
        *access &= *policy == SandboxPolicy::DangerFullAccess;
        *access
    }
}

pub(super) fn offer(situation: &ToolSituation<'_>, offers: &mut ToolOffers) {
    let search = make_spec(
        &situation.options().web_search,
        situation.model,
        situation.policy,
        &situation.services.search_access,
    );
    offers.specs.extend(search);
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
    fn full_access_makes_stored_results_live_where_limits_allow_it() {
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

    #[test]
    fn later_access_opens_no_live_results_and_less_closes_them() {
        let full = SandboxPolicy::DangerFullAccess;
        let less = serde_json::from_str(r#"{"type":"read-only"}"#).unwrap();
        let seen = |policies: &[&SandboxPolicy]| -> Vec<bool> {
            let access = SearchAccess::default();
            policies.iter().map(|policy| access.under(policy)).collect()
        };
        assert_eq!(seen(&[&less, &full, &less]), [false, false, false]);
        assert_eq!(
            seen(&[&full, &full, &less, &full]),
            [true, true, false, false]
        );
    }
}
