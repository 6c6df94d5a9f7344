//! Enforcement on macOS: a profile for the system's sandbox launcher.
//!
//! Only creates text. Paths are passed as parameters and never become part of the profile's code.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::enforcement::Enforcement;
use crate::file_rules::{FileRules, ReadScope, WhenAbsent};
use crate::network_mode::NetworkMode;

/// The full path, because a program found in `PATH` could be any program.
pub(crate) const LAUNCHER: &str = "/usr/bin/sandbox-exec";

/// What every command needs.
const BASE: &str = "\
(version 1)
(deny default)
(allow process-exec)
(allow process-fork)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
(allow sysctl-read)
(allow ipc-posix-sem)
(allow user-preference-read)
(allow pseudo-tty)
(allow iokit-open (iokit-registry-entry-class \"RootDomainUserClient\"))
(allow mach-lookup
  (global-name \"com.apple.system.opendirectoryd.libinfo\")
  (global-name \"com.apple.PowerManagement.control\"))
(allow file-read* file-write* file-ioctl (literal \"/dev/ptmx\"))
(allow file-read* file-write* (require-all (regex #\"^/dev/ttys[0-9]+\") (extension \"com.apple.sandbox.pty\")))
(allow file-read* file-write-data file-ioctl
  (literal \"/dev/null\") (literal \"/dev/zero\") (literal \"/dev/tty\")
  (literal \"/dev/random\") (literal \"/dev/urandom\"))
";

const NETWORK: &str = "\
(allow network-outbound)
(allow network-inbound)
(allow system-socket)
(allow mach-lookup
  (global-name \"com.apple.SecurityServer\")
  (global-name \"com.apple.networkd\")
  (global-name \"com.apple.ocspd\")
  (global-name \"com.apple.trustd.agent\")
  (global-name \"com.apple.SystemConfiguration.configd\"))
";

/// A profile and its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeatbeltProfile {
    text: String,
    parameters: Vec<(String, PathBuf)>,
}

impl SeatbeltProfile {
    pub(crate) fn new(rules: &FileRules, network: NetworkMode) -> Self {
        let mut profile = Self {
            text: BASE.to_owned(),
            parameters: Vec::new(),
        };
        profile.allow_reading(rules);
        for root in &rules.writable {
            profile.allow_writing(rules, root);
        }
        profile.keep_in_place(rules);
        if network == NetworkMode::Enabled {
            profile.text.push_str(NETWORK);
            profile.refuse_sockets(rules);
        }
        profile
    }

    pub(crate) fn enforcement(&self) -> Enforcement {
        Enforcement::Seatbelt
    }

    /// The command line that runs `command` under this profile.
    #[must_use]
    pub fn wrap(&self, command: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
        let mut line = vec![LAUNCHER.into(), "-p".into(), self.text.clone().into()];
        for (name, path) in &self.parameters {
            let mut definition = OsString::from(format!("-D{name}="));
            definition.push(path);
            line.push(definition);
        }
        line.push("--".into());
        line.extend(command);
        line
    }

    fn allow_reading(&mut self, rules: &FileRules) {
        let hidden = self.exceptions("HIDDEN", rules.invisible());
        match &rules.read {
            ReadScope::Everything => self.allow("file-read*", "(subpath \"/\")", &hidden),
            ReadScope::Only(readable) => {
                self.text.push_str("(allow file-read-metadata)\n");
                for path in readable {
                    let filter = self.parameter("READABLE", path);
                    self.allow("file-read*", &format!("(subpath {filter})"), &hidden);
                }
            }
        }
    }

    fn allow_writing(&mut self, rules: &FileRules, root: &Path) {
        let filter = self.parameter("WRITABLE", root);
        // Paths inside a nested root are handled there.
        let refused = (rules.protected.iter().map(|entry| entry.path.as_path()))
            .chain(rules.invisible())
            .filter(|path| path.starts_with(root));
        let mut exceptions = self.exceptions("PROTECTED", refused);
        for path in kept_absent(rules).filter(|path| path.starts_with(root)) {
            exceptions.push_str(&self.in_any_case(path));
        }
        self.allow("file-write*", &format!("(subpath {filter})"), &exceptions);
    }

    /// Excludes a path that may not exist, whatever the case of its name. Paths that exist are compared as they are stored.
    fn in_any_case(&mut self, path: &Path) -> String {
        let name = path.file_name().and_then(|name| name.to_str());
        let (Some(folder), Some(pattern)) = (path.parent(), name.and_then(case_pattern)) else {
            return String::new();
        };
        let folder = self.parameter("FOLDER", folder);
        format!(
            " (require-not (regex (string-append \"^\" (regex-quote {folder}) #\"/{pattern}(/|$)\")))"
        )
    }

    /// Refuses to move the folders between a writable root and what is protected or hidden in it: elsewhere the rules about
    /// its path would not apply to it. The last rule that matches decides.
    fn keep_in_place(&mut self, rules: &FileRules) {
        let protected = rules.protected.iter().map(|entry| entry.path.as_path());
        let folders: BTreeSet<&Path> = protected
            .chain(rules.invisible())
            .flat_map(|path| path.ancestors().skip(1))
            .filter(|folder| rules.writable.iter().any(|root| folder.starts_with(root)))
            .collect();
        for folder in folders {
            let filter = self.parameter("FIXED", folder);
            let rule = format!("(deny file-write-unlink (literal {filter}))\n");
            self.text.push_str(&rule);
        }
    }

    /// Refuses connections to the sockets that are hidden.
    fn refuse_sockets(&mut self, rules: &FileRules) {
        for path in rules.invisible() {
            let filter = self.parameter("SOCKET", path);
            let rule = format!("(deny network-outbound (literal {filter}) (subpath {filter}))\n");
            self.text.push_str(&rule);
        }
    }

    /// Excludes protected paths and everything inside them.
    fn exceptions<'a>(&mut self, kind: &str, paths: impl Iterator<Item = &'a Path>) -> String {
        let mut out = String::new();
        for path in paths {
            let filter = self.parameter(kind, path);
            // Writing to a `String` cannot fail.
            let _ = write!(
                out,
                " (require-not (literal {filter})) (require-not (subpath {filter}))"
            );
        }
        out
    }

    fn allow(&mut self, operation: &str, filter: &str, exceptions: &str) {
        let rule = if exceptions.is_empty() {
            format!("(allow {operation} {filter})\n")
        } else {
            format!("(allow {operation} (require-all {filter}{exceptions}))\n")
        };
        self.text.push_str(&rule);
    }

    fn parameter(&mut self, kind: &str, path: &Path) -> String {
        let name = format!("{kind}_{}", self.parameters.len());
        let reference = format!("(param \"{name}\")");
        self.parameters.push((name, path.to_path_buf()));
        reference
    }
}

/// What must not be created.
fn kept_absent(rules: &FileRules) -> impl Iterator<Item = &Path> {
    let protected = rules.protected.iter();
    protected
        .filter(|entry| entry.when_absent == WhenAbsent::KeepAbsent)
        .map(|entry| entry.path.as_path())
}

/// A pattern for a name of ASCII letters, digits, dots, dashes and underscores. None for other names, which could end the
/// text of the pattern.
fn case_pattern(name: &str) -> Option<String> {
    name.chars()
        .map(|character| match character {
            // Two letters beyond ASCII have small ones of ASCII.
            's' | 'S' => Some("(s|S|\u{17f})".to_owned()),
            'k' | 'K' => Some("(k|K|\u{212a})".to_owned()),
            letter if letter.is_ascii_alphabetic() => Some(format!(
                "[{}{}]",
                letter.to_ascii_lowercase(),
                letter.to_ascii_uppercase()
            )),
            '.' => Some(r"\.".to_owned()),
            '0'..='9' | '-' | '_' => Some(character.into()),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file_rules::ProtectedPath;

    fn rules() -> FileRules {
        FileRules {
            read: ReadScope::Everything,
            writable: vec!["/w".into()],
            protected: vec![ProtectedPath {
                path: "/w/.git".into(),
                when_absent: WhenAbsent::KeepAbsent,
            }],
            hidden: Vec::new(),
            masked: Vec::new(),
            untrusted: Vec::new(),
        }
    }

    fn rules_of(text: &str, operation: &str) -> Vec<String> {
        text.lines()
            .filter(|line| line.starts_with(&format!("(allow {operation} (")))
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn seatbelt_allows_writes_except_protected_paths() {
        let profile = SeatbeltProfile::new(&rules(), NetworkMode::Restricted);
        assert!(profile.text.starts_with("(version 1)\n(deny default)\n"));
        assert_eq!(
            rules_of(&profile.text, "file-write*"),
            [
                "(allow file-write* (require-all (subpath (param \"WRITABLE_0\")) \
                 (require-not (literal (param \"PROTECTED_1\"))) \
                 (require-not (subpath (param \"PROTECTED_1\"))) \
                 (require-not (regex (string-append \"^\" (regex-quote (param \"FOLDER_2\")) \
                 #\"/\\.[gG][iI][tT](/|$)\")))))"
            ]
        );
        assert!(!profile.text.contains("network"));
    }

    #[test]
    fn protected_names_match_in_any_letter_case() {
        for (name, same, other) in [
            (".git", [".GIT", ".gIt", ".git"], ".gitx"),
            (".agents", [".agent\u{17f}", ".Agents", ".AGENTS"], "agents"),
        ] {
            let pattern = regex::Regex::new(&format!("^{}$", case_pattern(name).unwrap()));
            let pattern = pattern.unwrap();
            assert!(same.iter().all(|name| pattern.is_match(name)), "{name}");
            assert!(!pattern.is_match(other), "{name}");
        }
        assert_eq!(case_pattern("a\"b"), None);
    }

    #[test]
    fn the_network_is_allowed_only_when_enabled() {
        let rules = FileRules {
            masked: vec!["/private/var/run/docker.sock".into()],
            ..rules()
        };
        let profile = SeatbeltProfile::new(&rules, NetworkMode::Enabled);
        let at = |text: &str| profile.text.find(text).unwrap();
        // The later rule decides.
        assert!(at("(allow network-outbound)") < at("(deny network-outbound (literal"));
        let profile = SeatbeltProfile::new(&rules, NetworkMode::Restricted);
        assert!(!profile.text.contains("network"));
    }

    #[test]
    fn parents_of_protected_paths_cannot_be_moved() {
        let rules = FileRules {
            protected: vec![ProtectedPath {
                path: "/w/a/b/.git".into(),
                when_absent: WhenAbsent::KeepAbsent,
            }],
            ..rules()
        };
        let profile = SeatbeltProfile::new(&rules, NetworkMode::Restricted);
        let fixed = profile
            .parameters
            .iter()
            .filter(|(name, _)| name.starts_with("FIXED"))
            .map(|(name, path)| {
                let rule = format!("(deny file-write-unlink (literal (param \"{name}\")))");
                assert!(profile.text.contains(&rule), "{rule}");
                path.as_path()
            });
        let expected = ["/w", "/w/a", "/w/a/b"].map(Path::new);
        assert_eq!(fixed.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn limited_reading_lists_its_folders() {
        let rules = FileRules {
            read: ReadScope::Only(vec!["/usr".into(), "/w".into()]),
            ..rules()
        };
        let profile = SeatbeltProfile::new(&rules, NetworkMode::Restricted);
        assert_eq!(
            rules_of(&profile.text, "file-read*")
                .iter()
                .filter(|rule| rule.contains("READABLE"))
                .count(),
            2
        );
        assert!(!profile.text.contains("(subpath \"/\")"));
    }

    #[test]
    fn paths_are_parameters_and_parentheses_balance() {
        let rules = FileRules {
            writable: vec!["/w\") (allow default)".into()],
            ..rules()
        };
        let profile = SeatbeltProfile::new(&rules, NetworkMode::Enabled);
        assert!(!profile.text.contains("allow default)\""));
        let count = |wanted: char| profile.text.chars().filter(|c| *c == wanted).count();
        assert_eq!(count('('), count(')'));
        let line = profile.wrap(["true".into()]);
        assert_eq!(line[0], LAUNCHER);
        assert!(line.contains(&OsString::from("-DWRITABLE_0=/w\") (allow default)")));
        assert_eq!(line[line.len() - 2..], ["--", "true"]);
    }
}
