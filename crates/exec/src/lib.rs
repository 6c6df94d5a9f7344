//! Layer: capability. Child processes: spawning, terminals, output caps, killing a whole tree.
//!
//! It owns every process that runs on behalf of somebody: dropping the owner kills the tree.
