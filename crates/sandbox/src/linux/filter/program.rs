//! Assembles a seccomp filter program from checks.
//!
//! The crate that installs filters could assemble one too, but its chains of comparisons are more than twice as long. The
//! kernel verifies and translates a filter when it is installed, so its length took a tenth of the start time of a command.
//!
//! The program starts with the call number in the accumulator. A check loads what it needs and falls through if it finds
//! nothing to refuse. What no check refuses is allowed.

use seccompiler::sock_filter;

/// Offsets in the data that the kernel passes to a filter.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;
const ARGUMENT_SIZE: u32 = 8;

const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
const KILL: u32 = libc::SECCOMP_RET_KILL_PROCESS;

/// Up to this many numbers are compared one by one; more are searched by halving.
const ONE_BY_ONE: usize = 4;

/// The instructions, without the final one that allows the call.
#[derive(Debug, Default)]
pub(super) struct FilterProgram {
    instructions: Vec<sock_filter>,
}

impl FilterProgram {
    /// For calls of this architecture. Calls of another one kill the process.
    pub(super) fn of_architecture(architecture: u32) -> Self {
        Self {
            instructions: vec![
                load(ARCHITECTURE),
                jump(libc::BPF_JEQ, architecture, 1, 0),
                ret(KILL),
            ],
        }
    }

    /// Refuses calls with this number or a greater one.
    pub(super) fn refuse_from(&mut self, first: u32, error: i32) {
        self.instructions.extend([
            load(NUMBER),
            jump(libc::BPF_JGE, first, 0, 1),
            refuse(error),
        ]);
    }

    /// Refuses calls regardless of their arguments.
    pub(super) fn refuse(&mut self, calls: impl IntoIterator<Item = libc::c_long>, error: i32) {
        let mut numbers: Vec<u32> = calls.into_iter().filter_map(number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        self.instructions.push(load(NUMBER));
        self.instructions.extend(search(&numbers, error));
    }

    /// Applies a check to these calls.
    pub(super) fn check(&mut self, calls: &[libc::c_long], check: &ArgumentCheck) {
        let numbers: Vec<u32> = calls.iter().copied().filter_map(number).collect();
        let Some((last, others)) = numbers.split_last() else {
            return;
        };
        self.instructions.push(load(NUMBER));
        for (left, number) in (1..=others.len()).rev().zip(others) {
            self.instructions
                .push(jump(libc::BPF_JEQ, *number, short(left), 0));
        }
        let length = check.instructions.len();
        self.instructions
            .push(jump(libc::BPF_JEQ, *last, 0, short(length)));
        self.instructions.extend(check.instructions.iter().cloned());
    }

    /// Reports a call to the holder of the filter's listener, which answers it.
    pub(super) fn notify(&mut self, call: libc::c_long) {
        let Some(number) = number(call) else {
            return;
        };
        self.instructions.extend([
            load(NUMBER),
            jump(libc::BPF_JEQ, number, 0, 1),
            ret(libc::SECCOMP_RET_USER_NOTIF),
        ]);
    }

    /// The complete program.
    pub(super) fn finish(mut self) -> Vec<sock_filter> {
        self.instructions.push(ret(ALLOW));
        self.instructions
    }
}

/// A check of the arguments of a call.
#[derive(Debug)]
pub(super) struct ArgumentCheck {
    instructions: Vec<sock_filter>,
}

impl ArgumentCheck {
    /// Refuses if any of the bits is set in an argument.
    pub(super) fn any_bit(argument: u32, bits: u32, error: i32) -> Self {
        Self {
            instructions: vec![
                load(low(argument)),
                jump(libc::BPF_JSET, bits, 0, 1),
                refuse(error),
            ],
        }
    }

    /// Refuses if an argument has one of these values.
    pub(super) fn any_of(argument: u32, values: &[u32], error: i32) -> Self {
        let mut instructions = vec![load(low(argument))];
        instructions.extend(one_by_one(values, error));
        Self { instructions }
    }

    /// Refuses if an argument is none of these.
    pub(super) fn none_of(argument: u32, values: &[u32], error: i32) -> Self {
        let mut instructions = vec![load(low(argument))];
        let past_refusal = (1..=values.len()).rev();
        let jumps = past_refusal
            .zip(values)
            .map(|(left, value)| jump(libc::BPF_JEQ, *value, short(left), 0));
        instructions.extend(jumps);
        instructions.push(refuse(error));
        Self { instructions }
    }

    /// Refuses if the masked argument has any other value.
    pub(super) fn other_than(argument: u32, mask: u32, value: u32, error: i32) -> Self {
        Self {
            instructions: vec![
                load(low(argument)),
                instruction(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, 0, 0, mask),
                jump(libc::BPF_JEQ, value, 1, 0),
                refuse(error),
            ],
        }
    }

    /// Refuses if the argument is not a null pointer.
    pub(super) fn address(argument: u32, error: i32) -> Self {
        Self {
            instructions: vec![
                load(low(argument)),
                jump(libc::BPF_JEQ, 0, 0, 2),
                load(low(argument) + ARGUMENT_SIZE / 2),
                jump(libc::BPF_JEQ, 0, 1, 0),
                refuse(error),
            ],
        }
    }

    /// Applies the check only if any of the bits is set in an argument.
    pub(super) fn only_for_bits(self, argument: u32, bits: u32) -> Self {
        let length = short(self.instructions.len());
        let mut instructions = vec![load(low(argument)), jump(libc::BPF_JSET, bits, 0, length)];
        instructions.extend(self.instructions);
        Self { instructions }
    }

    /// Applies the check only if an argument has this value.
    pub(super) fn only_for_value(self, argument: u32, value: u32) -> Self {
        let length = short(self.instructions.len());
        let mut instructions = vec![load(low(argument)), jump(libc::BPF_JEQ, value, 0, length)];
        instructions.extend(self.instructions);
        Self { instructions }
    }

    /// Refuses if either check refuses.
    pub(super) fn and(mut self, other: Self) -> Self {
        self.instructions.extend(other.instructions);
        self
    }
}

/// Refuses if the accumulator is one of these numbers, which must be sorted.
fn search(numbers: &[u32], error: i32) -> Vec<sock_filter> {
    if numbers.len() <= ONE_BY_ONE {
        return one_by_one(numbers, error);
    }
    let (lower, upper) = numbers.split_at(numbers.len() / 2);
    let middle = upper.first().copied().unwrap_or_default();
    let (lower, upper) = (search(lower, error), search(upper, error));
    let mut instructions = vec![jump(libc::BPF_JGE, middle, 0, 1), skip(lower.len() + 1)];
    instructions.extend(lower);
    instructions.push(skip(upper.len()));
    instructions.extend(upper);
    instructions
}

fn one_by_one(values: &[u32], error: i32) -> Vec<sock_filter> {
    let to_refusal = (1..=values.len()).rev();
    let mut instructions: Vec<_> = to_refusal
        .zip(values)
        .map(|(left, value)| jump(libc::BPF_JEQ, *value, short(left), 0))
        .collect();
    instructions.extend([skip(1), refuse(error)]);
    instructions
}

fn low(argument: u32) -> u32 {
    ARGUMENTS + argument * ARGUMENT_SIZE
}

fn number(call: libc::c_long) -> Option<u32> {
    u32::try_from(call).ok()
}

/// A jump distance inside a check. All checks are short enough.
fn short(distance: usize) -> u8 {
    u8::try_from(distance).unwrap_or(u8::MAX)
}

fn load(offset: u32) -> sock_filter {
    instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, offset)
}

/// Compares the accumulator and skips instructions depending on the result.
fn jump(comparison: u32, value: u32, if_true: u8, if_false: u8) -> sock_filter {
    let code = libc::BPF_JMP | comparison | libc::BPF_K;
    instruction(code, if_true, if_false, value)
}

fn skip(distance: usize) -> sock_filter {
    let distance = u32::try_from(distance).unwrap_or(u32::MAX);
    instruction(libc::BPF_JMP | libc::BPF_JA, 0, 0, distance)
}

fn refuse(error: i32) -> sock_filter {
    ret(libc::SECCOMP_RET_ERRNO | error.cast_unsigned())
}

fn ret(verdict: u32) -> sock_filter {
    instruction(libc::BPF_RET | libc::BPF_K, 0, 0, verdict)
}

fn instruction(code: u32, jt: u8, jf: u8, k: u32) -> sock_filter {
    sock_filter {
        // All opcodes fit into one byte.
        code: code as u16,
        jt,
        jf,
        k,
    }
}

#[cfg(test)]
pub(super) mod tests;
