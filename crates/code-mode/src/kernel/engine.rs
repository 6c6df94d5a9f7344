//! The JavaScript engine with the globals of cells. It is made once, before the first cell; cells are forked from it.

use std::time::Duration;

use rquickjs::context::{EvalOptions, intrinsic};
use rquickjs::function::{Func, Opt};
use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::module::{Declared, Module};
use rquickjs::{CatchResultExt, Context, Ctx, Error, Function, Object, Persistent, Runtime, Value};

use super::cell;
/// The heap of a cell in bytes.
const CELL_HEAP: usize = 128 << 20;

/// The error of a script that has used its heap.
pub(super) const OUT_OF_MEMORY: &str = "InternalError: out of memory";

/// How deep the arguments of a call may be nested. Readers of JSON go 127 deep, and arguments are a part of what they read.
const DEEPEST_ARGUMENTS: usize = 100;

/// The stack of scripts in bytes. That of the process is larger.
const STACK: usize = 1 << 20;

/// What scripts can use of the language.
type Intrinsics = (
    intrinsic::Date,
    intrinsic::Eval,
    intrinsic::RegExpCompiler,
    intrinsic::RegExp,
    intrinsic::Json,
    intrinsic::Proxy,
    intrinsic::MapSet,
    intrinsic::TypedArrays,
    intrinsic::Promise,
    intrinsic::WeakRef,
);

/// The engine, ready for a cell.
pub(super) struct Engine {
    runtime: Runtime,
    context: Context,
    functions: Functions,
}

/// What the process calls in the engine.
#[derive(Clone)]
struct Functions {
    set_tools: Persistent<Function<'static>>,
    start: Persistent<Function<'static>>,
    start_console: Persistent<Function<'static>>,
    answer: Persistent<Function<'static>>,
    due: Persistent<Function<'static>>,
    results: Persistent<Function<'static>>,
    shown: Persistent<Function<'static>>,
}

/// How a script stands.
pub(super) enum ScriptState {
    Running,
    Completed,
    Failed(String),
}

impl Engine {
    pub(super) fn new() -> rquickjs::Result<Self> {
        let runtime = Runtime::new()?;
        runtime.set_memory_limit(CELL_HEAP);
        runtime.set_max_stack_size(STACK);
        runtime.set_loader(NoModules, NoModules);
        let context = Context::custom::<Intrinsics>(&runtime)?;
        let functions = context.with(|context| {
            let globals: Function<'_> = context.eval(include_str!("globals.js"))?;
            let functions: Object<'_> = globals.call((natives(&context)?,))?;
            let function = |name: &str| {
                let function: Function<'_> = functions.get(name)?;
                Ok::<_, Error>(Persistent::save(&context, function))
            };
            Ok::<_, Error>(Functions {
                set_tools: function("setTools")?,
                start: function("start")?,
                start_console: function("startConsole")?,
                answer: function("answer")?,
                due: function("due")?,
                results: function("results")?,
                shown: function("shown")?,
            })
        })?;
        Ok(Self {
            runtime,
            context,
            functions,
        })
    }

    /// Sets what cells that start from now on can call, as JSON. Done before there are cells, because each would do it again.
    pub(super) fn set_tools(&self, tools: &str) -> Result<(), String> {
        let set = self.call(&self.functions.set_tools, tools);
        self.runtime.run_gc();
        set
    }

    /// Runs a script until it waits. Returns it, to be passed to the other functions. `stored` is a JSON object.
    pub(super) fn start(&self, source: &str, stored: &str) -> Result<StartedScript, String> {
        self.within(|context| {
            let started = (|| {
                let start = self.functions.start.clone().restore(&context)?;
                start.call::<_, ()>((stored,))?;
                let module = Module::declare(context.clone(), "exec_main.mjs", source)?;
                cell::started();
                let (_, promise) = module.eval()?;
                Ok::<_, Error>(Persistent::save(&context, promise))
            })();
            match started.catch(&context) {
                Ok(promise) => Ok(StartedScript(promise)),
                Err(error) => Err(self.error(&context, error)),
            }
        })
    }

    /// Makes the cell a console.
    pub(super) fn start_console(&self, folders: &str) -> Result<(), String> {
        self.within(|context| {
            let started = (|| {
                let set_up: Function<'_> = context.eval(include_str!("repl.js"))?;
                let start = self.functions.start_console.clone().restore(&context)?;
                start.call::<_, ()>((set_up, folders))
            })();
            cell::started();
            started
                .catch(&context)
                .map_err(|error| self.error(&context, error))
        })
    }

    /// Runs a script of a console until it waits. What it declares stays.
    pub(super) fn begin(&self, source: &str) -> Result<StartedScript, String> {
        self.within(|context| {
            let mut options = EvalOptions::default();
            options.global = true;
            options.strict = false;
            options.promise = true;
            let begun = context
                .eval_with_options::<rquickjs::Promise<'_>, _>(source, options)
                .map(|promise| Persistent::save(&context, promise));
            match begun.catch(&context) {
                Ok(promise) => Ok(StartedScript(promise)),
                Err(error) => Err(self.error(&context, error)),
            }
        })
    }

    /// Passes the answer to a call on.
    pub(super) fn answer(&self, json: &str) -> Result<(), String> {
        self.call(&self.functions.answer, json)
    }

    /// Calls the function of a timer.
    pub(super) fn due(&self, timer: f64) -> Result<(), String> {
        self.call(&self.functions.due, timer)
    }

    /// What the script stored, as a JSON object.
    pub(super) fn results(&self) -> String {
        let results = self.context.with(|context| {
            let results = self.functions.results.clone().restore(&context)?;
            results.call::<_, String>(())
        });
        results.unwrap_or_else(|_| "{}".to_owned())
    }

    /// Whether a script that waits for nothing waits because its memory was exhausted: a promise is not settled if there
    /// is no memory to do it.
    pub(super) fn is_exhausted(&self) -> bool {
        let used = self.runtime.memory_usage().malloc_size;
        usize::try_from(used).is_ok_and(|used| used > CELL_HEAP / 4 * 3)
    }

    fn call(
        &self,
        function: &Persistent<Function<'static>>,
        argument: impl for<'js> rquickjs::IntoJs<'js>,
    ) -> Result<(), String> {
        self.within(|context| {
            let called = (|| {
                let function = function.clone().restore(&context)?;
                function.call::<_, ()>((argument,))
            })();
            called
                .catch(&context)
                .map_err(|error| self.error(&context, error))
        })
    }

    /// Does what became possible, and says how the script stands then.
    pub(super) fn proceed(&self, script: &StartedScript) -> ScriptState {
        // What scripts throw rejects a promise; a rejected promise that nobody waits for is no failure.
        while self.runtime.is_job_pending() {
            let _ = self.runtime.execute_pending_job();
        }
        let ended = self.within(|context| {
            let Ok(promise) = script.0.clone().restore(&context) else {
                return Err(Thrown::Text("the script is lost".to_owned()));
            };
            match promise.result::<Value<'_>>() {
                None => Ok(false),
                Some(result) => match result.catch(&context) {
                    Ok(_) => Ok(true),
                    Err(error) => Err(self.error(&context, error)),
                },
            }
        });
        match ended {
            Ok(false) => ScriptState::Running,
            Ok(true) => ScriptState::Completed,
            Err(error) => ScriptState::Failed(error),
        }
    }

    /// Works within the context. What is thrown becomes text outside of it, where the engine can be asked for its memory.
    fn within<T>(
        &self,
        work: impl for<'js> FnOnce(Ctx<'js>) -> Result<T, Thrown>,
    ) -> Result<T, String> {
        self.context.with(work).map_err(|thrown| match thrown {
            Thrown::Text(text) => text,
            // Without memory for an error the engine throws null.
            Thrown::Null if self.is_exhausted() => OUT_OF_MEMORY.to_owned(),
            Thrown::Null => "null".to_owned(),
        })
    }

    /// The text of what was thrown.
    fn error<'js>(&self, context: &Ctx<'js>, error: rquickjs::CaughtError<'js>) -> Thrown {
        let value = match error {
            rquickjs::CaughtError::Exception(exception) => exception.into_value(),
            rquickjs::CaughtError::Value(value) if value.is_null() => return Thrown::Null,
            rquickjs::CaughtError::Value(value) => value,
            rquickjs::CaughtError::Error(error) => return Thrown::Text(error.to_string()),
        };
        let shown = (self.functions.shown.clone().restore(context))
            .and_then(|shown| shown.call::<_, String>((value,)));
        Thrown::Text(shown.unwrap_or_else(|_| "the error cannot be shown".to_owned()))
    }
}

/// What a script threw.
enum Thrown {
    Null,
    Text(String),
}

/// A script that has started.
pub(super) struct StartedScript(Persistent<rquickjs::Promise<'static>>);

/// The functions below the globals.
fn natives<'js>(context: &Ctx<'js>) -> rquickjs::Result<Object<'js>> {
    let natives = Object::new(context.clone())?;
    natives.set("text", Func::from(|text: String| cell::send_text(&text)))?;
    natives.set(
        "image",
        Func::from(|url: String, detail: String| cell::send_image(&url, &detail)),
    )?;
    natives.set(
        "call",
        Func::from(|id: f64, name: String, input: String| cell::send_call(id, &name, &input)),
    )?;
    natives.set("isTooDeep", Func::from(|json: String| is_too_deep(&json)))?;
    natives.set(
        "notify",
        Func::from(|text: String| cell::send_notice(&text)),
    )?;
    natives.set("yield", Func::from(cell::send_yield))?;
    natives.set(
        "timer",
        Func::from(|id: f64, delay: f64| {
            let delay = Duration::try_from_secs_f64(delay / 1000.0);
            cell::set_timer(id, delay.unwrap_or(Duration::MAX));
        }),
    )?;
    let done = |_error: Opt<Value<'_>>, results: String| -> () { cell::done(None, &results) };
    natives.set("done", Func::from(done))?;
    Ok(natives)
}

/// Whether JSON is nested deeper than those who read it in messages, files and requests go along with.
fn is_too_deep(json: &str) -> bool {
    let (mut depth, mut is_text, mut is_escaped) = (0_usize, false, false);
    for byte in json.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            _ if is_text => {}
            b'[' | b'{' => {
                depth += 1;
                if depth > DEEPEST_ARGUMENTS {
                    return true;
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

/// Refuses all modules.
struct NoModules;

impl Resolver for NoModules {
    fn resolve<'js>(
        &mut self,
        context: &Ctx<'js>,
        _: &str,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> rquickjs::Result<String> {
        let refusal = if cell::is_started() {
            "unsupported import in exec".to_owned()
        } else {
            format!("Unsupported import in exec: {name}")
        };
        let refusal = rquickjs::String::from_str(context.clone(), &refusal)?;
        Err(context.throw(refusal.into_value()))
    }
}

impl Loader for NoModules {
    fn load<'js>(
        &mut self,
        _: &Ctx<'js>,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> rquickjs::Result<Module<'js, Declared>> {
        Err(Error::new_loading(name))
    }
}
