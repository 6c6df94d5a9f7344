//! A change of a thread, encoded once for each form in which clients get it.

use std::borrow::Cow;

use bytes::Bytes;
use codex_app_server_protocol::ServerNotification;
use codex_projection::Change;
use codex_projection::dialect::{Dialect, Forms};

use crate::connection::{Connection, encode_notification};

/// The forms of one change that were needed so far.
pub(crate) struct EncodedForms<'a> {
    change: &'a Change,
    newest: Option<Bytes>,
    forms: Vec<(Dialect, Vec<EncodedForm<'a>>)>,
}

struct EncodedForm<'a> {
    notification: Cow<'a, ServerNotification>,
    /// Encoded when it is sent first.
    line: Option<Bytes>,
}

impl<'a> EncodedForms<'a> {
    pub(crate) fn new(change: &'a Change) -> Self {
        Self {
            change,
            newest: None,
            forms: Vec::new(),
        }
    }

    /// Sends a client the change in the form of a dialect, as far as it wants that.
    pub(crate) fn send(&mut self, connection: &Connection, dialect: Dialect) {
        let position = self.position_of(dialect);
        for form in &mut self.forms[position].1 {
            if !connection.wants(form.notification.method()) {
                continue;
            }
            let line = match (&form.line, &form.notification) {
                (Some(line), _) => line.clone(),
                (None, Cow::Borrowed(newest)) => {
                    let encode = || encode_notification(newest);
                    self.newest.get_or_insert_with(encode).clone()
                }
                (None, Cow::Owned(older)) => encode_notification(older),
            };
            form.line = Some(line.clone());
            connection.push_notification(line);
        }
    }

    fn position_of(&mut self, dialect: Dialect) -> usize {
        let known = self.forms.iter().position(|(known, _)| *known == dialect);
        known.unwrap_or_else(|| {
            let form = |notification| EncodedForm {
                notification,
                line: None,
            };
            let forms = match dialect.forms(self.change) {
                Forms::Nothing => Vec::new(),
                Forms::Newest => vec![form(Cow::Borrowed(&self.change.notification))],
                Forms::One(older) => vec![form(Cow::Owned(*older))],
                Forms::Two(both) => both.map(|one| form(Cow::Owned(one))).into(),
            };
            self.forms.push((dialect, forms));
            self.forms.len() - 1
        })
    }
}
