use super::*;

/// A machine on which names and the usual folders mean programs of the system.
struct Usual;

impl ProgramCheck for Usual {
    fn is_system_program(&self, program: &str) -> bool {
        !program.contains('/') || program.starts_with("/bin/")
    }

    fn is_trusted_shell(&self, shell: &str, _: &str) -> bool {
        self.is_system_program(shell)
    }

    fn has_variable(&self, _: &str) -> bool {
        false
    }
}

/// A machine on which every program is the model's.
struct OfModel;

impl ProgramCheck for OfModel {
    fn is_system_program(&self, _: &str) -> bool {
        false
    }

    fn is_trusted_shell(&self, shell: &str, _: &str) -> bool {
        shell == "/bin/bash"
    }

    fn has_variable(&self, _: &str) -> bool {
        false
    }
}

fn unknown(command: String) -> Vec<CommandAction> {
    vec![CommandAction::Unknown { command }]
}

fn read(command: &str, name: &str, path: &str) -> CommandAction {
    let [command, name, path] = [command, name, path].map(ToOwned::to_owned);
    CommandAction::Read {
        command,
        name,
        path,
    }
}

fn list(command: &str, path: Option<&str>) -> CommandAction {
    CommandAction::ListFiles {
        command: command.to_owned(),
        path: path.map(ToOwned::to_owned),
    }
}

fn search(command: &str, query: Option<&str>, path: Option<&str>) -> CommandAction {
    CommandAction::Search {
        command: command.to_owned(),
        query: query.map(ToOwned::to_owned),
        path: path.map(ToOwned::to_owned),
    }
}

#[track_caller]
fn check(script: &str, expected: &[CommandAction]) {
    let argv = ["/bin/bash", "-lc", script].map(ToOwned::to_owned);
    assert_eq!(command_actions(&argv, &Usual), expected, "{script}");
}

#[track_caller]
fn check_unknown(script: &str) {
    check(script, &unknown(script.to_owned()));
}

#[test]
fn reading_a_file() {
    for command in [
        "cat a.txt",
        "cat -n a.txt",
        "cat -- a.txt",
        "head a.txt",
        "head -n 5 a.txt",
        "head -n5 a.txt",
        "head -5 a.txt",
        "head -c 5 a.txt",
        "tail -n +5 a.txt",
        "nl -ba a.txt",
        "nl -w 3 a.txt",
        "sed -n 5p a.txt",
        "/bin/cat a.txt",
    ] {
        check(command, &[read(command, "a.txt", "a.txt")]);
    }
    check("sed -n 1,5p a", &[read("sed -n '1,5p' a", "a", "a")]);
    check("cat -- -a", &[read("cat -- -a", "-a", "-a")]);
    check("cat /x/dist/", &[read("cat /x/dist/", "x", "/x/dist/")]);
    check(
        "cat \"it's\" && ls",
        &[read("cat \"it's\"", "it's", "it's"), list("ls", None)],
    );
    for script in [
        "cat",
        "cat -",
        "cat a b",
        "bat a",
        "less a",
        "more a",
        "awk '{print $1}' a",
        "awk -F, -f p a",
        "sed -n -e 1p a",
        "head a b",
        "head -n 5",
        "head -n x a",
        "tail -f a",
        "sed 1p a",
        "sed -n '/x/p' a",
        "sed -n '1,$p' a",
        "sed -i s/a/b/ f",
        "nl a b",
    ] {
        check_unknown(script);
    }
}

#[test]
fn listing_files() {
    for (command, path) in [
        ("ls", None),
        ("ls -la src/lib", Some("lib")),
        ("ls -I foo src", Some("src")),
        ("ls a b", Some("a")),
        ("ls -- src", Some("src")),
        ("ls build/x/src/", Some("x")),
        ("ls ./", Some(".")),
        ("ls ..", Some("..")),
        ("ls /", Some("/")),
        ("rg --files", None),
        ("rg --files -t rust src", Some("src")),
        ("find", None),
        ("find src -type f", Some("src")),
        ("find -maxdepth 2", None),
    ] {
        check(command, &[list(command, path)]);
    }
    check("ls *.rs", &[list("ls '*.rs'", Some("*.rs"))]);
    for script in [
        "python3 -c 'import os; print(os.listdir(\".\"))'",
        "eza -la src",
        "tree -L 2 src",
        "tree -o made",
        "du -d 1 src",
        "git ls-files",
        "fd -t f",
    ] {
        check_unknown(script);
    }
}

#[test]
fn searching() {
    for (command, query, path) in [
        ("rg pat", Some("pat"), None),
        ("rg -A 3 pat src/x", Some("pat"), Some("x")),
        ("rg -e pat src", Some("pat"), Some("src")),
        ("rg -- -pat src", Some("-pat"), Some("src")),
        ("rg", None, None),
        ("rg '' x", Some(""), Some("x")),
        ("grep pat", Some("pat"), None),
        ("grep -n pat a b", Some("pat"), Some("a")),
        ("grep -- -pat a", Some("-pat"), Some("a")),
        ("find . -type f -iname 'a*'", Some("a*"), Some(".")),
        ("find src lib -name x", Some("x"), Some("src")),
        ("find -name x", Some("x"), None),
        ("find . -path '*/x'", Some("*/x"), Some(".")),
        ("find . -regex '.*'", Some(".*"), Some(".")),
    ] {
        check(command, &[search(command, query, path)]);
    }
    check(
        "grep -rn \"pat\" src/lib",
        &[search("grep -rn pat src/lib", Some("pat"), Some("lib"))],
    );
    check("rg 'a/b' x", &[search("rg a/b x", Some("a/b"), Some("x"))]);
    for script in [
        "find . -name x -delete",
        "find . -exec rm {} +",
        "find . -name x -fprint made",
        "fd pat",
        "ag pat src",
        "rga pat",
        "egrep pat a",
        "git grep -n pat src",
        "rg --pre ./p pat",
        "rg --hostname-bin=./p pat",
        "rg -z pat",
        "rg pat *",
    ] {
        check_unknown(script);
    }
}

#[test]
fn helpers_are_left_out() {
    for tail in [
        "| wc -l",
        "| head -n 5",
        "| head",
        "| head -5",
        "| tail -n +3",
        "| uniq -c",
        "| tr a b",
        "| cut -d: -f1",
        "| nl -ba",
        "|| true",
        "&& true",
        "| true",
    ] {
        check(&format!("ls src {tail}"), &[list("ls src", Some("src"))]);
    }
    check("echo hi && cat a", &[read("cat a", "a", "a")]);
    check("echo a; echo b; ls", &[list("ls", None)]);
    check("echo hi && cd x && ls", &[list("ls", None)]);
    check("cd x; true; echo a; ls", &[list("ls", None)]);
    check("nl -ba && ls", &[list("ls", None)]);
    check(
        "rg -n 'a b' -g '*.rs' crate/src || true",
        &[search(
            "rg -n 'a b' -g '*.rs' crate/src",
            Some("a b"),
            Some("crate"),
        )],
    );
    check(
        "cat a | head -n 5 b",
        &[read("cat a", "a", "a"), read("head -n 5 b", "b", "b")],
    );
    for script in [
        "cat a; echo done",
        "cat a || echo no",
        "ls | xargs rm",
        "ls | xargs cat",
        "ls | sort",
        "ls | sort -o b",
        "ls | tee b",
        "ls | awk '{system($0)}'",
        "ls | sed 's/a/b/'",
        "ls | sed '1e id'",
        "ls | uniq - b",
        "ls | column -t",
        "ls | yes",
        "ls | printf x",
        "ls | perl -p",
        "yes | head",
        "wc -l a",
        "sort a",
        "true",
        "echo hi",
        "ls && wc -l b",
        "git status | head",
        "cat a | sed -i p b",
    ] {
        check_unknown(script);
    }
}

#[test]
fn programs_of_the_model_do_not_only_read() {
    let bash = |shell: &str| [shell, "-lc", "cat a"].map(ToOwned::to_owned);
    let found = command_actions(&bash("/bin/bash"), &OfModel);
    assert_eq!(found, unknown("cat a".to_owned()));
    for shell in ["./bash", "sub/bash", "/tmp/bash"] {
        let found = command_actions(&bash(shell), &Usual);
        assert_eq!(found, unknown(format!("{shell} -lc 'cat a'")));
    }
    let direct = command_actions(&["./cat".to_owned(), "a".to_owned()], &Usual);
    assert_eq!(direct, unknown("./cat a".to_owned()));
}

#[test]
fn folders_are_followed() {
    check(
        "cd sub && cat x.txt",
        &[read("cat x.txt", "x.txt", "sub/x.txt")],
    );
    check("cd a && cd b/ && cat c", &[read("cat c", "c", "a/b/c")]);
    check("cd /x; cat y", &[read("cat y", "y", "/x/y")]);
    check("cd a && cat /b", &[read("cat /b", "b", "/b")]);
    check("cd -P a && cat b", &[read("cat b", "b", "a/b")]);
    check("cd && cat b", &[read("cat b", "b", "b")]);
    check(
        "ls && cd x && cat y",
        &[list("ls", None), read("cat y", "y", "x/y")],
    );
    check(
        "cd sub && rg foo src",
        &[search("rg foo src", Some("foo"), Some("src"))],
    );
    check("cd sub", &[]);
}

#[test]
fn a_file_read_through_sed_is_one_reading() {
    for script in [
        "nl -ba a | sed -n '1,5p'",
        "cat a | sed -n 1,3p",
        "cat a | sed -n 1p | wc -l",
        "sed -n 1,5p a | head",
        "head -n 5 a | sed -n 1p",
    ] {
        check(script, &[read(script, "a", "a")]);
    }
    check(
        "cd x && cat a | sed -n 1p",
        &[read("cd x && cat a | sed -n 1p", "a", "x/a")],
    );
    check(
        "cat a | sed -n 1p && ls",
        &[read("cat a", "a", "a"), list("ls", None)],
    );
    check(
        "rg foo | sed -n 1,5p",
        &[search("rg foo", Some("foo"), None)],
    );
}

#[test]
fn equal_neighbours_are_one() {
    check(
        "ls && ls src && ls src",
        &[list("ls", None), list("ls src", Some("src"))],
    );
    check(
        "cat a | rg x",
        &[read("cat a", "a", "a"), search("rg x", Some("x"), None)],
    );
}

#[test]
fn one_unknown_command_hides_nothing() {
    for script in [
        "ls; touch b",
        "git status",
        "pwd",
        "cat < a",
        "cat $HOME/x",
        "",
        "ls 2>/dev/null",
        "X=1 ls",
    ] {
        check_unknown(script);
    }
}

#[test]
fn calls_without_a_script() {
    let actions = |words: &[&str]| {
        command_actions(
            &words.iter().map(ToString::to_string).collect::<Vec<_>>(),
            &Usual,
        )
    };
    assert_eq!(actions(&["ls", "-la"]), [list("ls -la", None)]);
    assert_eq!(
        actions(&["cat", "a | sed -n 1p"]),
        [read(
            "cat 'a | sed -n 1p'",
            "a | sed -n 1p",
            "a | sed -n 1p"
        )]
    );
    assert_eq!(actions(&["rm", "a b"]), unknown("rm 'a b'".to_owned()));
    assert_eq!(
        actions(&["bash", "-x", "ls"]),
        unknown("bash -x ls".to_owned())
    );
    assert_eq!(
        actions(&["pwsh", "-Command", "ls"]),
        unknown("ls".to_owned())
    );
    assert_eq!(
        actions(&["cmd", "/c", "dir"]),
        unknown("cmd /c dir".to_owned())
    );
    assert_eq!(actions(&[]), unknown(String::new()));
}
