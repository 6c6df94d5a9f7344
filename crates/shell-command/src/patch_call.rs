//! Recognizes shell calls that only apply a patch.
//!
//! Only unambiguous forms are recognized: the program with the patch as its argument, or a script with the patch as a
//! heredoc and at most a `cd` before it. Other calls are left to the shell.

use crate::bash::{Connector, SimpleCommand};
use crate::call::ShellCall;
use crate::heredoc::Heredoc;

/// A patch, and the folder to apply it in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchCall {
    /// The text of the patch, not parsed.
    pub patch: String,
    /// The target of a leading `cd`, relative to the working folder of the call.
    pub directory: Option<String>,
}

/// The patch of a call, if the call only applies a patch.
pub fn patch_call(argv: &[String]) -> Option<PatchCall> {
    if let [program, patch] = argv
        && is_apply_patch(program)
    {
        return Some(PatchCall {
            patch: patch.clone(),
            directory: None,
        });
    }
    from_script(ShellCall::from_argv(argv)?.script)
}

fn is_apply_patch(program: &str) -> bool {
    matches!(program, "apply_patch" | "applypatch")
}

fn from_script(script: &str) -> Option<PatchCall> {
    let Heredoc {
        commands,
        body: patch,
        ..
    } = Heredoc::parse(script)?;
    let directory = match commands.as_slice() {
        [command] if is_bare_apply_patch(command) => None,
        [cd, command] if command.joined == Connector::And && is_bare_apply_patch(command) => {
            Some(cd_target(cd)?)
        }
        _ => return None,
    };
    Some(PatchCall { patch, directory })
}

fn is_bare_apply_patch(command: &SimpleCommand) -> bool {
    matches!(command.words.as_slice(), [program] if is_apply_patch(&program.text))
}

fn cd_target(command: &SimpleCommand) -> Option<String> {
    match command.words.as_slice() {
        [cd, target] if cd.text == "cd" && target.is_fixed() && !target.text.starts_with('-') => {
            Some(target.text.clone())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "*** Begin Patch\n*** Add File: a\n+$x `y` \"z\" \\q\n*** End Patch\n";

    fn call(words: &[&str]) -> Option<PatchCall> {
        let argv: Vec<String> = words.iter().map(ToString::to_string).collect();
        patch_call(&argv)
    }

    fn patch_in(directory: Option<&str>) -> Option<PatchCall> {
        Some(PatchCall {
            patch: PATCH.to_owned(),
            directory: directory.map(ToOwned::to_owned),
        })
    }

    #[test]
    fn a_direct_call_has_two_words() {
        assert_eq!(call(&["apply_patch", PATCH]), patch_in(None));
        assert_eq!(call(&["applypatch", PATCH]), patch_in(None));
        assert_eq!(call(&["apply_patch"]), None);
        assert_eq!(call(&["apply_patch", PATCH, "x"]), None);
        assert_eq!(call(&["/usr/bin/apply_patch", PATCH]), None);
        assert_eq!(call(&[PATCH]), None);
    }

    #[test]
    fn patch_script_is_a_heredoc_with_an_optional_cd() {
        for tag in ["EOF", "'EOF'", "\"EOF\"", "'PATCH'", "END-1"] {
            let name = tag.trim_matches(['\'', '"']);
            let heredoc = format!("apply_patch <<{tag}\n{PATCH}{name}\n");
            assert_eq!(call(&["bash", "-lc", &heredoc]), patch_in(None), "{tag}");
            for (cd, directory) in [
                ("cd sub", "sub"),
                ("cd 'a b'", "a b"),
                ("cd \"a b\"", "a b"),
            ] {
                let script = format!("{cd} && {heredoc}");
                assert_eq!(
                    call(&["zsh", "-c", &script]),
                    patch_in(Some(directory)),
                    "{script}"
                );
            }
        }
        let heredoc = format!("applypatch << EOF\n{PATCH}EOF");
        assert_eq!(
            call(&["powershell.exe", "-NoProfile", "-Command", &heredoc]),
            patch_in(None)
        );
        assert_eq!(call(&["cmd", "/c", &heredoc]), patch_in(None));
        let tabbed = PATCH.replace("***", "\t***").replace('+', "\t+");
        let script = format!("apply_patch <<-EOF\n{tabbed}\tEOF\n");
        assert_eq!(call(&["bash", "-c", &script]), patch_in(None));
    }

    #[test]
    fn heredoc_with_further_commands_is_no_patch_call() {
        let heredoc = format!("apply_patch <<'EOF'\n{PATCH}EOF\n");
        for script in [
            format!("echo x && {heredoc}"),
            format!("{heredoc}echo done"),
            format!("{heredoc}{heredoc}"),
            format!("cd a; {heredoc}"),
            format!("cd a || {heredoc}"),
            format!("cd a b && {heredoc}"),
            format!("cd && {heredoc}"),
            format!("cd - && {heredoc}"),
            format!("cd ~/x && {heredoc}"),
            format!("cd $x && {heredoc}"),
            format!("cd a* && {heredoc}"),
            format!("cd a && cd b && {heredoc}"),
            format!("({heredoc})"),
            format!("/usr/bin/{heredoc}"),
            format!("X=1 {heredoc}"),
            format!("! {heredoc}"),
            format!("apply_patch x <<'EOF'\n{PATCH}EOF\n"),
            format!("apply_patch <<'EOF' | cat\n{PATCH}EOF\n"),
            format!("apply_patch <<'EOF' > log\n{PATCH}EOF\n"),
            format!("apply_patch <<'EOF' && ls\n{PATCH}EOF\n"),
            format!("apply_patch <<é\n{PATCH}uu\n"),
            format!("apply_patch <<< '{PATCH}'"),
            format!("apply_patch '{PATCH}'"),
            PATCH.to_owned(),
        ] {
            assert_eq!(call(&["bash", "-lc", &script]), None, "{script}");
        }
        assert_eq!(call(&["bash", "-l", "-c", &heredoc]), None);
        assert_eq!(call(&["bash", "-x", &heredoc]), None);
    }
}
