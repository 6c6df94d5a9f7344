//! What counts as a secret, and what stands in its place.
//!
//! Four kinds: tokens that are known by their form, the rules of `rules`, values of keys that are known by their name, and
//! values that look random. A secret becomes a label with a number, the same for the same secret, which says nothing
//! about it. All files are looked at first, so that what is a secret in one place is replaced in every other too.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use regex::Regex;

use super::json::Key;
use super::people::{People, Person};
use super::random::{self, entropy};
use super::rules;

/// A value of fewer characters is no key.
const MIN_SECRET_CHARS: usize = 8;

/// Bits for each character, from which on the value of a key looks random.
const RANDOM: f64 = 3.0;

/// A longer value is looked at without its key.
const LONGEST_VALUE: usize = 512;

/// So much of a secret at the end of a preview gives it away.
const LEAST_BEGINNING: usize = 6;

/// Keys of texts that look random and are none of the session's own secrets.
const SEALED_MEMBERS: [&str; 4] = ["encrypted_content", "signature", "image_url", "result"];

/// What the log cuts after some characters, with dots where it did.
const PREVIEWS: [&str; 3] = ["input_preview", "output_preview", "message_preview"];

/// Tokens by their form. The first group, where there is one, stays.
static TOKENS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?s)((?i:\b(?:bearer|basic|token)[ :]\s*))[A-Za-z0-9._~+/=-]{12,}",
        r"|\b(?:sk|pk|rk|ak)[-_][A-Za-z0-9_-]{16,}",
        r"|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}|\bgl[a-z]{2,6}-[A-Za-z0-9_-]{16,}",
        r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bLTAI[A-Za-z0-9]{12,}|\bAIza[A-Za-z0-9_-]{30,}|\bya29\.[A-Za-z0-9_-]{20,}|\bGOCSPX-[A-Za-z0-9_-]{20,}",
        r"|\bxox[abeoprs]-[A-Za-z0-9.-]{10,}|\bxapp-[A-Za-z0-9-]{10,}",
        r"|\bnpm_[A-Za-z0-9]{30,}|\bpypi-[A-Za-z0-9_-]{30,}|\bhf_[A-Za-z0-9]{20,}|\bdo[opr]_v1_[a-f0-9]{40,}",
        r"|\b(?:gsk|xai|nvapi|pplx|tvly|r8|fw|tgp_v1|csk|dckr_pat|dckr_oat|lsv2_pt|lsv2_sk|ntn|secret|shpat|shpss|sbp|rnd|whsec|ctx7sk|jina|e2b|fc|wandb_v1|vck|vcp)[-_][A-Za-z0-9_-]{20,}",
        r"|\bkey-[a-f0-9]{32}\b|\bNRAK-[A-Z0-9]{27}|\bcio[A-Za-z0-9]{32}\b|\boy2[a-z0-9]{43}\b|\bops_[A-Za-z0-9_-]{60,}",
        r"|\bhv[sbr]\.[A-Za-z0-9_-]{20,}|\bs\.[A-Za-z0-9]{24}\b|\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
        r"|\b[0-9]{8,10}:AA[A-Za-z0-9_-]{32,}|\b[MNO][A-Za-z0-9_-]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}",
        r"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
        r"|-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|\z)",
    ))
    .ok()
});

/// What programs are given as passwords: the first group stays, the second is the secret.
static FLAGS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"((?i:https?://(?:[a-z0-9-]+\.)*(?:discord(?:app)?\.com/api/webhooks|hooks\.slack\.com/(?:services|workflows|triggers)|hooks\.zapier\.com/hooks/catch",
        r"|webhook\.office\.com/webhookb2|logic\.azure\.com|chat\.googleapis\.com/v1/spaces|api\.telegram\.org|maker\.ifttt\.com/trigger|webhook\.site|outlook\.office\.com/webhook)[:/]))",
        r#"([^\s"'<>\\]+)"#,
        r"|((?i:\bcurl\b[^\n|;&]*?\s(?:-u|--user|--proxy-user|-U)[ =]?['\x22]?[^\s:'\x22$]+:))([^\s'\x22]+)",
        r"|((?i:\b(?:docker|podman|skopeo|helm|buildah|oras|nerdctl)\s[^\n|;&]*?(?:login|registry)[^\n|;&]*?\s(?:-p|--password)[ =]['\x22]?))([^\s'\x22$-][^\s'\x22]*)",
        r"|((?i:\b(?:sshpass\s+-p|mysql(?:dump|admin)?\s[^\n|;&]*?-p|redis-cli\s[^\n|;&]*?-a|psql\s[^\n|;&]*?password=)\s?['\x22]?))([^\s'\x22$-][^\s'\x22]{3,})",
        r"|((?i:\s--?(?:pass(?:word|wd|phrase)?|token|secret|api-?key|auth-?token|access-?token|client-?secret)[ =]['\x22]?))([^\s'\x22$<{-][^\s'\x22]{3,})",
        r"|((?i:\bhtpasswd\s[^\n|;&]*?-[a-z]*b[a-z]*\s+\S+\s+\S+\s+['\x22]?))([^\s'\x22$-][^\s'\x22]{3,})",
        r"|((?i:\b(?:echo|printf)\s+(?:-n\s+)?['\x22]?))([^\s'\x22|$%-][^\s'\x22|]{3,})['\x22]?\s*\|[^\n|;&]*\s--password-stdin",
        r"|((?i:\bmachine\s+\S+\s+login\s+\S+\s+password\s+))(\S+)",
        r"|((?i:[?&](?:sig|signature|x-amz-signature|x-amz-security-token|key|code|access_key|apikey|api_key|auth)=))([A-Za-z0-9%+/_.=-]{16,})",
        r"|((?i:\b(?:AccountKey|SharedAccessKey|SharedAccessSignature)=))([A-Za-z0-9+/=%&;-]{20,})",
        r"|((?i:\b_?auth(?:Token)?['\x22]?\s{0,3}[=:]\s{0,3}['\x22]?))([A-Za-z0-9+/=_-]{12,})",
    ))
    .ok()
});

/// Names and values in text: `export API_KEY=...`, `password: ...`, `https://user:pass@host`.
static ASSIGNMENTS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"([A-Za-z0-9_.-]{0,40}(?i:passw|passphrase|secret|token|key|credential|cookie|authorization|webhook)[A-Za-z0-9_-]{0,40})",
        r#"(["']?\s{0,3}[=:]\s{0,3}["']?)([^\s"'`,;&<>]{4,})"#,
        r"|([a-z][a-z0-9+.-]*://[^/\s:@]*:)([^/\s@]+)@|([a-z][a-z0-9+.-]*://)([A-Za-z0-9_.-]{16,})@",
    ))
    .ok()
});

static KEY_NAMES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)passw(?:or)?d|passphrase|secret|authorization|api[-_]?key|private[-_]?key|access[-_]?key|auth[-_]?key",
        r"|credential|cookie|session[-_]?key|(?:^|[-_.])token$|(?-i:[a-z]Token$)|^token[-_]?value|signing[-_]?key",
        r"|encryption[-_]?key|master[-_]?key|account[-_]?key|service[-_]?key|license[-_]?key|webhook|^_?auth$|(?:^|_)pat$|[-_]key$",
    ))
    .ok()
});

/// What has been found so far.
pub(super) struct Secrets {
    people: People,
    numbers: HashMap<String, usize>,
    /// The secrets that would not be met by chance, and what finds them.
    known: Vec<String>,
    finder: Option<AhoCorasick>,
}

impl Secrets {
    pub(super) fn new(person: &Person) -> Self {
        Self {
            people: People::new(person),
            numbers: HashMap::new(),
            known: Vec::new(),
            finder: None,
        }
    }

    /// Notes the names of people in the paths of a text, before anything is replaced.
    pub(super) fn learn_names(&mut self, text: &str) {
        self.people.learn_from(text);
    }

    /// Notes the secrets in a string, before anything is replaced.
    pub(super) fn learn(&mut self, key: Key<'_>, string: &str) {
        for range in find(key, string) {
            let secret = &string[range];
            if !self.numbers.contains_key(secret) && is_distinctive(secret) {
                self.known.push(secret.to_owned());
            }
            self.label(secret);
        }
    }

    /// Ends the learning.
    pub(super) fn learned(&mut self) {
        self.finder = AhoCorasick::new(&self.known).ok();
    }

    /// How many different secrets have been replaced.
    pub(super) fn found(&self) -> usize {
        self.numbers.len()
    }

    /// A string without what must not be seen.
    pub(super) fn clean(&mut self, key: Key<'_>, string: &str) -> String {
        let clean = self.clean_secrets(key, string);
        self.people.clean(clean)
    }

    /// A string without its secrets; the names of people stay.
    pub(super) fn clean_secrets(&mut self, key: Key<'_>, string: &str) -> String {
        let mut ranges = find(key, string);
        if let Some(finder) = &self.finder {
            ranges.extend(finder.find_iter(string).map(|found| found.range()));
        }
        if let Key::Of { key, .. } = key
            && PREVIEWS.contains(&key)
        {
            ranges.extend(self.cut_secret(string));
        }
        let mut clean = String::with_capacity(string.len());
        let mut end = 0;
        for range in merged(ranges) {
            clean.push_str(&string[end..range.start]);
            end = range.end;
            clean.push_str(&self.label(&string[range]));
        }
        clean.push_str(&string[end..]);
        clean
    }

    /// The beginning of a secret at the end of a preview.
    fn cut_secret(&self, preview: &str) -> Option<Range<usize>> {
        let text = preview.strip_suffix("...")?;
        let longest = |secret: &String| {
            let ends = secret.char_indices().map(|(at, _)| at).rev();
            ends.take_while(|end| *end >= LEAST_BEGINNING)
                .find(|end| text.ends_with(&secret[..*end]))
        };
        let length = self.known.iter().filter_map(longest).max()?;
        Some(text.len() - length..text.len())
    }

    fn label(&mut self, secret: &str) -> String {
        let next = self.numbers.len() + 1;
        let number = self.numbers.entry(secret.to_owned()).or_insert(next);
        format!("[secret {number}]")
    }
}

/// Where a string holds secrets, one after another.
fn find(key: Key<'_>, string: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    if string.len() < 4 {
        return ranges;
    }
    let name = match key {
        Key::Of { key, .. } if is_secret_value(key, string) => {
            ranges.push(0..string.len());
            return ranges;
        }
        Key::Of { key, .. } => key,
        Key::Itself { .. } => "",
    };
    if SEALED_MEMBERS.contains(&name) && !string.contains(' ') {
        return ranges;
    }
    by_form(string, &mut ranges);
    by_name(string, &mut ranges);
    if name.is_empty() || string.len() > LONGEST_VALUE {
        ranges.extend(rules::find(string));
    } else {
        // Many rules go by the name that a value is given.
        let start = name.len() + 2;
        let assigned = rules::find(&format!("{name}=\"{string}\""));
        let inside =
            |range: &Range<usize>| range.start >= start && range.end <= start + string.len();
        let inside = assigned.into_iter().filter(inside);
        ranges.extend(inside.map(|range| range.start - start..range.end - start));
    }
    if !is_id(name) {
        ranges.extend(random::find(string));
    }
    ranges.retain(|range| !string[range.clone()].starts_with("[secret "));
    merged(ranges)
}

/// Ids look random because they are unique.
fn is_id(key: &str) -> bool {
    key == "id" || key.ends_with("_id") || key.ends_with("Id") || key.ends_with("_ids")
}

fn by_form(string: &str, ranges: &mut Vec<Range<usize>>) {
    if let Some(tokens) = &*TOKENS {
        for found in tokens.captures_iter(string) {
            if let Some(all) = found.get(0) {
                let start = found.get(1).map_or(all.start(), |kept| kept.end());
                ranges.push(start..all.end());
            }
        }
    }
    if let Some(flags) = &*FLAGS {
        for found in flags.captures_iter(string) {
            // Of each pair of groups the second is the secret.
            let secret = found.iter().skip(2).step_by(2).flatten().next();
            ranges.extend(secret.map(|secret| secret.range()));
        }
    }
}

fn by_name(string: &str, ranges: &mut Vec<Range<usize>>) {
    let Some(assignments) = &*ASSIGNMENTS else {
        return;
    };
    for found in assignments.captures_iter(string) {
        match (found.get(3), found.get(5).or_else(|| found.get(7))) {
            (Some(value), _) if is_secret_value(&found[1], value.as_str()) => {
                ranges.push(value.range());
            }
            (_, Some(password)) if !password.as_str().starts_with(['$', '<', '{']) => {
                ranges.push(password.range());
            }
            _ => {}
        }
    }
}

/// The ranges in order, those that overlap as one.
fn merged(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| (range.start, range.end));
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// Whether a secret can be looked for everywhere: a password that is a word would be found in all prose.
fn is_distinctive(secret: &str) -> bool {
    let has = |is_in: fn(&char) -> bool| secret.chars().any(|char| is_in(&char));
    secret.len() >= MIN_SECRET_CHARS
        && has(char::is_ascii_digit)
        && has(char::is_ascii_alphabetic)
        && entropy(secret) >= RANDOM
}

/// Whether a variable of the environment holds a secret.
pub(super) fn is_secret_variable(name: &str, value: &str) -> bool {
    let is_named = KEY_NAMES.as_ref().is_some_and(|names| names.is_match(name))
        || name.to_ascii_uppercase().ends_with("_KEY");
    is_named && value.len() >= MIN_SECRET_CHARS && !value.starts_with('/')
}

/// Passwords need not look random; everything else that a key's name gives away does.
fn is_secret_value(key: &str, value: &str) -> bool {
    let is_named = KEY_NAMES.as_ref().is_some_and(|names| names.is_match(key));
    let is_scheme = ["bearer", "basic", "token"].contains(&value.to_ascii_lowercase().as_str());
    if !is_named || is_scheme || key == "prompt_cache_key" || value.starts_with(['$', '[']) {
        return false;
    }
    let lower = key.to_ascii_lowercase();
    let is_password = ["passw", "passphrase", "authorization"]
        .iter()
        .any(|word| lower.contains(word));
    if is_password {
        value.len() >= 4
    } else {
        value.len() >= MIN_SECRET_CHARS && !value.contains(' ') && entropy(value) >= RANDOM
    }
}

#[cfg(test)]
mod tests {
    use super::super::people::HOMES;
    use super::*;

    fn clean(key: &str, string: &str) -> String {
        let person = Person {
            home: Some("/srv/people/ada".to_owned()),
            user: Some("ada".to_owned()),
        };
        let key = Key::Of { key, outer: &[] };
        Secrets::new(&person).clean(key, string)
    }

    #[test]
    fn every_pattern_compiles() {
        for pattern in [&TOKENS, &FLAGS, &ASSIGNMENTS, &KEY_NAMES, &HOMES] {
            assert!(pattern.is_some());
        }
    }

    #[test]
    fn secrets_go_and_words_stay() {
        let cases = [
            (
                "text",
                "Authorization: Bearer abcdefghijklmnop",
                "Authorization: Bearer [secret 1]",
            ),
            (
                "text",
                "use sk-proj-abcdefghijklmnop1234 now",
                "use [secret 1] now",
            ),
            (
                "text",
                "export MY_API_KEY='q8Zr1Lx0Pw7T'",
                "export MY_API_KEY='[secret 1]'",
            ),
            ("text", "password: hunter2", "password: [secret 1]"),
            (
                "text",
                "https://me:pa55w@example.com/x",
                "https://me:[secret 1]@example.com/x",
            ),
            (
                "text",
                "a=b TOKEN=q8Zr1Lx0Pw7T c=d",
                "a=b TOKEN=[secret 1] c=d",
            ),
            ("client_secret", "q8Zr1Lx0Pw7T", "[secret 1]"),
            ("client_secret", "aaaaaaaaaaaa", "aaaaaaaaaaaa"),
            ("cwd", "/home/bob/work", "/home/user/work"),
            (
                "cwd",
                "file:///home/bob/x -I/home/bob",
                "file:///home/user/x -I/home/user",
            ),
            ("cwd", "/tmp/home/skills/x", "/tmp/home/skills/x"),
            ("cwd", r"C:\Users\bob\work", r"C:\Users\user\work"),
            ("cwd", "/srv/people/ada/x", "/home/user/x"),
            ("cwd", "/mnt/ada/x and adage", "/mnt/user/x and adage"),
            ("agent_path", "/root/worker", "/root/worker"),
            ("text", "the token count is 12", "the token count is 12"),
            (
                "prompt_cache_key",
                "01a1fc4b-ed46-7cb2",
                "01a1fc4b-ed46-7cb2",
            ),
        ];
        for (key, string, expected) in cases {
            assert_eq!(clean(key, string), expected, "{key}: {string}");
        }
    }
}
