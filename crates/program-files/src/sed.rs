//! Scripts of sed: whether they run lines, by the command `e` or by the flag of `s`.
//!
//! What is not understood counts as such a script.

/// The commands that are a letter alone, some of them with a number behind it.
const LETTERS: &str = "=dDFgGhHlLnNpPqQxz";

/// The commands whose argument reaches to the end of the line.
const TO_END_OF_LINE: &str = "aicrRwW";

/// The commands whose argument is a label.
const WITH_LABEL: &str = ":btT";

/// The argument with a script that runs lines, of those behind `sed`. What a file of commands says is not looked at, so it may.
pub(crate) fn running_script(arguments: &[String]) -> Option<&str> {
    let mut scripts = Vec::new();
    let mut operand = None;
    let mut words = arguments.iter();
    let mut has_script = false;
    while let Some(word) = words.next() {
        if let Some(long) = word.strip_prefix("--") {
            let (name, value) = long
                .split_once('=')
                .map_or((long, None), |(name, value)| (name, Some(value)));
            if !name.is_empty() && "expression".starts_with(name) {
                has_script = true;
                scripts.extend(value.or_else(|| words.next().map(String::as_str)));
            } else if name.len() > 1 && "file".starts_with(name) {
                return Some(word);
            }
        } else if let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            for (at, letter) in letters.char_indices() {
                let rest = &letters[at + letter.len_utf8()..];
                let value = Some(rest).filter(|rest| !rest.is_empty());
                match letter {
                    'e' => {
                        has_script = true;
                        scripts.extend(value.or_else(|| words.next().map(String::as_str)));
                        break;
                    }
                    'f' => return Some(word),
                    'i' | 'l' => break,
                    _ => {}
                }
            }
        } else if operand.is_none() {
            operand = Some(word.as_str());
        }
    }
    scripts.extend(operand.filter(|_| !has_script));
    scripts.into_iter().find(|script| runs_lines(script))
}

fn runs_lines(script: &str) -> bool {
    let mut rest = SedScript(script);
    std::iter::from_fn(|| rest.command()).any(|command| command == Command::RunsLines)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Command {
    Harmless,
    /// It runs lines, or is not understood.
    RunsLines,
}

struct SedScript<'s>(&'s str);

impl SedScript<'_> {
    /// The next command; none at the end.
    fn command(&mut self) -> Option<Command> {
        self.skip(|c| c.is_whitespace() || ";}".contains(c));
        if self.0.is_empty() {
            return None;
        }
        Some(self.addressed().unwrap_or(Command::RunsLines))
    }

    /// A command behind its addresses. None if it is not understood.
    fn addressed(&mut self) -> Option<Command> {
        loop {
            self.skip(|c| c.is_ascii_digit() || " \t$,!~+".contains(c));
            match self.peek() {
                Some('/') => {
                    self.next();
                    self.pattern('/')?;
                    self.skip(|c| "IM".contains(c));
                }
                Some('\\') => {
                    self.next();
                    let mark = self.next()?;
                    self.pattern(mark)?;
                    self.skip(|c| "IM".contains(c));
                }
                _ => break,
            }
        }
        let letter = self.next()?;
        match letter {
            '{' => {}
            '#' => self.skip(|c| c != '\n'),
            's' | 'y' => {
                let mark = self.next()?;
                match letter {
                    's' => self.pattern(mark)?,
                    _ => self.text(mark)?,
                }
                self.text(mark)?;
                let flags = self.0;
                self.skip(|c| c.is_ascii_alphanumeric());
                let flags = &flags[..flags.len() - self.0.len()];
                if flags.contains('e') {
                    return Some(Command::RunsLines);
                }
                // A file, whose name reaches to the end of the line.
                if flags.contains('w') {
                    self.skip(|c| c != '\n');
                }
            }
            'a' | 'i' | 'c' if self.continues() => {}
            letter if TO_END_OF_LINE.contains(letter) => self.skip(|c| c != '\n'),
            letter if WITH_LABEL.contains(letter) => self.skip(|c| !";\n}".contains(c)),
            letter if LETTERS.contains(letter) => self.skip(|c| c.is_ascii_digit() || c == ' '),
            _ => return None,
        }
        Some(Command::Harmless)
    }

    /// Skips a text behind `\` and the end of the line, with the lines that go on. False if there is none.
    fn continues(&mut self) -> bool {
        let text = self.0.trim_start_matches([' ', '\t']);
        if !text.starts_with("\\\n") {
            return false;
        }
        self.0 = text;
        loop {
            let line = self.0.split('\n').next().unwrap_or_default();
            let goes_on = line.ends_with('\\');
            self.0 = self.0[line.len()..].strip_prefix('\n').unwrap_or_default();
            if !goes_on {
                return true;
            }
        }
    }

    fn peek(&self) -> Option<char> {
        self.0.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let mut rest = self.0.chars();
        let next = rest.next()?;
        self.0 = rest.as_str();
        Some(next)
    }

    fn skip(&mut self, is_skipped: impl Fn(char) -> bool) {
        self.0 = self.0.trim_start_matches(is_skipped);
    }

    /// Skips a text that ends with a mark. None if it has no end.
    fn text(&mut self, mark: char) -> Option<()> {
        loop {
            match self.next()? {
                '\\' => drop(self.next()?),
                c if c == mark => return Some(()),
                _ => {}
            }
        }
    }

    /// The same for a pattern, in whose sets of characters the mark means itself.
    fn pattern(&mut self, mark: char) -> Option<()> {
        loop {
            match self.next()? {
                '\\' => drop(self.next()?),
                c if c == mark => return Some(()),
                '[' => {
                    let set = self.0.strip_prefix('^').unwrap_or(self.0);
                    let set = set.strip_prefix(']').unwrap_or(set);
                    self.0 = set.split_once(']')?.1;
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_that_run_lines_are_found_in_every_form() {
        for (line, is_found) in [
            ("1e", true),
            ("-e1e", true),
            ("-n|-e|p|-e|1e", true),
            ("--expression=1e", true),
            ("--expr=1e", true),
            ("--expression|1e", true),
            ("-es/x*$//e", true),
            ("-s|-E|s/x*$//e", true),
            ("\\,t,e", true),
            ("s/;*$/ ;/e", true),
            ("s/a\\{0\\}$//e", true),
            ("s|x|sh ./y|ge", true),
            ("/a/I,+2{p;e\n}", true),
            ("1!e sh ./y", true),
            ("s/[/]x/y/e", true),
            ("s/[]/]x/[/e", true),
            ("s/[^/]*$//", false),
            ("k", true),
            ("s/a", true),
            ("s/a/e/", false),
            ("s/a/b/gI;s,one,two e,;p", false),
            ("/^e/d", false),
            ("/e/{s/e/e/;t e\n}", false),
            ("s/[aeiou]/[e]/g", false),
            ("$!N;P;D", false),
            ("a\\\ne sh ./y\n", false),
            ("1i e", false),
            ("s/^.*\\///|README.e", false),
            ("-i.e|s/x/y/", false),
            ("-f|script|file", true),
            ("-nfscript|file", true),
            ("--file=script|file", true),
            ("y/abc/xye/", false),
            ("s/e/x/w file.e", false),
            ("1,5p;# e", false),
            ("=;5q;l 3", false),
        ] {
            let arguments: Vec<String> = line.split('|').map(str::to_owned).collect();
            // The mark of one of the scripts above is the one that words are split at here.
            let arguments = if line.starts_with("s|") {
                vec![line.to_owned()]
            } else {
                arguments
            };
            assert_eq!(running_script(&arguments).is_some(), is_found, "{line}");
        }
    }
}
