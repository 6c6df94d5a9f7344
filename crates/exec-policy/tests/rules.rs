//! Rules files: their meaning, and the errors about mistakes in them.

// The helpers here are as much part of the tests as the functions that call them.
#![expect(
    clippy::expect_used,
    reason = "a failed expectation is the failed test"
)]

use codex_exec_policy::{
    Decision, Evaluation, NetworkDecision, NetworkProtocol, ProgramMatching, RuleRestriction,
    RuleSet,
};

fn policy(text: &str) -> RuleSet {
    let mut policy = RuleSet::default();
    policy.add_file("p.rules", text).expect(text);
    policy
}

fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

fn check(text: &str, command: &str) -> Evaluation {
    policy(text).check(&words(command), ProgramMatching::ByName)
}

fn report(text: &str, command: &str) -> String {
    serde_json::to_string(&check(text, command)).expect("json")
}

#[track_caller]
fn decides(text: &str, command: &str, expected: Option<Decision>) {
    assert_eq!(
        check(text, command).decision,
        expected,
        "{text} / {command}"
    );
}

#[track_caller]
fn fails(text: &str, expected: &str) {
    let mut policy = RuleSet::default();
    let error = policy.add_file("p.rules", text).expect_err(text);
    assert_eq!(error.to_string(), format!("p.rules:{expected}"), "{text}");
    let is_empty = policy.network_rules().is_empty()
        && !policy.restricts()
        && policy.allowed_prefixes_text() == RuleSet::default().allowed_prefixes_text();
    assert!(is_empty, "nothing is taken from a bad file");
    // What a rule about hosts would have denied is not known.
    let is_limited = !policy.host_rules().unknown.is_empty();
    assert_eq!(is_limited, text.contains("network_rule"), "{text}");
}

const FORBIDDEN_DECISION: Option<Decision> = Some(Decision::Forbidden);
const PROMPT: Option<Decision> = Some(Decision::Prompt);
const ALLOW: Option<Decision> = Some(Decision::Allow);

#[test]
fn a_prefix_is_compared_word_by_word() {
    let rule = r#"prefix_rule(pattern=["git", ["push", "fetch"]], decision="forbidden")"#;
    decides(rule, "git push", FORBIDDEN_DECISION);
    decides(rule, "git fetch origin main", FORBIDDEN_DECISION);
    decides(rule, "git", None);
    decides(rule, "git pull", None);
    decides(rule, "git pushy", None);
    decides(rule, "GIT push", None);
    decides(r#"prefix_rule(["git"])"#, "git anything", ALLOW);
    decides(
        r#"prefix_rule([["git", "hg"], "x"], "prompt")"#,
        "hg x",
        PROMPT,
    );
    assert_eq!(
        policy(rule).check::<&str>(&[], ProgramMatching::ByName),
        Evaluation::default()
    );
}

#[test]
fn the_strictest_match_decides() {
    let rules = r#"
prefix_rule(pattern=["git", "push"], decision="prompt")
prefix_rule(pattern=["git"], decision="forbidden", justification="why")
prefix_rule(pattern=["git", "push", "x"])
"#;
    assert_eq!(
        report(rules, "git push x"),
        concat!(
            r#"{"matchedRules":[{"prefixRuleMatch":{"matchedPrefix":["git","push"],"decision":"prompt"}},"#,
            r#"{"prefixRuleMatch":{"matchedPrefix":["git"],"decision":"forbidden","justification":"why"}},"#,
            r#"{"prefixRuleMatch":{"matchedPrefix":["git","push","x"],"decision":"allow"}}],"decision":"forbidden"}"#
        )
    );
    assert_eq!(report(rules, "hg"), r#"{"matchedRules":[]}"#);
    let commands = [words("ls"), words("git pull")];
    assert_eq!(
        policy(rules)
            .check_all(&commands, ProgramMatching::ByName)
            .decision,
        FORBIDDEN_DECISION
    );
    let mut two_files = policy(r#"prefix_rule(["a"], "prompt")"#);
    two_files
        .add_file("q.rules", r#"prefix_rule(["a"], "allow")"#)
        .expect("a good file");
    assert_eq!(
        two_files.check(&["a"], ProgramMatching::AsWritten).decision,
        PROMPT
    );
}

#[test]
fn a_path_is_tried_by_its_name() {
    let rule = r#"prefix_rule(["git", "push"], "prompt")"#;
    let listed = format!("host_executable(name=\"git\", paths=[\"/usr/bin/git\"])\n{rule}");
    assert_eq!(
        report(rule, "/opt/git push"),
        concat!(
            r#"{"matchedRules":[{"prefixRuleMatch":{"matchedPrefix":["git","push"],"decision":"prompt","#,
            r#""resolvedProgram":"/opt/git"}}],"decision":"prompt"}"#
        )
    );
    assert_eq!(
        policy(rule)
            .check(&words("/opt/git push"), ProgramMatching::AsWritten)
            .decision,
        None
    );
    decides(&listed, "/usr/bin/git push", PROMPT);
    decides(&listed, "/opt/git push", None);
    decides(rule, "./git push", None);
    // A match of the path as written comes first.
    decides(
        &format!("{rule}\nprefix_rule(['/usr/bin/git'])"),
        "/usr/bin/git push",
        ALLOW,
    );
    decides(
        &format!("host_executable('git', [])\n{rule}"),
        "/usr/bin/git push",
        None,
    );
    // The last list for a name counts.
    let twice = format!("{listed}\nhost_executable('git', ['/opt/git'])");
    decides(&twice, "/opt/git push", PROMPT);
    decides(&twice, "/usr/bin/git push", None);
}

#[test]
fn rules_that_forbid_or_ask_speak_about_beginnings() {
    let rules = policy("prefix_rule(['git','push'], 'forbidden')\nprefix_rule(['ls'])");
    assert!(rules.restricts() && !policy("prefix_rule(['ls'])").restricts());
    let found = rules.restriction(&words("git push x"), false);
    assert!(
        matches!(&found, Some(RuleRestriction::Certain(found)) if found.matched_prefix == ["git", "push"]),
        "{found:?}"
    );
    assert_eq!(
        rules.restriction(&words("git"), true),
        Some(RuleRestriction::Possible)
    );
    for (command, open_ended) in [
        ("git", false),
        ("git pull", true),
        ("ls", true),
        ("/bin/ls", false),
    ] {
        assert_eq!(
            rules.restriction(&words(command), open_ended),
            None,
            "{command}"
        );
    }
    assert_eq!(rules.restriction::<&str>(&[], true), None);
}

#[test]
fn the_language() {
    for (text, command) in [
        ("x = ['git']\nprefix_rule(x + [\"push\"])", "git push"),
        ("x = ['git']\nx += ['push']\nprefix_rule(x)", "git push"),
        ("for x in ['a', 'b']:\n    prefix_rule([x])\n", "b"),
        ("for x in ['a']: prefix_rule([x]); prefix_rule(['q'])", "q"),
        (
            "for x in ['a']:\n  for y in ['b']:\n    prefix_rule([x, y])\n\n# c\n   # d\n\nprefix_rule(['z'])",
            "z",
        ),
        (
            "for x in ['a']:\n  for y in ['b']:\n    prefix_rule([x, y])",
            "a b",
        ),
        ("[prefix_rule([x]) for x in ['a', 'b']]", "b"),
        ("x = [y + 'c' for y in ['a', 'b']]\nprefix_rule([x])", "bc"),
        ("x = 'a'\nprefix_rule([f\"{x}b{{}}\"])", "ab{}"),
        ("x = 1\nprefix_rule([fr'{x}\\n'])", "1\\n"),
        (
            "pass\nprefix_rule(\n  pattern = ['a', 'b'], # c\n  decision = 'allow',\n)\n",
            "a b",
        ),
        ("prefix_rule(['a']); prefix_rule(['b'],)", "b"),
        (
            "\"\"\"doc\n\"\"\"\nprefix_rule(['''a''', r'b\\c', \"d'\"])",
            "a b\\c d'",
        ),
        ("prefix_rule(['\\x41\\u00e9\\101\\q\\'\\\n'])", "AéA\\q'"),
        ("prefix_rule((['a']))", "a"),
        ("prefix_rule(['a'], justification=None, match=[])", "a"),
        ("\u{feff}prefix_rule(['a'])\r\nprefix_rule(['b'])\r\n", "b"),
        ("prefix_rule(['a']) \\\n\n", "a"),
    ] {
        decides(text, command, ALLOW);
    }
    for text in ["", "\n\n", "# only\n  # this", "x = 1"] {
        assert_eq!(policy(text), RuleSet::default());
    }
}

#[test]
fn mistakes_in_the_language_have_a_place() {
    for (text, expected) in [
        (
            "prefix_rule(['a']",
            "1:18: expected `,` or `)`, found the end of the line",
        ),
        ("\nfoo(1)", "2:1: there is no function `foo`"),
        ("x = y", "1:5: `y` is not defined"),
        ("x = f'é{y}'", "1:9: `y` is not defined"),
        (
            "x = f'{1}'",
            "1:8: braces of an f-string may hold only a name",
        ),
        ("x = f'}'", "1:7: a lone `}` is written `}}` in an f-string"),
        ("x = 'a", "1:5: string is not closed"),
        ("x = '''a\n", "1:5: string is not closed"),
        ("x = '\\xZZ'", "1:6: invalid escape in string"),
        ("  prefix_rule(['a'])", "1:3: unexpected indentation"),
        (
            "for x in ['a']:\nprefix_rule([x])",
            "2:1: expected an indented block, found `prefix_rule`",
        ),
        (
            "for x in ['a']:\n    x\n  x",
            "3:3: indentation does not match any open block",
        ),
        (
            "for x in ['a']:\n\tx",
            "2:1: indentation must be made of spaces",
        ),
        (
            "for x in 'a': x",
            "1:10: cannot go through a value of type string",
        ),
        ("def f(): pass", "1:1: `def` is not known in rule files"),
        ("if True: pass", "1:1: `if` is not known in rule files"),
        ("load('x', 'y')", "1:1: `load` is not known in rule files"),
        (
            "x = 'a' 'b'",
            "1:9: expected the end of the line, found a string",
        ),
        ("x = ('a', 'b')", "1:9: expected `)`, found `,`"),
        ("x = {}", "1:5: expected a value, found `{`"),
        ("x = 1.5", "1:6: expected the end of the line, found `.`"),
        ("x = 1 + 'a'", "1:5: cannot add int and string"),
        ("x = 0x10", "1:5: only whole decimal numbers are known"),
        ("x = ~1", "1:5: unexpected character '~'"),
        ("in = 1", "1:1: expected a name, found `in`"),
        (
            "prefix_rule(pattern=['a'], 'allow')",
            "1:28: an argument without a name must stand before those with one",
        ),
    ] {
        fails(text, expected);
    }
}

#[test]
fn mistakes_in_rules_have_a_place() {
    for (arguments, expected) in [
        ("", "missing parameter `pattern` of `prefix_rule`"),
        (
            "pattern=[]",
            "invalid pattern element: pattern cannot be empty",
        ),
        (
            "pattern=['a', []]",
            "invalid pattern element: a list of alternatives holds at least one",
        ),
        (
            "pattern='a'",
            "parameter `pattern` must be of type list, not string",
        ),
        (
            "pattern=['a', 1]",
            "invalid pattern element: an element is a string or a list of strings (found int)",
        ),
        (
            "pattern=[[['a']]]",
            "invalid pattern element: an alternative is a string (found list)",
        ),
        ("['a'], decision='deny'", "invalid decision: deny"),
        ("['a'], decision='Allow'", "invalid decision: Allow"),
        (
            "['a'], decision=None",
            "parameter `decision` must be of type string, not NoneType",
        ),
        (
            "['a'], justification='  '",
            "invalid rule: justification cannot be empty",
        ),
        ("['a'], foo=1", "`prefix_rule` has no parameter `foo`"),
        (
            "['a'], pattern=['b']",
            "parameter `pattern` of `prefix_rule` is given twice",
        ),
        (
            "['a'], 'allow', [], [], 'j', 1",
            "`prefix_rule` takes at most 5 arguments",
        ),
        (
            "['a'], match='a b'",
            "parameter `match` must be of type list, not string",
        ),
        (
            "['a'], match=['b a']",
            "invalid example: `b a` should match the rule, but does not",
        ),
        (
            "['a'], not_match=['a b']",
            "invalid example: `a b` should not match the rule, but does",
        ),
        (
            "['a'], match=['']",
            "invalid example: an example holds at least one word",
        ),
        (
            "['a'], match=[[]]",
            "invalid example: an example holds at least one word",
        ),
        (
            "['a'], match=['a \"']",
            "invalid example: the example is not a shell line",
        ),
        (
            "['a'], match=[1]",
            "invalid example: example must be a string or a list of strings",
        ),
    ] {
        fails(
            &format!("\n  \nprefix_rule({arguments})"),
            &format!("3:1: {expected}"),
        );
    }
    policy(
        "prefix_rule(['a', 'b c'], match=['a \"b c\" d', ['a', 'b c'], '/bin/a b\\\\ c'], not_match=['a b', 'a'])",
    );
}

#[test]
fn host_executables() {
    for (arguments, expected) in [
        (
            "'git', ['git']",
            "the paths of a host_executable start at the root (found git)",
        ),
        (
            "'git', ['/usr/bin/hg']",
            "host_executable path `/usr/bin/hg` must have basename `git`",
        ),
        (
            "'a/git', ['/a/git']",
            "the name of a host_executable has no folder in it (found a/git)",
        ),
        ("'', []", "the name of a host_executable is missing"),
        (
            "'git', [1]",
            "host_executable paths must be strings (got int)",
        ),
    ] {
        fails(
            &format!("host_executable({arguments})"),
            &format!("1:1: invalid rule: {expected}"),
        );
    }
}

#[test]
fn network_rules() {
    let rules = policy(
        "network_rule(host='Example.COM.', protocol='https_connect', decision='allow', justification='j')\n\
         network_rule('[::1]:80', 'socks5_udp', 'forbidden')\nnetwork_rule('a.b:443', 'http-connect', 'prompt')",
    );
    let read: Vec<_> = rules
        .network_rules()
        .iter()
        .map(|rule| {
            (
                rule.host(),
                rule.protocol(),
                rule.decision(),
                rule.justification(),
            )
        })
        .collect();
    assert_eq!(
        read,
        [
            (
                "example.com",
                NetworkProtocol::Https,
                NetworkDecision::Allow,
                Some("j")
            ),
            (
                "::1",
                NetworkProtocol::Socks5Udp,
                NetworkDecision::Deny,
                None
            ),
            ("a.b", NetworkProtocol::Https, NetworkDecision::Prompt, None),
        ]
    );
    let bad_host = "invalid rule: network_rule host takes the name or the address of a host and nothing around it";
    for (arguments, expected) in [
        (
            "'', 'http', 'allow'",
            "invalid rule: network_rule host cannot be empty",
        ),
        (
            "'*.a.b', 'http', 'allow'",
            "invalid rule: network_rule host takes one host, not a pattern",
        ),
        (
            "'a b', 'http', 'allow'",
            "invalid rule: network_rule host cannot contain whitespace",
        ),
        ("'https://a', 'http', 'allow'", bad_host),
        ("'a/b', 'http', 'allow'", bad_host),
        ("'a:b', 'http', 'allow'", bad_host),
        (
            "'a', 'ftp', 'allow'",
            "invalid rule: a network_rule knows the protocols http, https, socks5_tcp and socks5_udp (found ftp)",
        ),
        ("'a', 'http', 'no'", "invalid decision: no"),
        (
            "'a', 'http'",
            "missing parameter `decision` of `network_rule`",
        ),
        (
            "'a', 'http', 'allow', ''",
            "invalid rule: justification cannot be empty",
        ),
    ] {
        fails(
            &format!("network_rule({arguments})"),
            &format!("1:1: {expected}"),
        );
    }
}

#[test]
fn files_that_would_run_away_are_stopped() {
    let doubling = "x = ['a']\n".to_owned() + &"x = x + x\n".repeat(40);
    let nesting = "x = ['a']\n".to_owned() + &"x = [x, x]\n".repeat(40);
    let texts = "x = 'a'\n".to_owned() + &"x = f'{x}{x}'\n".repeat(60);
    let mut loops = "n = [1,2,3,4,5,6,7,8,9,10]\n".to_owned();
    for depth in 0..8 {
        loops += &format!("{}for i{depth} in n:\n", " ".repeat(depth));
    }
    loops += "         prefix_rule(['a'])\n";
    for text in [doubling, nesting, texts, loops] {
        let error = RuleSet::default()
            .add_file("p", &text)
            .expect_err("too much");
        assert_eq!(error.message, "too much work for a rule file");
    }
    let error = RuleSet::default()
        .add_file("p", &"[".repeat(100_000))
        .expect_err("too deep");
    assert_eq!(error.message, "nested too deeply");
    let blocks: String = (0..100)
        .map(|depth| format!("{}for x in []:\n", " ".repeat(depth)))
        .collect();
    let error = RuleSet::default()
        .add_file("p", &blocks)
        .expect_err("too deep");
    assert_eq!(error.message, "nested too deeply");
}

#[test]
fn allowed_prefixes_are_listed_for_the_model() {
    let rules = "prefix_rule(['b', 'c'])\nprefix_rule([['bb', 'a'], 'x'])\nprefix_rule(['z'])\n\
                 prefix_rule(['no'], 'prompt')\nprefix_rule(['z'])";
    let text = "- [\"z\"]\n- [\"a\", \"x\"]\n- [\"b\", \"c\"]\n- [\"bb\", \"x\"]";
    assert_eq!(policy(rules).allowed_prefixes_text(), text);
    assert_eq!(RuleSet::default().allowed_prefixes_text(), "");
    let many: String = (0..150)
        .map(|n| format!("prefix_rule(['c{n}'])\n"))
        .collect();
    let text = policy(&many).allowed_prefixes_text();
    assert_eq!(text.lines().count(), 102);
    assert!(text.ends_with("\n...\n[Some commands were truncated]"));
    let long = policy(&format!("prefix_rule(['{}'])", "c".repeat(5000))).allowed_prefixes_text();
    assert_eq!(long, "...\n[Some commands were truncated]");
    let wide = "['a','b','c','d'],".repeat(30);
    assert!(
        policy(&format!("prefix_rule([{wide}])"))
            .allowed_prefixes_text()
            .len()
            < 5100
    );
}

#[test]
fn proposals() {
    let may = |policy: &RuleSet, prefix: &str, commands: &[&str]| {
        let line = |line: &&str| words(line).into_iter().map(ToOwned::to_owned).collect();
        let commands: Vec<Vec<String>> = commands.iter().map(line).collect();
        policy.may_propose(&line(&prefix), &commands)
    };
    let none = RuleSet::default();
    assert!(may(&none, "cargo test", &["cargo test -q"]));
    assert!(may(&none, "git push", &["git push a", "git push b"]));
    assert!(!may(&none, "cargo test", &["cargo test", "ls"]));
    assert!(!may(&none, "cargo test", &[]));
    assert!(!may(
        &policy("prefix_rule(['cargo'], 'prompt')"),
        "cargo test",
        &["cargo test"]
    ));
    for banned in [
        "git",
        "env",
        "sudo",
        "osascript",
        "bash",
        "sh -c",
        "/bin/zsh -lc",
        "pwsh",
        "powershell.exe -Command",
        "python3 -c",
        "python -",
        "py -3",
        "pypy3",
        "node -e",
        "perl",
        "ruby -e",
        "php -r",
        "lua -e",
    ] {
        assert!(!may(&none, banned, &[&format!("{banned} x")]), "{banned}");
    }
    for allowed in [
        "git status",
        "python3 -m pytest",
        "bash x.sh",
        "node x.js",
        "php -l",
    ] {
        assert!(may(&none, allowed, &[allowed]), "{allowed}");
    }
}

#[test]
fn deep_rules_need_no_deep_stack() {
    let work = || {
        let loops: String = (0..60)
            .map(|depth| format!("{}for a in [1, 2]:\n", " ".repeat(depth)))
            .collect();
        let texts = [
            "[".repeat(100_000),
            "(".repeat(100_000),
            "f(".repeat(100_000),
            "[x for y in ".repeat(10_000),
            "x = 1 +".repeat(10_000),
            format!("{loops}{}x = [x]\n", " ".repeat(60)),
            format!("x = []\n{loops}{}x = [x]\n", " ".repeat(60)),
            format!("x = []\n{}", "x = [x]\n".repeat(1000)),
        ];
        for text in texts {
            let mut policy = RuleSet::default();
            assert!(policy.add_file("p.rules", &text).is_err());
        }
    };
    let thread = std::thread::Builder::new().stack_size(512 * 1024);
    let ended = thread.spawn(work).map(std::thread::JoinHandle::join);
    assert!(matches!(ended, Ok(Ok(()))));
}

#[test]
fn only_denying_host_rules_limit_the_network() {
    let limits = |text: &str| {
        let mut rules = RuleSet::default();
        let _ = rules.add_file("x.rules", text);
        let found = rules.host_rules();
        [found.limiting.into_iter().collect(), found.unknown].concat()
    };
    let rule = |host: &str, decision: &str| {
        format!("network_rule(host=\"{host}\", protocol=\"http\", decision=\"{decision}\")\n")
    };
    assert!(limits("").is_empty());
    assert!(limits(&rule("a.test", "allow")).is_empty());
    for decision in ["deny", "forbidden", "prompt"] {
        let one = limits(&(rule("b.test", "allow") + &rule("a.test", decision)));
        assert_eq!(one, ["`network_rule(host=\"a.test\")`"], "{decision}");
    }
    let both = limits(&(rule("a.test", "deny") + &rule("b.test", "deny")));
    assert_eq!(both, ["`network_rule(host=\"a.test\")` and 1 more"]);
    let broken = limits(&(rule("a.test", "deny") + "prefix_rule("));
    assert_eq!(broken, ["a `network_rule` in x.rules, which has an error"]);
    assert!(limits("prefix_rule(").is_empty());
}

#[test]
fn deny_rules_hold_for_all_ports() {
    let entries = |host: &str, protocol: &str, decision: &str| {
        let mut rules = RuleSet::default();
        let text = format!(
            "network_rule(host=\"{host}\", protocol=\"{protocol}\", decision=\"{decision}\")\n"
        );
        rules.add_file("x.rules", &text).unwrap();
        let found = rules.host_rules();
        assert!(found.unknown.is_empty() || decision != "allow");
        let entries = found.list.entries.iter();
        let entries = entries.map(|entry| (entry.pattern.to_string(), entry.decision));
        entries.collect::<Vec<_>>()
    };
    use codex_host_policy::HostDecision::{Allow, Ask, Deny};
    for (host, protocol, decision, expected) in [
        ("a.test", "http", "allow", Some(("a.test:80", Allow))),
        ("a.test", "https", "allow", Some(("a.test:443", Allow))),
        ("a.test", "socks5_tcp", "allow", Some(("a.test", Allow))),
        (
            "a.test:5432",
            "socks5_tcp",
            "allow",
            Some(("a.test:5432", Allow)),
        ),
        ("a.test:8080", "http", "allow", Some(("a.test:8080", Allow))),
        ("a.test", "socks5_udp", "allow", None),
        ("a.test:8080", "http", "deny", Some(("a.test", Deny))),
        ("[::1]:80", "http", "prompt", Some(("::1", Ask))),
        ("no_host!", "http", "allow", None),
        ("no_host!", "http", "deny", None),
    ] {
        let expected: Vec<_> = expected
            .map(|(pattern, decision)| (pattern.to_owned(), decision))
            .into_iter()
            .collect();
        assert_eq!(
            entries(host, protocol, decision),
            expected,
            "{host} {protocol} {decision}"
        );
    }
}
