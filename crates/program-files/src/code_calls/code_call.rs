//! A call in code that runs other code.

/// Longer calls are computed.
pub(super) const MAX_CALL: usize = 2000;
/// Limit on the calls of a text.
pub(super) const MAX_CALLS: usize = 512;

/// A call that runs code, or that says where code is imported from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CodeCall {
    /// The call as the code has it, for people.
    pub(crate) shown: String,
    /// The texts in it.
    pub(crate) literals: Vec<String>,
    /// What programs it starts, as lines for a shell.
    pub(crate) lines: Vec<String>,
    /// The folders that the process changes to, from which the texts may begin.
    pub(crate) folders: Vec<String>,
    /// How many folders above that of its file the paths in it may begin.
    pub(crate) levels: usize,
    /// Whether it is not known before what it runs.
    pub(crate) is_computed: bool,
    /// Whether it finds what it runs from the working folder on.
    pub(crate) reads_working_folder: bool,
    /// Whether it names folders that code is imported from.
    pub(crate) is_folder: bool,
}

impl CodeCall {
    /// The paths that it may name: each text, and all of them joined.
    pub(crate) fn paths(&self) -> Vec<String> {
        if self.is_folder {
            // Lists of folders, and patterns of Lua.
            let lists = self
                .literals
                .iter()
                .flat_map(|list| list.split([':', ';', ',']));
            let folders = lists.map(|folder| folder.split('?').next().unwrap_or_default());
            let folders = folders.chain(self.literals.iter().map(String::as_str));
            return folders
                .filter(|folder| !folder.is_empty())
                .map(str::to_owned)
                .collect();
        }
        let words = self.literals.iter().filter(|text| text.contains(' '));
        let words: Vec<&str> = words.flat_map(|text| text.split_whitespace()).collect();
        let parts = self.literals.iter().map(|part| part.trim_matches('/'));
        let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
        let mut paths = self.literals.clone();
        paths.extend(words.into_iter().map(str::to_owned));
        paths.extend((2..=parts.len()).map(|count| parts[..count].join("/")));
        paths.retain(|path| !path.is_empty());
        paths
    }
}
