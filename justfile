# Shorthands for what a contributor does often. Everything here is plain cargo underneath.

# Everything that must pass before a change lands.
ci:
    .ci/run

# The tests alone.
test:
    cargo test --workspace

# Write schema/ and docs/methods.md again after a change of the protocol.
write-app-server-schema:
    cargo run --quiet -p codex-app-server-protocol --example write_schema

# Write schema/scenario.json again after a change of the scenario format.
write-scenario-schema:
    cargo run --quiet -p codex-scenario --example write_scenario_schema

# The time to read and to write the largest and the most frequent message.
bench-messages:
    cargo bench --quiet -p codex-app-server-protocol --bench messages

# The time that lists of threads and long threads take; CODEX names the binary.
bench-threads:
    benches/thread_lists.py codex=${CODEX:-target/release/codex}
    benches/long_threads.py codex=${CODEX:-target/release/codex}

# The time that searches over 10,000 threads take, and pages of a long thread; CODEX names the binary.
bench-searches:
    benches/searches.py codex=${CODEX:-target/release/codex}

# What recording a trace costs a turn of the server; CODEX names the binary.
bench-tracing:
    benches/tracing.py codex=${CODEX:-target/release/codex}

# What a websocket to the model saves a turn; REFERENCE names another codex to compare with.
bench-model-websocket:
    benches/model_websocket.py ${CODEX:-target/release/codex} ${REFERENCE:-}

# Ten minutes of sound in a realtime conversation: the memory of the server must not grow.
bench-realtime:
    benches/realtime.py ${CODEX:-target/release/codex}

# The table of the README; CODEX and REFERENCE name the binaries.
bench-comparison:
    benches/comparison.py ${CODEX:-target/release/codex} ${REFERENCE:?names the codex to compare with}

# What the server takes at large sizes: long threads, many threads, many clients, a day of use; CODEX names the binary.
bench-scale *OPTIONS:
    benches/scale.py {{OPTIONS}} ${CODEX:-target/release/codex}

# Fails if the binary is slower or larger than the last release, or than BASE.
bench-check *OPTIONS:
    benches/check.py {{OPTIONS}} ${BASE:+--base $BASE} ${CODEX:-target/release/codex}
