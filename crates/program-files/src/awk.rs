//! Programs of awk: whether they run lines, by `system` or by a pipe.
//!
//! No program is parsed. What is not understood counts as one that does.

use std::path::Path;

/// The argument behind `awk` with a program that runs lines, or with one that is not looked at.
pub(crate) fn running_program(arguments: &[String]) -> Option<&str> {
    let mut words = arguments.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let file = match word {
            "-f" | "-E" | "--file" | "--exec" => words.next(),
            word if word.starts_with("--file=") || word.starts_with("--exec=") => Some(word),
            // Libraries, by names of their own.
            "-i" | "--include" | "-l" | "--load" => return Some(word),
            word if word.starts_with("-f") => Some(word),
            word if word.contains('{') && runs_lines(word) => return Some(word),
            _ => None,
        };
        if let Some(file) = file.filter(|file| !is_looked_at(file)) {
            return Some(file);
        }
    }
    None
}

/// Whether a file is looked at for its name.
fn is_looked_at(file: &str) -> bool {
    file.ends_with(".awk") || file.ends_with(".gawk")
}

/// Whether a file is a program of awk that runs lines.
pub(crate) fn file_runs_lines(path: &Path, text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    let is_script = first.starts_with("#!") && first.contains("awk");
    (is_script || is_looked_at(&path.to_string_lossy())) && runs_lines(text)
}

/// Whether a program writes to lines that it runs, or reads from them, or runs what it reads.
fn runs_lines(program: &str) -> bool {
    let code = |line: &&str| !line.trim_start().starts_with('#');
    program.lines().filter(code).any(line_runs_lines)
}

fn line_runs_lines(line: &str) -> bool {
    let is_in_text = |before: &str| before.matches('"').count() % 2 == 1;
    let pipes = |(at, _): (usize, &str)| {
        let (before, behind) = (&line[..at], line[at + 1..].trim_start());
        let is_or = before.ends_with('|') || behind.starts_with('|');
        // Of an odd number of quotes one is no quote.
        (!is_in_text(before) || is_in_text(line))
            && !is_or
            && (behind.is_empty()
                || behind.starts_with(['"', '&', '$', '('])
                || behind.starts_with(char::is_alphabetic))
    };
    let computes = |(at, call): (usize, &str)| {
        let argument = line[at + call.len()..]
            .split(')')
            .next()
            .unwrap_or_default();
        let argument = argument.trim();
        let is_literal = argument.len() > 1
            && argument.starts_with('"')
            && argument.ends_with('"')
            && argument.matches('"').count() == 2;
        !is_literal
    };
    line.match_indices('|').any(pipes)
        || line.match_indices("system(").any(computes)
        || line.contains("@include")
        || line.contains("@load")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_run_lines_are_found_in_every_form() {
        for (line, is_found) in [
            ("{print | \"sh\"}", true),
            ("{\"./x\" | getline}", true),
            ("{system($0)}", true),
            ("{system(\"x \" $1)}", true),
            ("{system(\"date\")}", false),
            ("/\"/ {print |\n\"sh\"}", true),
            ("/\"/ {print | \"sh\"}", true),
            ("# {print | \"sh\"}\n{print}", false),
            ("{print $1 \"|\" $2}", false),
            ("a || b {print}", false),
            ("@include \"x\"\n{print}", true),
            ("-f p.awk", false),
            ("-f p.txt", true),
            ("-fp.txt", true),
            ("--file=p.txt", true),
            ("-i inplace", true),
        ] {
            let words = line.split(' ').map(str::to_owned);
            let arguments = if line.starts_with('-') {
                words.collect()
            } else {
                vec![line.to_owned()]
            };
            assert_eq!(running_program(&arguments).is_some(), is_found, "{line}");
        }
    }
}
