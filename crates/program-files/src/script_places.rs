//! The folder of a script, as scripts for a shell find it.

use std::path::Path;

/// A script with the folder in it that it finds itself in, and with the names that make has for itself.
pub(crate) fn with_known_places(text: &str, folder: &Path) -> String {
    const OWN_FOLDERS: [&str; 9] = [
        "$(dirname \"$0\")",
        "$(dirname $0)",
        "$(dirname -- \"$0\")",
        "$(dirname \"${BASH_SOURCE[0]}\")",
        "$(dirname -- \"${BASH_SOURCE[0]}\")",
        "$(dirname \"$BASH_SOURCE\")",
        "${0%/*}",
        "${BASH_SOURCE%/*}",
        "${BASH_SOURCE[0]%/*}",
    ];
    let folder = folder.display().to_string();
    let mut text = text.replace("$(MAKE)", "make").replace("${MAKE}", "make");
    text = text.replace("$( ", "$(").replace(" )", ")");
    for own in ["\"$0\"", "$0", "\"${BASH_SOURCE[0]}\"", "\"$BASH_SOURCE\""] {
        for real in ["readlink -f", "realpath"] {
            text = text.replace(&format!("$({real} {own})"), "$0");
        }
    }
    for own in OWN_FOLDERS {
        text = text.replace(own, &folder);
    }
    for rest in [
        "&& pwd",
        "&& pwd -P",
        ">/dev/null 2>&1 && pwd",
        "> /dev/null && pwd",
        "; pwd",
    ] {
        for quoted in [
            format!("\"{folder}\" "),
            format!("{folder} "),
            format!("-- \"{folder}\" "),
        ] {
            text = text.replace(&format!("$(cd {quoted}{rest})"), &folder);
        }
    }
    text
}
