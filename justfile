# Shorthands for what a contributor does often. Everything here is plain cargo underneath.

# This list.
default:
    @{{ just_executable() }} --list

# Everything that must pass before a change lands.
ci:
    .ci/run

# The tests; ARGS choose among them, for example `just test -p codex-core approvals`.
test *ARGS:
    cargo test {{ if ARGS == "" { "--workspace" } else { ARGS } }}

# Format everything.
fmt:
    cargo fmt --all

# The program that the benches measure, unless CODEX names another one.
[private]
program:
    {{ if env("CODEX", "") == "" { "cargo build --release -p codex-cli" } else { "true" } }}

# Write schema/ and docs/methods.md again after a change of the protocol; OPTIONS go to cargo.
write-app-server-schema *OPTIONS:
    cargo run --quiet {{OPTIONS}} -p codex-app-server-protocol --example write_schema

# Write the table of behaviours in docs/compatibility.md again.
write-behaviours:
    CODEX_WRITE_DOCUMENTS=1 cargo test --quiet -p codex-projection --lib the_table_of_behaviours

# Write schema/config.json and the tables of docs/configuration.md again after a change of the settings.
write-settings:
    CODEX_WRITE_DOCUMENTS=1 cargo test --quiet -p codex-config --lib settings_schema

# Write schema/scenario.json again after a change of the scenario format.
write-scenario-schema:
    cargo run --quiet -p codex-scenario --example write_scenario_schema

# The time to read and to write the largest and the most frequent message.
bench-messages:
    cargo bench --quiet -p codex-app-server-protocol --bench messages

# The time that lists of threads and long threads take; CODEX names the binary.
bench-threads: program
    benches/thread_lists.py codex=${CODEX:-target/release/codex}
    benches/long_threads.py codex=${CODEX:-target/release/codex}

# The time that searches over 10,000 threads take, and pages of a long thread; CODEX names the binary.
bench-searches: program
    benches/searches.py codex=${CODEX:-target/release/codex}

# What recording a trace costs a turn of the server; CODEX names the binary.
bench-tracing: program
    benches/tracing.py codex=${CODEX:-target/release/codex}

# What a websocket to the model saves a turn; REFERENCE names another codex to compare with.
bench-model-websocket: program
    benches/model_websocket.py ${CODEX:-target/release/codex} ${REFERENCE:-}

# Ten minutes of sound in a realtime conversation: the memory of the server must not grow.
bench-realtime: program
    benches/realtime.py ${CODEX:-target/release/codex}

# The table of the README; CODEX and REFERENCE name the binaries.
bench-comparison: program
    benches/comparison.py ${CODEX:-target/release/codex} ${REFERENCE:?names the codex to compare with}

# What the server takes at large sizes: long threads, many threads, many clients, a day of use; CODEX names the binary.
bench-scale *OPTIONS: program
    benches/scale.py {{OPTIONS}} ${CODEX:-target/release/codex}

# Fails if the binary is slower or larger than the last release, or than BASE.
bench-check *OPTIONS: program
    benches/check.py {{OPTIONS}} ${BASE:+--base $BASE} ${CODEX:-target/release/codex}

# The lines of session, turn, gate, queue and stores that no seed of the simulator reaches; ARGS are those of codex-simulator.
simulator-coverage *ARGS:
    crates/simulator/coverage.py {{ARGS}}
