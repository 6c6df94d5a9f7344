//! Who carries out the calls of cells.

use std::fmt::Debug;
use std::sync::Arc;

use codex_code_mode::ScriptTool;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::Value;

use crate::turn_rights::TurnRights;
use crate::turn_settings::TurnSettings;

/// A turn, as cells see it.
pub trait ScriptCaller: Debug + Send + Sync {
    /// What scripts can call.
    fn tools(&self) -> Arc<[ScriptTool]>;

    /// Carries a call out.
    fn call(
        self: Arc<Self>,
        call: ScriptCall,
    ) -> BoxFuture<'static, Result<Value, ScriptRejection>>;

    /// Gives the model another output for the call of a cell.
    fn notify(&self, call_id: &str, text: String);
}

/// The text that the promise of a call is rejected with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ScriptRejection(pub String);

/// A call of a cell.
#[derive(Debug)]
pub struct ScriptCall {
    pub cell: u64,
    /// The number of the call in its cell.
    pub number: u64,
    /// The name of the function.
    pub name: String,
    pub input: Value,
    /// Whether the tool is named as the model names it, and the result is the whole output item: a console calls.
    pub is_raw: bool,
    /// What the call may do at most.
    pub origin: ScriptOrigin,
}

/// The turn that began a script. The script has its rights at most, however long it goes on.
#[derive(Clone, Debug)]
pub struct ScriptOrigin {
    pub turn: Arc<str>,
    pub rights: Arc<TurnRights>,
}

impl ScriptOrigin {
    pub fn for_turn(turn: &TurnSettings) -> Self {
        Self {
            turn: Arc::clone(&turn.id),
            rights: Arc::new(TurnRights::for_turn(turn)),
        }
    }
}

/// Takes the result of a call as a value, where it is more than text.
#[derive(Clone, Debug, Default)]
pub struct ScriptValue(Arc<Mutex<Option<Value>>>);

impl ScriptValue {
    pub fn set(&self, value: Value) {
        *self.0.lock() = Some(value);
    }

    pub fn take(&self) -> Option<Value> {
        self.0.lock().take()
    }
}
