//! Collects requirements from all sources.

use std::collections::BTreeMap;

use codex_protocol::AskForApproval;
use toml::Table;

use super::error::RequirementsError;
use super::file::{RequirementsFile, SandboxModeRequirement};
use super::in_force::{RequirementSource, Requirements, Sourced};
use crate::decode::{decode, dotted};
use crate::environment::Environment;
use crate::features::Feature;
use crate::nesting::parse_table;
use crate::read::read_bounded;
use crate::schema::SandboxMode;
use crate::source::LayerSource;

/// The name of the requirements file in the system folder.
const REQUIREMENTS_FILE: &str = "requirements.toml";

/// Collects the requirements of all sources, highest precedence first. `managed` are layers in the older form, with their sources.
pub(crate) fn load(
    env: &Environment,
    managed: &[(&LayerSource, &Table)],
) -> Result<Requirements, RequirementsError> {
    let mut requirements = Requirements::default();
    if let Some(text) = &env.account_requirements {
        add(&mut requirements, text, RequirementSource::Account)?;
    }
    if let Some(preferences) = &env.managed_preferences
        && let Some(text) = &preferences.requirements
    {
        let source = RequirementSource::Preferences {
            domain: preferences.domain.clone(),
            key: preferences.requirements_key.clone(),
        };
        add(&mut requirements, text, source)?;
    }
    if let Some(folder) = &env.system_folder {
        let path = folder.join(REQUIREMENTS_FILE);
        match read_bounded(&path) {
            Ok(Some(text)) => add(&mut requirements, &text, RequirementSource::File(path))?,
            Ok(None) => {}
            Err(source) => return Err(RequirementsError::Read { path, source }),
        }
    }
    for (source, table) in managed.iter().rev() {
        add_legacy(&mut requirements, source, table)?;
    }
    Ok(requirements)
}

/// Adds the requirements of one text, except those that a source with higher precedence has.
fn add(
    all: &mut Requirements,
    text: &str,
    source: RequirementSource,
) -> Result<(), RequirementsError> {
    let parse_error = |message: String| RequirementsError::Parse {
        origin: source.clone(),
        message,
    };
    let table =
        parse_table(text).map_err(|error| parse_error(error.to_string().trim_end().to_owned()))?;
    let file: RequirementsFile = decode(&table).map_err(|error| {
        let place = dotted(&error.path).map_or(String::new(), |path| format!("\nin `{path}`"));
        parse_error(format!("{}{place}", error.message))
    })?;
    add_policies(all, &file, &source)?;
    add_features(all, file.features, &source)?;
    if let Some(rules) = file.rules {
        let rules = rules
            .into_rules()
            .map_err(|reason| RequirementsError::Rules {
                origin: source.clone(),
                reason,
            })?;
        fill(&mut all.rules, Some(rules), &source);
    }
    for (id, app) in file.apps.unwrap_or_default() {
        if app.enabled == Some(false) {
            all.disabled_apps
                .entry(id)
                .or_insert_with(|| source.clone());
        }
    }
    let servers = file.mcp_servers.map(|servers| {
        let identities = servers
            .into_iter()
            .map(|(name, server)| (name, server.identity));
        identities.collect::<BTreeMap<_, _>>()
    });
    fill(&mut all.mcp_servers, servers, &source);
    fill(&mut all.residency, file.enforce_residency, &source);
    let network = file.experimental_network;
    if let Some(network) = network.as_ref().filter(|network| network.limits_hosts()) {
        all.network_limit.get_or_insert_with(|| source.clone());
        all.network_limits.push(Sourced {
            value: network.clone(),
            source: source.clone(),
        });
    }
    fill(&mut all.network, network, &source);
    all.secrets.extend(file.secrets.map(|value| Sourced {
        value,
        source: source.clone(),
    }));
    let instructions = file.guardian_developer_instructions;
    let instructions = instructions.filter(|text| !text.trim().is_empty());
    fill(&mut all.guardian_instructions, instructions, &source);
    Ok(())
}

fn add_policies(
    all: &mut Requirements,
    file: &RequirementsFile,
    source: &RequirementSource,
) -> Result<(), RequirementsError> {
    let policies = file.allowed_approval_policies.clone();
    if policies.as_ref().is_some_and(Vec::is_empty) {
        return Err(RequirementsError::Empty {
            field: "allowed_approval_policies",
            origin: source.clone(),
        });
    }
    let modes = file.allowed_sandbox_modes.clone();
    if modes
        .as_ref()
        .is_some_and(|modes| !modes.contains(&SandboxModeRequirement::ReadOnly))
    {
        return Err(RequirementsError::ReadOnlyMissing(source.clone()));
    }
    fill(&mut all.approval_policies, policies, source);
    fill(&mut all.sandbox_modes, modes, source);
    fill(
        &mut all.web_search_modes,
        file.allowed_web_search_modes.clone(),
        source,
    );
    Ok(())
}

fn add_features(
    all: &mut Requirements,
    pins: Option<BTreeMap<String, bool>>,
    source: &RequirementSource,
) -> Result<(), RequirementsError> {
    let Some(pins) = pins else { return Ok(()) };
    let pins = pins
        .into_iter()
        .map(|(key, enabled)| match Feature::from_key(&key) {
            Some(feature) => Ok((feature, enabled)),
            None => Err(RequirementsError::Feature {
                canonical: Feature::parse(&key).map(Feature::key),
                key,
                origin: source.clone(),
            }),
        });
    fill(
        &mut all.features,
        Some(pins.collect::<Result<_, _>>()?),
        source,
    );
    Ok(())
}

/// Adds managed settings in the older form, which are requirements too.
fn add_legacy(
    all: &mut Requirements,
    source: &LayerSource,
    table: &Table,
) -> Result<(), RequirementsError> {
    let source = match source {
        LayerSource::ManagedFile { file } => RequirementSource::File(file.clone()),
        _ => RequirementSource::LegacyPreferences,
    };
    #[derive(serde::Deserialize)]
    struct Managed {
        approval_policy: Option<AskForApproval>,
        sandbox_mode: Option<SandboxMode>,
    }
    let managed: Managed = decode(table).map_err(|error| RequirementsError::Parse {
        origin: source.clone(),
        message: error.message,
    })?;
    let policies = managed.approval_policy.map(|policy| vec![policy]);
    fill(&mut all.approval_policies, policies, &source);
    let modes = managed.sandbox_mode.map(|mode| match mode {
        SandboxMode::ReadOnly => vec![SandboxModeRequirement::ReadOnly],
        mode => vec![SandboxModeRequirement::ReadOnly, mode.into()],
    });
    fill(&mut all.sandbox_modes, modes, &source);
    Ok(())
}

fn fill<T>(slot: &mut Option<Sourced<T>>, value: Option<T>, source: &RequirementSource) {
    if slot.is_none() {
        *slot = value.map(|value| Sourced {
            value,
            source: source.clone(),
        });
    }
}

#[cfg(test)]
impl Requirements {
    pub(crate) fn for_tests(text: &str) -> Self {
        let mut requirements = Self::default();
        let source = RequirementSource::File(std::path::PathBuf::from("test"));
        add(&mut requirements, text, source).unwrap();
        requirements
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn error(text: &str) -> String {
        let source = RequirementSource::File(PathBuf::from("/r.toml"));
        add(&mut Requirements::default(), text, source)
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn bad_limits_are_errors() {
        let table = [
            (
                "allowed_approval_policies = []",
                "field `allowed_approval_policies` cannot be empty (set by /r.toml)",
            ),
            (
                "allowed_sandbox_modes = ['workspace-write']",
                "`allowed_sandbox_modes` must include `read-only` (set by /r.toml)",
            ),
            (
                "features.collab = true",
                "invalid `features` requirement `collab` from /r.toml: use canonical feature key `multi_agent`",
            ),
            (
                "features.nope = true",
                "invalid `features` requirement `nope` from /r.toml",
            ),
            (
                "rules.prefix_rules = []",
                "invalid rules in requirements (set by /r.toml): prefix_rules cannot be empty",
            ),
            (
                "rules.prefix_rules = [{ pattern = [{ token = 'rm' }], decision = 'allow' }]",
                "invalid rules in requirements (set by /r.toml): rule 0: decision `allow` is not permitted in requirements",
            ),
            (
                "rules.prefix_rules = [{ pattern = [{ any_of = [] }], decision = 'prompt' }]",
                "invalid rules in requirements (set by /r.toml): rule 0: pattern words cannot be empty",
            ),
            (
                "allowed_web_search_modes = 'live'",
                "Error parsing requirements file /r.toml: invalid type: string \"live\", expected a sequence\nin `allowed_web_search_modes`",
            ),
        ];
        for (text, expected) in table {
            assert_eq!(error(text), expected, "{text}");
        }
        assert!(error("a = = 1").starts_with("Error parsing requirements file /r.toml: "));
    }

    #[test]
    fn the_first_source_of_a_field_counts() {
        let mut all = Requirements::default();
        let first = "allowed_approval_policies = ['never']\napps.a.enabled = true";
        let second = "allowed_approval_policies = ['on-request']\nenforce_residency = 'us'\napps.a.enabled = false";
        add(&mut all, first, RequirementSource::Account).unwrap();
        let file = RequirementSource::File(PathBuf::from("/r"));
        add(&mut all, second, file.clone()).unwrap();
        let policies = all.approval_policies.unwrap();
        assert_eq!(policies.value, [AskForApproval::Never]);
        assert_eq!(policies.source, RequirementSource::Account);
        assert_eq!(all.residency.unwrap().source, file);
        assert!(all.disabled_apps.contains_key("a"));
    }

    #[test]
    fn no_source_lifts_the_limit_of_another_one() {
        let off = "experimental_network.enabled = false";
        let on = "experimental_network.domains = { 'a.test' = 'deny' }";
        for (first, second) in [(off, on), (on, off), ("", on)] {
            let mut all = Requirements::default();
            add(&mut all, first, RequirementSource::Account).unwrap();
            let file = RequirementSource::File(PathBuf::from("/r"));
            add(&mut all, second, file).unwrap();
            assert!(all.network_limit.is_some(), "{first} | {second}");
        }
    }

    #[test]
    fn rules_and_identities_are_read() {
        let all = Requirements::for_tests(
            r#"
            [[rules.prefix_rules]]
            pattern = [{ token = "git" }, { any_of = ["push", "fetch"] }]
            decision = "forbidden"
            justification = "no network"
            [mcp_servers.docs.identity]
            url = "https://docs"
            "#,
        );
        let rules = all.rules.unwrap().value;
        assert_eq!(rules.len(), 1);
        assert_eq!(rules[0].decision, crate::RuleDecision::Forbidden);
        assert_eq!(all.mcp_servers.unwrap().value.len(), 1);
    }
}
