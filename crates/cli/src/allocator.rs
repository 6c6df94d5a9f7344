//! The allocator of static builds: that of musl has one lock for all threads. docs/performance.md says what it costs.

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
