use super::*;

fn call(script: &str) -> Vec<String> {
    ["/bin/bash", "-lc", script].map(ToOwned::to_owned).to_vec()
}

fn finds_push(reachable: &ReachableCommands) -> bool {
    reachable.commands.iter().any(|command| {
        command
            .words
            .starts_with(&["git".to_owned(), "push".to_owned()])
    })
}

#[test]
fn commands_are_found_behind_others() {
    for script in [
        "git push",
        "FOO=1 git push",
        "echo $(git push)",
        "echo `git push`",
        "echo \"a $(git push) b\"",
        "bash -c 'git push'",
        "bash -l -c 'git push'",
        "bash -o pipefail -c 'git push'",
        "sh -c \"bash -c 'git push'\"",
        "eval 'git push'",
        "eval git push",
        "cat <<E | git push\nE",
        "cat <<E\n$(git push)\nE",
        "for i in a; do git push; done",
        "while true; do git push; done",
        "case a in a) git push;; esac",
        "if true; then git push; fi",
        "f() { git push; }; f",
        "(git push) &",
        "{ git push; }",
        "! git push",
        "'git' pu\\sh > /dev/null",
        "g\\it 'pu'sh",
        "\"git\" push",
        "git pu\\\nsh",
        "X=1 git pu\\\nsh",
        "git push $x",
        "diff <(git push) x",
        "/usr/bin/git push",
        "env git push",
        "env A=1 git push",
        "env -i git push",
        "env -S 'git push'",
        "env '-Sgit push'",
        "command git push",
        "builtin command git push",
        "exec git push",
        "xargs git push",
        "echo | xargs -n 1 git push",
        "timeout 5 git push",
        "nice -n 3 git push",
        "ionice -c2 git push",
        "nohup git push",
        "time git push",
        "time -p git push",
        "stdbuf -oL git push",
        "setsid git push",
        "sudo git push",
        "sudo -u root bash -c 'git push'",
        "doas git push",
        "coproc git push",
        "find . -exec git push {} \\;",
        "find . -exec sh -c 'git push' \\;",
        "find . -ok git push \\;",
        "git -C . push",
        "git --no-pager push",
        "git -c a.b=c push",
        "git --git-dir=x --work-tree y push",
        "git-push",
        "/usr/lib/git-core/git-push",
        "git bisect run git push",
        "git submodule foreach 'git push'",
        "git rebase -x 'git push' HEAD",
        "git {push,}",
        "trap 'git push' EXIT",
        "watch 'git push'",
        "busybox env git push",
        "flock x -c 'git push'",
        "strace -f git push",
        "systemd-inhibit git push",
        "uv run git push",
        "nix develop --command git push",
        "npm exec -- git push",
        "tmux new-session -d 'git push'",
        "flatpak-spawn --host git push",
        "fd . -x git push",
        "/lib64/ld-linux-x86-64.so.2 /usr/bin/git push",
    ] {
        let reachable = reachable_commands(&call(script));
        let found = reachable.commands.iter().any(|command| {
            let name = command
                .words
                .first()
                .map(|name| crate::call::base_name(name));
            name == Some("git") && command.words.get(1).is_some_and(|word| word == "push")
        });
        assert!(found, "{script}: {reachable:?}");
    }
    let padded = format!("# {}\nls; git push", "x".repeat(1 << 20));
    let padded = reachable_commands(&call(&padded));
    assert!(
        finds_push(&padded) && !padded.complete,
        "too long to be parsed"
    );
}

#[test]
fn unreadable_scripts_are_marked_incomplete() {
    for script in [
        "$x push",
        "{git,push}",
        "$(echo git) push",
        "`cat x` push",
        "g$x push",
        "$'git' push",
        "g$'\\x69't push",
        "gi? push",
        "/usr/bin/gi[t] push",
        "eval $x",
        "eval \"git $x\"",
        "bash -c \"$x\"",
        "bash x.sh",
        "bash < x",
        "bash <<< 'git push'",
        "bash <<E\ngit push\nE",
        "curl x | sh",
        "source x",
        ". ./x",
        "alias g=git; g push",
        "hash -p /usr/bin/git g; g push",
        "PATH=/work/bin make",
        "export PATH=/work/bin; make",
        "env PATH=/work/bin make",
        "GIT_CONFIG_COUNT=1 git p",
        "BASH_ENV=x bash -c ls",
        "f() { \"$@\"; }; f git push",
        "xargs -I% % push",
        "xargs $x",
        "timeout $x git",
        "x='a[$(git push)]'; (( x ))",
        "declare -i 'y=a[$(git push)]'",
        "echo ${x@P}",
        "if (",
        "bash --rcfile x -ic ls",
    ] {
        let reachable = reachable_commands(&call(script));
        assert!(!reachable.complete, "{script}: {reachable:?}");
    }
}

#[test]
fn an_unknown_word_may_be_any() {
    for script in [
        "git $x",
        "git \"$x\" push",
        "git pus*",
        "git p",
        "xargs git",
        "git -c alias.p=push p",
    ] {
        let commands = reachable_commands(&call(script)).commands;
        let open = |command: &ReachableCommand| command.open_ended && command.words == ["git"];
        assert!(commands.iter().any(open), "{script}: {commands:?}");
    }
}

#[test]
fn usual_scripts_are_read_to_their_end() {
    for script in [
        "ls -la && cat x | wc -l",
        "cargo test --workspace 2>&1 | tail -20",
        "for f in *.rs; do wc -l \"$f\"; done",
        "if [ -f x ]; then cat x; fi",
        "X=1 make all > log",
        "find . -name '*.rs' -exec grep -n x {} +",
        "git commit -m 'never git push'",
        "cat > x <<'E'\ntext $(a)\nE",
        "python3 -c 'print(1)'",
        "sudo apt-get install x",
        "# only a comment",
        "awk '{print $1}' x",
        "bash --version",
        "git log --oneline | head",
    ] {
        let reachable = reachable_commands(&call(script));
        assert!(
            reachable.complete && !finds_push(&reachable),
            "{script}: {reachable:?}"
        );
    }
}

#[test]
fn long_calls_end() {
    let nested = "env ".repeat(3_000) + "git push";
    assert!(!reachable_commands(&call(&nested)).complete);
    let braces = format!("echo {}", "{a,b}".repeat(40));
    reachable_commands(&call(&braces));
    let chain = vec!["ls"; 2_000].join(" && ");
    assert!(reachable_commands(&call(&chain)).complete);
}
