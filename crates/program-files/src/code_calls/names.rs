//! The names of calls that run code, and of values that are known.

use crate::interpreters::Language;

/// What calls of a name mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallKind {
    /// Runs code. A method of this name does something else.
    Function,
    /// Runs code, also as a method.
    Method,
    /// Says where code is imported from.
    Folder,
    /// Starts a program.
    Process,
    /// Starts a program, or does something else.
    OtherProcess,
}

pub(super) fn names_of(language: Language) -> &'static [(&'static str, CallKind)] {
    use CallKind::{Folder, Function, Method};
    match language {
        Language::Python => &[
            ("exec", Function),
            ("eval", Function),
            ("execfile", Function),
            ("compile", Function),
            ("__import__", Method),
            ("import_module", Method),
            ("run_path", Method),
            ("run_module", Method),
            ("load_source", Method),
            ("spec_from_file_location", Method),
            ("SourceFileLoader", Method),
            ("runsource", Method),
            ("runcode", Method),
            ("iter_modules", Method),
            ("walk_packages", Method),
            ("pickle.load", Method),
            ("Unpickler", Method),
            ("CDLL", Method),
            ("LoadLibrary", Method),
            ("addsitedir", Folder),
            ("sys.path", Folder),
        ],
        Language::JavaScript => &[
            ("require", Function),
            ("import", Function),
            ("eval", Function),
            ("runInThisContext", Method),
            ("runInNewContext", Method),
            ("runInContext", Method),
            ("_load", Method),
            ("_compile", Method),
            ("compileFunction", Method),
            ("Script", Method),
            ("dlopen", Method),
            ("Worker", Method),
            ("module.paths", Folder),
        ],
        Language::Perl => &[
            ("do", Function),
            ("require", Function),
            ("eval", Function),
            ("use lib", Folder),
            ("@INC", Folder),
        ],
        Language::Ruby => &[
            ("require", Function),
            ("require_relative", Function),
            ("load", Function),
            ("eval", Function),
            ("instance_eval", Method),
            ("class_eval", Method),
            ("$LOAD_PATH", Folder),
            ("$:", Folder),
        ],
        Language::Php => &[
            ("include", Function),
            ("include_once", Function),
            ("require", Function),
            ("require_once", Function),
            ("eval", Function),
            ("set_include_path", Folder),
        ],
        Language::Lua => &[
            ("dofile", Function),
            ("loadfile", Function),
            ("load", Function),
            ("loadstring", Function),
            ("require", Function),
            ("package.path", Folder),
            ("package.cpath", Folder),
        ],
        Language::Shell | Language::Code | Language::Other => &[],
    }
}

/// Functions that start programs. What they start counts in code that stands in a line.
pub(super) const PROCESS_NAMES: [&str; 38] = [
    "Deno.Command",
    "system",
    "popen",
    "Popen",
    "check_call",
    "check_output",
    "getoutput",
    "getstatusoutput",
    "subprocess.run",
    "subprocess.call",
    "execv",
    "execvp",
    "execl",
    "execlp",
    "execve",
    "execvpe",
    "execle",
    "execlpe",
    "execSync",
    "execFile",
    "execFileSync",
    "spawn",
    "spawnSync",
    "spawnl",
    "spawnlp",
    "spawnv",
    "spawnvp",
    "spawnve",
    "spawnvpe",
    "posix_spawn",
    "posix_spawnp",
    "create_subprocess_exec",
    "create_subprocess_shell",
    "fork",
    "shell_exec",
    "passthru",
    "proc_open",
    "os.execute",
];

/// Functions that start programs, among others of the same names.
pub(super) const OTHER_PROCESS_NAMES: [&str; 12] = [
    "call",
    "capture",
    "capture2",
    "capture2e",
    "capture3",
    "exec",
    "execa",
    "execaCommand",
    "execaSync",
    "pipeline",
    "run",
    "sh",
];

pub(super) fn other_process_names(language: Language) -> &'static [&'static str] {
    // In Python, one of them runs code.
    match language {
        Language::Python => &["call", "run"],
        Language::Lua | Language::Shell | Language::Code | Language::Other => &[],
        _ => &OTHER_PROCESS_NAMES,
    }
}

/// Whether a call finds what it runs from the working folder on, and not from the folder of its file.
pub(super) fn reads_working_folder(name: &str, language: Language) -> bool {
    match language {
        Language::Python => ![
            "__import__",
            "addsitedir",
            "compile",
            "eval",
            "import_module",
            "run_module",
            "sys.path",
        ]
        .contains(&name),
        Language::Perl => ["do", "require"].contains(&name),
        Language::Ruby => ["load", "eval", "instance_eval", "class_eval"].contains(&name),
        Language::Php | Language::Lua => true,
        _ => false,
    }
}

/// Names of values that are known, and words of the language.
pub(super) const KNOWN_VALUES: [&str; 21] = [
    "DIR",
    "FILE",
    "False",
    "None",
    "True",
    "__DIR__",
    "__FILE__",
    "__dir__",
    "__dirname",
    "__file__",
    "__filename",
    "__main__",
    "__name__",
    "await",
    "import",
    "new",
    "null",
    "strict",
    "true",
    "false",
    "undefined",
];

/// Names that are no values of their own: modules, functions that read files and join paths, and their named arguments.
pub(super) const KNOWN_NAMES: [&str; 64] = [
    "File",
    "Path",
    "URL",
    "absolute",
    "absolutePath",
    "abspath",
    "append",
    "as_posix",
    "asyncio",
    "builtins",
    "compile",
    "cwd",
    "decode",
    "default",
    "dirname",
    "encode",
    "encoding",
    "errors",
    "eval",
    "exec",
    "expand_path",
    "extend",
    "fileURLToPath",
    "filename",
    "fs",
    "getcwd",
    "globals",
    "href",
    "importlib",
    "init_globals",
    "insert",
    "io",
    "join",
    "locals",
    "meta",
    "mode",
    "node",
    "normalize",
    "normpath",
    "open",
    "os",
    "package",
    "parent",
    "parents",
    "path",
    "pathToFileURL",
    "pathlib",
    "process",
    "pwd",
    "read",
    "readFileSync",
    "read_bytes",
    "read_text",
    "realpath",
    "replace",
    "require",
    "resolve",
    "run_name",
    "str",
    "sys",
    "toString",
    "unshift",
    "url",
    "util",
];
