use super::*;

/// Interprets the program as the kernel would.
pub(in super::super) fn verdict(
    program: &[sock_filter],
    architecture: u32,
    call: libc::c_long,
    arguments: [u64; 6],
) -> u32 {
    let load_at = |offset: u32| match offset {
        NUMBER => u32::try_from(call).unwrap(),
        ARCHITECTURE => architecture,
        offset => {
            let argument = arguments[((offset - ARGUMENTS) / ARGUMENT_SIZE) as usize];
            let high = !(offset - ARGUMENTS).is_multiple_of(ARGUMENT_SIZE);
            (if high { argument >> 32 } else { argument }) as u32
        }
    };
    let (mut accumulator, mut next) = (0, 0);
    loop {
        let sock_filter { code, jt, jf, k } = program[next].clone();
        next += 1;
        let branch = |taken: bool| usize::from(if taken { jt } else { jf });
        match u32::from(code) {
            code if code == libc::BPF_LD | libc::BPF_W | libc::BPF_ABS => {
                accumulator = load_at(k);
            }
            code if code == libc::BPF_ALU | libc::BPF_AND | libc::BPF_K => accumulator &= k,
            code if code == libc::BPF_JMP | libc::BPF_JA => next += k as usize,
            code if code == libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K => {
                next += branch(accumulator == k);
            }
            code if code == libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K => {
                next += branch(accumulator >= k);
            }
            code if code == libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K => {
                next += branch(accumulator & k != 0);
            }
            code if code == libc::BPF_RET | libc::BPF_K => return k,
            other => panic!("unknown instruction {other:#x}"),
        }
    }
}

#[test]
fn exactly_the_listed_calls_are_refused() {
    for count in [0, 1, 4, 5, 9, 70] {
        let calls: Vec<libc::c_long> = (0..count).map(|index| index * 3 + 1).collect();
        let mut program = FilterProgram::of_architecture(7);
        program.refuse(calls.iter().rev().copied(), libc::EPERM);
        let program = program.finish();
        for call in 0..count * 3 + 5 {
            let refused = verdict(&program, 7, call, [0; 6]) != ALLOW;
            assert_eq!(refused, calls.contains(&call), "{call} of {count}");
        }
        assert_eq!(verdict(&program, 8, 0, [0; 6]), KILL);
    }
}
