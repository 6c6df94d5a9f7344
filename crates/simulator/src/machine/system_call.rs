//! System calls without the C library, whose functions are replaced here.

use std::arch::asm;

/// Calls the kernel. Returns what it returns: a negative number is an error.
///
/// # Safety
/// As the system call itself.
#[cfg(target_arch = "x86_64")]
pub(super) unsafe fn system_call(number: i64, a: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: the registers are those of the calling convention of the kernel.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") a[0], in("rsi") a[1], in("rdx") a[2],
            in("r10") a[3], in("r8") a[4], in("r9") a[5],
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// Calls the kernel. Returns what it returns: a negative number is an error.
///
/// # Safety
/// As the system call itself.
#[cfg(target_arch = "aarch64")]
pub(super) unsafe fn system_call(number: i64, a: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: the registers are those of the calling convention of the kernel.
    unsafe {
        asm!(
            "svc 0",
            in("x8") number as isize,
            inlateout("x0") a[0] as isize => result,
            in("x1") a[1], in("x2") a[2], in("x3") a[3], in("x4") a[4], in("x5") a[5],
            options(nostack),
        );
    }
    result
}

/// The result as functions of the C library return it.
pub(super) fn with_errno(result: isize) -> isize {
    if (-4095..0).contains(&result) {
        set_errno(i32::try_from(-result).unwrap_or(libc::EIO));
        -1
    } else {
        result
    }
}

pub(super) fn set_errno(error: i32) {
    // SAFETY: the address is that of the thread's own variable.
    unsafe { *libc::__errno_location() = error }
}

/// Appends to a file that is no part of the simulation.
pub(crate) fn append(file: i32, bytes: &[u8]) {
    let mut rest = bytes;
    while !rest.is_empty() {
        let arguments = [file as usize, rest.as_ptr() as usize, rest.len(), 0, 0, 0];
        // SAFETY: the kernel only reads the bytes.
        let written = unsafe { system_call(libc::SYS_write, arguments) };
        let Ok(written) = usize::try_from(written) else {
            return;
        };
        rest = &rest[written..];
    }
}
