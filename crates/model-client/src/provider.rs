//! Applies a provider's settings to requests.

use codex_protocol::Provider;

const OPENAI_BASE_URL: &str = "https://api.openai.com/v1";
const CHATGPT_BASE_URL: &str = "https://chatgpt.com/backend-api/codex";

/// Substrings of a host or path that identify an Azure endpoint.
const AZURE_MARKS: [&str; 6] = [
    "openai.azure.",
    "cognitiveservices.azure.",
    "aoai.azure.",
    "azure-api.",
    "azurefd.",
    "windows.net/openai",
];

/// Whether the provider is an Azure endpoint, which stores responses and requires item ids.
pub(crate) fn is_azure(provider: &Provider) -> bool {
    provider.name.eq_ignore_ascii_case("azure")
        || provider.base_url.as_ref().is_some_and(|url| {
            let url = url.to_ascii_lowercase();
            AZURE_MARKS.iter().any(|mark| url.contains(mark))
        })
}

/// The URL of a path, which may depend on the kind of login.
pub(crate) fn url(
    provider: &Provider,
    path: &str,
    chatgpt: bool,
    query: &[(&str, &str)],
) -> String {
    let base = match &provider.base_url {
        Some(url) => url.as_str(),
        None if chatgpt => CHATGPT_BASE_URL,
        None => OPENAI_BASE_URL,
    };
    let mut url = format!("{}/{path}", base.trim_end_matches('/'));
    let configured = provider
        .query_params
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()));
    for (index, (key, value)) in configured.chain(query.iter().copied()).enumerate() {
        url.push(if index == 0 { '?' } else { '&' });
        url.push_str(key);
        url.push('=');
        url.push_str(value);
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    fn provider_at(address: &str) -> Provider {
        Provider::new("Mine", Some(address.to_owned()))
    }

    #[test]
    fn query_parameters_are_appended_as_they_are() {
        let mut provider = provider_at("http://x/v1/");
        assert_eq!(url(&provider, "r", false, &[]), "http://x/v1/r");
        let query = [("a", "1 2"), ("b", "é")];
        provider.query_params = query.map(|(key, value)| (key.into(), value.into())).into();
        let expected = "http://x/v1/models?a=1 2&b=é&c=3";
        assert_eq!(url(&provider, "models", false, &[("c", "3")]), expected);
    }

    #[test]
    fn the_default_address_depends_on_the_login() {
        let hosted = Provider::new("OpenAI", None);
        assert_eq!(url(&hosted, "r", false, &[]), "https://api.openai.com/v1/r");
        assert_eq!(
            url(&hosted, "r", true, &[]),
            "https://chatgpt.com/backend-api/codex/r"
        );
    }

    #[test]
    fn azure_is_known_by_name_and_by_address() {
        assert!(is_azure(&Provider::new("AZURE", None)));
        assert!(is_azure(&provider_at("https://a.openai.AZURE.com/openai")));
        assert!(!is_azure(&provider_at("https://api.openai.com")));
    }
}
