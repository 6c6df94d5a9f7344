//! Ways of code to reach variables by their names or through references, so that no statement shows what they are set to.

use super::places::{is_comment, is_part_of_name};
use crate::interpreters::Language;

/// Names that stand for all variables, or that run text which may set any.
const NAMES: [(Language, &[&str]); 6] = [
    (
        Language::Python,
        &[
            "__dict__",
            "__main__",
            "__setattr__",
            "_getframe",
            "currentframe",
            "delattr",
            "eval",
            "exec",
            "execfile",
            "f_globals",
            "f_locals",
            "globals",
            "locals",
            "setattr",
            "sys.modules",
        ],
    ),
    (
        Language::JavaScript,
        &[
            "Function",
            "Reflect",
            "eval",
            "global",
            "globalThis",
            "runInContext",
            "runInNewContext",
            "runInThisContext",
            "self",
            "with",
        ],
    ),
    (
        Language::Ruby,
        &[
            "TOPLEVEL_BINDING",
            "attr_accessor",
            "attr_writer",
            "binding",
            "class_eval",
            "class_exec",
            "class_variable_set",
            "const_set",
            "eval",
            "instance_eval",
            "instance_exec",
            "instance_variable_set",
            "local_variable_set",
            "module_eval",
        ],
    ),
    (
        Language::Perl,
        &["main::", "read", "recv", "sysread", "vec"],
    ),
    (
        Language::Php,
        &["GLOBALS", "eval", "extract", "parse_str", "preg_match"],
    ),
    (
        Language::Lua,
        &[
            "_ENV",
            "_G",
            "debug",
            "dofile",
            "load",
            "loadfile",
            "loadstring",
            "rawset",
            "setfenv",
            "setmetatable",
        ],
    ),
];

/// Signs that do the same.
const SIGNS: [(Language, &[&str]); 4] = [
    (Language::Python, &["vars()", "vars(sys", "vars(__"]),
    (
        Language::Perl,
        &[
            "$$",
            "$::",
            "%::",
            "*{",
            "${\"",
            "${'",
            "@{\"",
            "@{'",
            "\\$",
            "\\@",
            "\\my",
            "\\our",
            "do \"",
            "do '",
            "do $",
            "do(",
            "eval \"",
            "eval $",
            "eval '",
            "eval(",
            "eval q",
            "no strict",
            "require $",
            "require \"",
            "require '",
        ],
    ),
    (Language::Php, &["$$", "${", "&$"]),
    (Language::Ruby, &["alias $"]),
];

/// Whether a text may set variables without naming them before a sign that assigns.
pub(super) fn sets_variables_unseen(text: &str, language: Language) -> bool {
    let of = |lists: &[(Language, &'static [&'static str])]| {
        let list = lists.iter().find(|(it, _)| *it == language);
        list.map_or(&[][..], |(_, list)| *list)
    };
    let is_code = |at: usize| !is_comment(text, at);
    of(&NAMES).iter().any(|name| {
        let mut places = text.match_indices(name);
        places.any(|(at, _)| is_code(at) && is_whole(text, at, name))
    }) || of(&SIGNS).iter().any(|sign| {
        let mut places = text.match_indices(sign);
        places.any(|(at, _)| is_code(at))
    }) || (language == Language::Perl && assigns_glob(text))
}

/// Whether a name stands here alone: no part of another one, no method of another meaning, no text.
fn is_whole(text: &str, at: usize, name: &str) -> bool {
    let (before, after) = (&text[..at], &text[at + name.len()..]);
    let is_method = ["eval", "exec", "load", "read"].contains(&name) && before.ends_with('.');
    // `if __name__ == "__main__"`
    let is_text =
        name == "__main__" && before.ends_with(['"', '\'']) && after.starts_with(['"', '\'']);
    !before.ends_with(is_part_of_name)
        && (name.ends_with(':') || !after.starts_with(is_part_of_name))
        && !is_method
        && !is_text
}

/// Whether all variables of a name are set together in Perl: `*name = …`.
fn assigns_glob(text: &str) -> bool {
    let mut statements = text.split([';', '\n', '{']);
    statements.any(|statement| {
        let rest = statement
            .trim_start()
            .strip_prefix("local ")
            .unwrap_or(statement);
        let name = rest.trim_start().strip_prefix('*');
        let rest = name.map(|name| name.trim_start_matches(|c| is_part_of_name(c) || c == ':'));
        rest.is_some_and(|rest| rest.trim_start().starts_with('='))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_that_may_set_any_variable_is_known() {
        use Language::{JavaScript, Lua, Perl, Php, Python, Ruby};
        for (language, text) in [
            (Python, "globals()['d'] = x"),
            (Python, "g = vars()\ng['d'] = x"),
            (Python, "setattr(m, 'd', x)"),
            (Python, "exec('d = 1')"),
            (Python, "import __main__\n__main__.d = x"),
            (Python, "sys.modules[__name__].__dict__['d'] = x"),
            (Python, "sys._getframe().f_globals['d'] = x"),
            (JavaScript, "global.d = x"),
            (JavaScript, "globalThis['d'] = x"),
            (JavaScript, "new Function('d = 1')()"),
            (JavaScript, "vm.runInThisContext('d = 1')"),
            (JavaScript, "Reflect.set(o, 'd', x)"),
            (JavaScript, "with (o) { d = x }"),
            (Ruby, "binding.local_variable_set(:d, x)"),
            (Ruby, "instance_variable_set(:@d, x)"),
            (Ruby, "self.send(:instance_variable_set, '@d', x)"),
            (Perl, "*{'main::d'} = \\$x;"),
            (Perl, "*d = x;"),
            (Perl, "my $r = \\$d; $$r = 1;"),
            (Perl, "eval \"\\$d = 1\";"),
            (Perl, "read(STDIN, $d, 10);"),
            (Perl, "$main::d = 1;"),
            (Php, "$$n = 1;"),
            (Php, "extract($x);"),
            (Php, "function f(&$d) { }"),
            (Lua, "_G['d'] = x"),
        ] {
            assert!(sets_variables_unseen(text, language), "{text}");
        }
        for (language, text) in [
            (Python, "if __name__ == '__main__':\n  main(vars(args))"),
            (Python, "# exec(x)\nmodel.eval()"),
            (JavaScript, "/x/.exec(y); const globals = 1"),
            (Perl, "eval { f() }; my $x = $y * $z;"),
            (Ruby, "x.evaluate"),
            (Php, "$a = $b && $c;"),
        ] {
            assert!(!sets_variables_unseen(text, language), "{text}");
        }
    }
}
