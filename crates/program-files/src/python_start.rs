//! How Python is started: what it runs, and which variables it heeds.

use crate::line::CommandWords;

/// The start of Python with some arguments.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct PythonStart {
    /// The module that it runs, if it runs one.
    pub(crate) module: Option<String>,
    /// Whether it runs a file or a folder, from whose folder it imports.
    pub(crate) has_script: bool,
    /// Whether it imports from nowhere but where packages are.
    pub(crate) is_isolated: bool,
    /// Whether it does not import from the working folder.
    pub(crate) is_safe: bool,
    /// Whether it ignores the variables that keep it from importing what commands may write.
    pub(crate) ignores_variables: bool,
}

impl PythonStart {
    pub(crate) fn from_arguments(arguments: &[String]) -> Self {
        let mut start = Self::default();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let Some(flags) = word.strip_prefix('-') else {
                start.has_script = true;
                return start;
            };
            if flags.is_empty() {
                return start;
            }
            if flags.starts_with('-') {
                continue;
            }
            for (at, flag) in flags.char_indices() {
                let rest = &flags[at + flag.len_utf8()..];
                match flag {
                    'c' => return start,
                    'm' => {
                        let joined = Some(rest.to_owned()).filter(|rest| !rest.is_empty());
                        start.module = joined.or_else(|| words.next().cloned());
                        return start;
                    }
                    'W' | 'X' | 'Q' => {
                        if rest.is_empty() {
                            words.next();
                        }
                        break;
                    }
                    'E' => start.ignores_variables = true,
                    'I' => start.is_isolated = true,
                    'P' => start.is_safe = true,
                    _ => {}
                }
            }
        }
        start
    }
}

/// Whether a command takes variables away from what it begins.
pub(crate) fn removes_variables(CommandWords(words): &CommandWords) -> bool {
    const GUARDS: [&str; 2] = ["PYTHONPYCACHEPREFIX=", "PYTHONSAFEPATH="];
    let Some((program, arguments)) = words.split_first() else {
        return false;
    };
    // Those of what it begins are not its own.
    let is_own =
        |word: &&String| word.starts_with('-') || word.contains('=') || program.ends_with("unset");
    let own: Vec<&String> = arguments.iter().take_while(is_own).collect();
    let has = |options: &[&str]| {
        let mut words = own.iter();
        words.any(|word| options.iter().any(|option| word.starts_with(option)))
    };
    let sets_guard = words
        .iter()
        .any(|word| GUARDS.iter().any(|guard| word.starts_with(guard)));
    sets_guard
        || match crate::known_programs::base_name(program) {
            "doas" | "runuser" | "su" | "sudo" | "systemd-run" => true,
            "env" => {
                has(&["-i", "-u", "--ignore-environment", "--unset"])
                    || own.iter().any(|word| *word == "-")
            }
            "exec" => has(&["-c"]),
            "unset" => has(&["PYTHON"]),
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(line: &str) -> PythonStart {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        PythonStart::from_arguments(&words)
    }

    #[test]
    fn first_non_option_is_the_script() {
        for (line, has_script) in [
            ("x.py -c", true),
            ("-u x.py", true),
            ("-W ignore x.py", true),
            ("-Wignore -X dev .", true),
            ("-c x", false),
            ("-cpass", false),
            ("-Buc x", false),
            ("-W ignore -c x", false),
            ("- x", false),
            ("", false),
        ] {
            assert_eq!(start(line).has_script, has_script, "{line}");
        }
    }

    #[test]
    fn a_module_may_be_joined_to_its_option() {
        for line in ["-m a.b x", "-ma.b", "-Bm a.b -I"] {
            let start = start(line);
            assert_eq!(start.module.as_deref(), Some("a.b"), "{line}");
            assert!(!start.is_isolated, "{line}");
        }
        assert!(start("-Im a").is_isolated);
        assert!(start("-EPc x").ignores_variables);
    }
}
