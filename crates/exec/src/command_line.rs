//! The command lines of Windows: one text, which each program splits into its arguments.
//!
//! Most programs split it as the C library does. `cmd` does not: it takes the text as it is, so a script is passed on
//! unchanged, and the arguments of a batch file, which only `cmd` can run, are written so that it expands nothing.

/// Characters that `cmd` passes on without quotes, besides letters and digits.
const PLAIN_CHARACTERS: &str = r"#$*+-./:?@\_";

/// An argument that cannot be passed to a batch file: it has a line end or a zero byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an argument of a batch file has a line end or a zero byte, which `cmd` cannot pass on")]
pub(crate) struct UnsafeArgument;

/// The script of a call of `cmd` that has nothing else.
pub(crate) fn cmd_script<'a>(words: &[&'a str]) -> Option<&'a str> {
    let [program, flag, script] = words else {
        return None;
    };
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    let name = name.to_ascii_lowercase();
    let is_cmd = matches!(name.as_str(), "cmd" | "cmd.exe");
    (is_cmd && flag.eq_ignore_ascii_case("/c")).then_some(*script)
}

/// Whether only `cmd` can run the file.
pub(crate) fn is_batch_file(file: &str) -> bool {
    let file = file.to_ascii_lowercase();
    file.ends_with(".bat") || file.ends_with(".cmd")
}

/// A program with its arguments.
pub(crate) fn of_program(program: &str, arguments: &[&str]) -> String {
    let mut line = format!("\"{program}\"");
    for argument in arguments {
        line.push(' ');
        push_argument(&mut line, argument);
    }
    line
}

/// `cmd` with a script: it removes the outer quotes and takes the rest unchanged.
pub(crate) fn of_script(cmd: &str, script: &str) -> String {
    format!("\"{cmd}\" /s /c \"{script}\"")
}

/// `cmd` with a batch file and its arguments.
pub(crate) fn of_batch_file(
    cmd: &str,
    file: &str,
    arguments: &[&str],
) -> Result<String, UnsafeArgument> {
    // Without delayed expansion, so that an exclamation mark is one.
    let mut line = format!("\"{cmd}\" /e:on /v:off /d /s /c \"\"{file}\"");
    for argument in arguments {
        line.push(' ');
        push_batch_argument(&mut line, argument)?;
    }
    line.push('"');
    Ok(line)
}

/// Backslashes count only before a quote.
fn push_argument(line: &mut String, argument: &str) {
    let is_plain = !argument.is_empty() && !argument.contains([' ', '\t', '\n', '\x0b', '"']);
    if is_plain {
        line.push_str(argument);
        return;
    }
    line.push('"');
    let mut backslashes = 0;
    for c in argument.chars() {
        if c == '"' {
            push_backslashes(line, backslashes + 1);
        }
        backslashes = if c == '\\' { backslashes + 1 } else { 0 };
        line.push(c);
    }
    push_backslashes(line, backslashes);
    line.push('"');
}

/// Quotes are doubled, which `cmd` and the C library both read as one. A percent sign is followed by the expansion of a
/// variable to nothing, so that no other variable can begin with it.
fn push_batch_argument(line: &mut String, argument: &str) -> Result<(), UnsafeArgument> {
    if argument.contains(['\r', '\n', '\0']) {
        return Err(UnsafeArgument);
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || PLAIN_CHARACTERS.contains(c);
    let quoted = argument.is_empty() || argument.ends_with('\\') || !argument.chars().all(is_plain);
    if quoted {
        line.push('"');
    }
    let mut backslashes = 0;
    for c in argument.chars() {
        match c {
            '"' => {
                push_backslashes(line, backslashes);
                line.push('"');
            }
            '%' => line.push_str("%%cd:~,"),
            _ => {}
        }
        backslashes = if c == '\\' { backslashes + 1 } else { 0 };
        line.push(c);
    }
    if quoted {
        push_backslashes(line, backslashes);
        line.push('"');
    }
    Ok(())
}

fn push_backslashes(line: &mut String, count: usize) {
    line.extend(std::iter::repeat_n('\\', count));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_quoted_as_the_c_library_splits_them() {
        for (argument, written) in [
            ("plain", "plain"),
            (r"C:\a\", r"C:\a\"),
            ("", r#""""#),
            ("two words", r#""two words""#),
            (r"C:\my files\", r#""C:\my files\\""#),
            (r#"say "hi""#, r#""say \"hi\"""#),
            (r#"a\"b"#, r#""a\\\"b""#),
            (r"a\b c", r#""a\b c""#),
        ] {
            let line = of_program(r"C:\p x.exe", &[argument]);
            assert_eq!(line, format!(r#""C:\p x.exe" {written}"#));
        }
    }

    #[test]
    fn cmd_gets_its_script_unchanged() {
        let script = r#"echo "a b" & dir C:\ ^| more"#;
        for words in [["cmd", "/c", script], [r"C:\W\CMD.EXE", "/C", script]] {
            assert_eq!(cmd_script(&words), Some(script));
        }
        for words in [
            &["cmd", "/k", "x"][..],
            &["cmd", "/c", "a", "b"],
            &["pwsh", "/c", "x"],
        ] {
            assert_eq!(cmd_script(words), None);
        }
        assert_eq!(
            of_script("cmd.exe", script),
            format!(r#""cmd.exe" /s /c "{script}""#)
        );
    }

    #[test]
    fn batch_files_get_arguments_that_cmd_does_not_expand() {
        assert!(is_batch_file(r"C:\npm.CMD") && is_batch_file("x.bat") && !is_batch_file("cmd"));
        for (argument, written) in [
            ("plain-1.0", "plain-1.0"),
            ("", r#""""#),
            ("a b", r#""a b""#),
            ("a&calc", r#""a&calc""#),
            (r"dir\", r#""dir\\""#),
            (r#"" & calc"#, r#"""" & calc""#),
            (r#"\" & calc"#, r#""\\"" & calc""#),
            ("%PATH%", r#""%%cd:~,%PATH%%cd:~,%""#),
            ("é", "\"é\""),
        ] {
            let line = of_batch_file("cmd.exe", "x.bat", &[argument]).unwrap();
            let expected = format!(r#""cmd.exe" /e:on /v:off /d /s /c ""x.bat" {written}""#);
            assert_eq!(line, expected);
        }
        for argument in ["a\nb", "a\rb", "a\0b"] {
            assert_eq!(
                of_batch_file("c", "x.bat", &[argument]),
                Err(UnsafeArgument)
            );
        }
    }
}
