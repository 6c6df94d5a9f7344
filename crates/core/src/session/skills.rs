//! Listing skills.

use std::path::Path;

use codex_protocol::{EventMsg, ListSkillsResponseEvent, SkillsListEntry};
use codex_skills::SkillSet;

use super::actor::SessionActor;
use crate::turn::read_skills;

impl SessionActor {
    /// Lists the skills of folders; by default of the thread's folder.
    pub(super) fn list_skills(&self, id: String, cwds: Vec<String>, reload: bool) {
        let emitter = self.context.emitter.clone();
        let own = self.settings().cwd.display().to_string();
        let library = self.context.config.services.skills.clone();
        let folders = if cwds.is_empty() { vec![own] } else { cwds };
        tokio::spawn(async move {
            if let Some(library) = library.as_ref().filter(|_| reload) {
                library.forget();
            }
            let mut skills = Vec::with_capacity(folders.len());
            for cwd in folders {
                let found = match &library {
                    Some(library) => read_skills(library, Path::new(&cwd)).await,
                    None => None,
                };
                skills.push(entry(cwd, &found.unwrap_or_default()));
            }
            let listed = ListSkillsResponseEvent { skills };
            emitter.emit(&id, EventMsg::ListSkillsResponse(listed));
        });
    }
}

fn entry(cwd: String, skills: &SkillSet) -> SkillsListEntry {
    let all = skills.all.iter().map(|skill| skill.metadata.clone());
    SkillsListEntry {
        cwd,
        skills: all.collect(),
        errors: skills.errors.clone(),
    }
}
