//! The rules for commands at the start of a session: from rules files and from requirements.

use std::path::PathBuf;

use codex_config::{
    Config, ConfigWarning, PatternToken as Word, RuleDecision, TextPosition, TextRange,
};
use codex_exec_policy::{Decision, PatternToken, PrefixRule, RuleError, RuleSet};
use codex_sandbox::{HostLimit, LimitedCommands, NetworkLimits};

/// The rules at the start of a session.
#[derive(Debug)]
pub(crate) struct SessionRules {
    pub(crate) rules: RuleSet,
    /// What limits the network of commands to certain hosts: settings and rules.
    pub(crate) network_limits: NetworkLimits,
    /// Warnings about the files.
    pub(crate) warnings: Vec<ConfigWarning>,
}

/// The rules of all active folders. A file with an error is ignored as a whole; a project's folders are active only if it
/// is trusted.
pub(crate) fn rules(config: &Config) -> SessionRules {
    let mut policy = RuleSet::default();
    let mut warnings = Vec::new();
    let mut unread = Vec::new();
    for folder in &config.rule_folders {
        match policy.add_folder(folder) {
            Ok(mistakes) => warnings.extend(mistakes.into_iter().map(mistake)),
            Err(error) => {
                let path = error.path.display();
                unread.push(format!("rules that cannot be read in {path}"));
                warnings.push(ConfigWarning {
                    path: Some(error.path.clone()),
                    ..warning(error.to_string())
                });
            }
        }
    }
    let required = config.requirements.rules.iter();
    for rule in required.flat_map(|rules| &rules.value) {
        let pattern = rule.pattern.iter().map(|word| match word {
            Word::Single(word) => PatternToken::Word(word.clone()),
            Word::AnyOf(words) => PatternToken::AnyOf(words.clone()),
        });
        let decision = match rule.decision {
            RuleDecision::Prompt => Decision::Prompt,
            RuleDecision::Forbidden => Decision::Forbidden,
        };
        match PrefixRule::new(pattern.collect(), decision, rule.justification.clone()) {
            Ok(rule) => policy.add_prefix_rule(rule),
            Err(problem) => warnings.push(warning(problem.to_string())),
        }
    }
    let mut network_limits = config.policy.network_limits.clone();
    let hosts = policy.host_rules();
    for setting in hosts.unknown.into_iter().chain(unread) {
        network_limits.add(HostLimit::closing(setting, LimitedCommands::OfModel));
    }
    match hosts.limiting {
        Some(setting) => network_limits.add(HostLimit {
            hosts: Some(hosts.list),
            ..HostLimit::closing(setting, LimitedCommands::OfModel)
        }),
        None => network_limits.add_allowing(hosts.list),
    }
    SessionRules {
        rules: policy,
        network_limits,
        warnings,
    }
}

fn warning(details: String) -> ConfigWarning {
    ConfigWarning {
        details: Some(details),
        ..ConfigWarning::new("Error parsing rules; custom rules not applied.")
    }
}

fn mistake(error: RuleError) -> ConfigWarning {
    let place = TextPosition {
        line: error.line,
        column: error.column,
    };
    ConfigWarning {
        path: Some(PathBuf::from(&error.file)),
        range: Some(TextRange {
            start: place,
            end: place,
        }),
        ..warning(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use codex_config::{Environment, LoadRequest, Overrides, RequestParams};
    use codex_exec_policy::ProgramMatching;

    use super::*;
    use crate::wiring;

    /// The configuration of a machine with these requirements.
    fn config(requirements: &str) -> (tempfile::TempDir, Config) {
        let machine = tempfile::tempdir().unwrap();
        let system = machine.path().join("system");
        fs::create_dir(&system).unwrap();
        fs::write(system.join("requirements.toml"), requirements).unwrap();
        let mut env = Environment::with_home(machine.path());
        env.system_folder = Some(system);
        let config = Config::load(LoadRequest {
            env: &env,
            cwd: None,
            flags: &Overrides::default(),
            params: &RequestParams::default(),
            host_features: &BTreeMap::new(),
        });
        (machine, config.unwrap())
    }

    #[test]
    fn administrator_rules_override_rule_files() {
        let required = "rules.prefix_rules = [\n\
            { pattern = [{ token = 'rm' }], decision = 'forbidden', justification = 'use trash' },\n\
            { pattern = [{ token = 'git' }, { any_of = ['push', 'pull'] }], decision = 'prompt' },\n]";
        let (machine, config) = config(required);
        let folder = machine.path().join("rules");
        fs::create_dir(&folder).unwrap();
        let own = "prefix_rule(pattern=[\"rm\"], decision=\"allow\")\n\
                   prefix_rule(pattern=[\"git\"], decision=\"allow\")\n";
        fs::write(folder.join("default.rules"), own).unwrap();
        let SessionRules {
            rules: policy,
            warnings,
            ..
        } = rules(&config);
        assert!(warnings.is_empty(), "{warnings:?}");
        for (command, expected) in [
            (&["rm", "-r", "x"][..], Decision::Forbidden),
            (&["git", "push"], Decision::Prompt),
            (&["git", "status"], Decision::Allow),
        ] {
            let evaluation = policy.check(command, ProgramMatching::ByName);
            assert_eq!(evaluation.decision, Some(expected), "{command:?}");
        }
    }

    #[test]
    fn requests_go_where_an_administrator_wants_them_handled() {
        for (requirements, expected) in [("", None), ("enforce_residency = 'us'", Some("us"))] {
            let (_machine, config) = config(requirements);
            let mut provider = wiring::provider(&config.model.provider);
            wiring::configure_provider(&mut provider, &config);
            let header = provider
                .http_headers
                .get("x-openai-internal-codex-residency");
            assert_eq!(header.map(String::as_str), expected);
        }
    }
}
