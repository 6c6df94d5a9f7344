//! All settings of a repository that can name a program.

/// The hooks that query commands could run.
pub(crate) const HOOKS: [&str; 6] = [
    "post-checkout",
    "post-index-change",
    "pre-auto-gc",
    "pre-commit",
    "reference-transaction",
    "fsmonitor-watchman",
];

pub(crate) fn settings(program: &str) -> Vec<(String, String)> {
    let programs = [
        "alias.diff",
        "alias.add",
        "browser.x.cmd",
        "core.alternateRefsCommand",
        "core.askPass",
        "core.editor",
        "core.fsmonitor",
        "core.gitProxy",
        "core.pager",
        "core.sshCommand",
        "credential.helper",
        "diff.external",
        "diff.x.command",
        "diff.x.textconv",
        "difftool.x.cmd",
        "filter.x.clean",
        "filter.x.process",
        "filter.x.smudge",
        "gpg.openpgp.program",
        "gpg.program",
        "gpg.ssh.program",
        "gpg.x509.program",
        "interactive.diffFilter",
        "man.x.cmd",
        "merge.x.driver",
        "mergetool.x.cmd",
        "pager.add",
        "pager.diff",
        "remote.origin.receivepack",
        "remote.origin.uploadpack",
        "sequence.editor",
        "submodule.sub.update",
        "uploadpack.packObjectsHook",
    ];
    let values = [
        ("commit.gpgSign", "true"),
        ("diff.submodule", "diff"),
        ("diff.ignoreSubmodules", "none"),
        ("extensions.partialClone", "origin"),
        ("filter.x.required", "true"),
        ("log.showSignature", "true"),
        ("protocol.ext.allow", "always"),
        ("protocol.file.allow", "always"),
        ("remote.origin.promisor", "true"),
        ("status.submoduleSummary", "true"),
        ("submodule.recurse", "true"),
    ];
    let programs = programs.map(|name| (name.to_owned(), program.to_owned()));
    let values = values.map(|(name, value)| (name.to_owned(), value.to_owned()));
    programs.into_iter().chain(values).collect()
}
