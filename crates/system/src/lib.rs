//! Layer: foundation. What operating systems do differently, a module for each concern.
//!
//! Larger concerns have crates or modules of their own, which other code uses without knowing the system: processes and
//! terminals (`codex-exec`), the sandbox (`codex-sandbox`), watching (`codex-file-watch`), locks (`codex-rollout`), the
//! keyring (`codex-login`).
//!
//! Code map: `file` (modes, kinds and numbers of files), `link` (links, and different paths of the same file), `copying`
//! (contents and folders), `name` (paths as bytes), `signals` (requests to end), `output` (standard output without waiting),
//! `process` (priority, and the terminal of a program), `background` (one process in the background, and who it is),
//! `local_socket` (connections to sockets that are files), `facts` (what is true of the system as a whole).

pub mod background;
pub mod copying;
pub mod facts;
pub mod file;
pub mod link;
pub mod local_socket;
pub mod name;
pub mod output;
pub mod process;
pub mod signals;
