//! What a turn learns about other machines before the model is asked.

use std::collections::BTreeMap;
use std::sync::Arc;

use codex_protocol::{EnvironmentChoice, EventMsg, WarningEvent};
use codex_session_base::machines::{joined, place_of, read_instructions};
use futures::future::join_all;

use super::recording::RunningTurn;

impl RunningTurn<'_> {
    /// Asks the other machines of the turn which shells they have. One that cannot be reached is left out.
    pub(crate) async fn learn_shells(&self) {
        let settings = &self.scope.settings;
        let machines = self.scope.session.config.services.machines.as_ref();
        let elsewhere = settings.environments.iter().filter(|one| !one.is_local());
        let asked = elsewhere.filter_map(|choice| {
            let place = place_of(choice, machines).ok()?;
            Some(async move {
                let facts = place.machine.facts().await.ok()?;
                Some((choice.id.clone(), facts.shell.path.clone()))
            })
        });
        let asked = join_all(asked);
        let known: BTreeMap<String, String> = tokio::select! {
            biased;
            () = self.scope.stop.stopped() => return,
            known = asked => known.into_iter().flatten().collect(),
        };
        let _ = settings.shells.set(known);
    }

    /// Reads the instruction files of the user, and those of the project on the other machine.
    pub(super) async fn read_instructions_there(&self, first: &EnvironmentChoice) {
        let settings = &self.scope.settings;
        let services = &self.scope.session.config.services;
        if services.replay.is_some() {
            return;
        }
        let project = match (
            place_of(first, services.machines.as_ref()),
            &services.machines,
        ) {
            (Ok(place), Some(machines)) => tokio::select! {
                biased;
                () = self.scope.stop.stopped() => return,
                read = read_instructions(&place, machines) => read.map_err(|error| error.to_string()),
            },
            (Err(error), _) => Err(error.to_string()),
            (Ok(_), None) => return,
        };
        let project = match project {
            Ok(project) => project.text,
            Err(reason) => {
                let message = format!(
                    "The instruction files of `{}` cannot be read: {reason}",
                    first.id
                );
                self.emitter
                    .emit(EventMsg::Warning(WarningEvent { message }));
                // What was read when the thread began stays.
                return;
            }
        };
        let Some(files) = services.instruction_files.clone() else {
            return;
        };
        let own = tokio::task::spawn_blocking(move || files.read(None)).await;
        let own = own.unwrap_or_default();
        let text = joined(own, project);
        let _ = settings.current_instructions.set(text.map(Arc::from));
    }
}
