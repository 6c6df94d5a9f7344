//! Whether a patch may be applied.

use std::path::PathBuf;

use codex_protocol::{AskForApproval, ReviewDecision};

use super::{Ask, CacheKey, Confinement, Decision, Memory, Pass, PatchEffect, Posture};

/// Decides by the paths that are really written.
pub(crate) fn decide(patch: &PatchEffect, posture: &Posture, memory: &Memory) -> Decision {
    if patch.changes.is_empty() {
        return Decision::Refuse("patch rejected: empty patch".to_owned());
    }
    let grants = memory.grants();
    let pass = |approved| Pass {
        confinement: Confinement::Policy(grants.clone()),
        approved,
    };
    let granted = |path: &PathBuf| grants.write.iter().any(|root| within(path, root));
    if !grants.write.is_empty() && patch.touched.iter().all(granted) {
        return Decision::Run(pass(false));
    }
    let keys: Vec<CacheKey> = patch.touched.iter().cloned().map(CacheKey::Path).collect();
    if memory.is_approved(&keys) {
        return Decision::Run(pass(true));
    }
    let inside = posture.may_write(&patch.touched, grants.clone());
    if inside && posture.approval != AskForApproval::UnlessTrusted {
        return Decision::Run(pass(false));
    }
    if !posture.may_ask_about_sandbox() {
        return Decision::Refuse(
            "patch rejected: writing outside of the project; rejected by user approval settings"
                .to_owned(),
        );
    }
    Decision::Ask(Ask {
        reason: None,
        amendment: None,
        lifts_sandbox: false,
        offered: vec![ReviewDecision::Approved, ReviewDecision::Abort],
        keys,
        then: pass(true),
    })
}

fn within(path: &std::path::Path, root: &std::path::Path) -> bool {
    path.starts_with(root)
}
