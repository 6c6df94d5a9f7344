//! Restricted tokens: calls of the system.

#![expect(unsafe_code, reason = "calls of the system")]

use std::ffi::c_void;
use std::io;
use std::os::windows::io::{AsRawHandle as _, FromRawHandle as _, OwnedHandle};

use windows_sys::Win32::Security::{
    CreateRestrictedToken, DISABLE_MAX_PRIVILEGE, GetLengthSid, GetTokenInformation,
    ImpersonateLoggedOnUser, LUA_TOKEN, PSID, RevertToSelf, SID_AND_ATTRIBUTES,
    SetTokenInformation, TOKEN_ADJUST_DEFAULT, TOKEN_ASSIGN_PRIMARY, TOKEN_DEFAULT_DACL,
    TOKEN_DUPLICATE, TOKEN_GROUPS, TOKEN_IMPERSONATE, TOKEN_INFORMATION_CLASS, TOKEN_QUERY,
    TOKEN_USER, TokenDefaultDacl, TokenGroups, TokenUser, WRITE_RESTRICTED,
};
use windows_sys::Win32::System::Threading::{GetCurrentProcess, OpenProcessToken};

use super::security::{aligned, pointer};
use crate::access::list::{AccessEntry, AccessList};
use crate::access::sid::Sid;

/// Marks the group that stands for the session of the user.
const LOGON_GROUP: u32 = 0xC000_0000;

/// A token of this user without privileges, which may write only what one of `roots` may. `command` is for what the
/// command creates besides files: other commands cannot write to it.
pub(super) fn restricted(roots: &[Sid], command: &Sid) -> io::Result<OwnedHandle> {
    let own = own_token()?;
    // Programs do not start without the desktop, which is open to the session, and the devices that everyone may use.
    let mut sids = vec![Sid::everyone(), command.clone()];
    sids.extend(logon_group(&own)?);
    sids.extend(roots.iter().cloned());
    let token = restrict(&own, &sids)?;
    let full = [user(&own)?, Sid::system(), command.clone()];
    set_default_list(&token, &full.map(|sid| AccessEntry::generic_full(&sid)))?;
    Ok(token)
}

/// Calls `action` with the rights of a token. Only for a thread that does nothing else.
pub(super) fn with_rights_of<T>(token: &OwnedHandle, action: impl FnOnce() -> T) -> io::Result<T> {
    // SAFETY: the handle is open.
    done(unsafe { ImpersonateLoggedOnUser(token.as_raw_handle()) })?;
    let result = action();
    // SAFETY: always allowed.
    done(unsafe { RevertToSelf() })?;
    Ok(result)
}

fn own_token() -> io::Result<OwnedHandle> {
    let access = TOKEN_QUERY
        | TOKEN_DUPLICATE
        | TOKEN_ASSIGN_PRIMARY
        | TOKEN_ADJUST_DEFAULT
        | TOKEN_IMPERSONATE;
    let mut token = std::ptr::null_mut();
    // SAFETY: the handle of this process needs no closing. The result is written to a local variable.
    done(unsafe { OpenProcessToken(GetCurrentProcess(), access, &raw mut token) })?;
    // SAFETY: a new handle, which nobody else owns.
    Ok(unsafe { OwnedHandle::from_raw_handle(token) })
}

fn restrict(own: &OwnedHandle, sids: &[Sid]) -> io::Result<OwnedHandle> {
    let sids: Vec<_> = sids.iter().map(|sid| aligned(sid.as_bytes())).collect();
    let listed: Vec<_> = sids
        .iter()
        .map(|sid| SID_AND_ATTRIBUTES {
            Sid: pointer(sid),
            Attributes: 0,
        })
        .collect();
    let count = u32::try_from(listed.len()).unwrap_or(u32::MAX);
    let mut token = std::ptr::null_mut();
    // SAFETY: the handle is open, and the list and what it points to live until the call returns.
    done(unsafe {
        CreateRestrictedToken(
            own.as_raw_handle(),
            DISABLE_MAX_PRIVILEGE | LUA_TOKEN | WRITE_RESTRICTED,
            0,
            std::ptr::null(),
            0,
            std::ptr::null(),
            count,
            listed.as_ptr(),
            &raw mut token,
        )
    })?;
    // SAFETY: a new handle, which nobody else owns.
    Ok(unsafe { OwnedHandle::from_raw_handle(token) })
}

/// Sets who may use what a program creates without saying so.
fn set_default_list(token: &OwnedHandle, entries: &[AccessEntry]) -> io::Result<()> {
    let list = AccessList::from_entries(entries)
        .encode()
        .unwrap_or_default();
    let list = aligned(&list);
    let value = TOKEN_DEFAULT_DACL {
        DefaultDacl: pointer(&list).cast(),
    };
    let size = u32::try_from(size_of_val(&value)).unwrap_or(u32::MAX);
    // SAFETY: the handle is open, and the value has the type of this class of information and points to an access list.
    done(unsafe {
        SetTokenInformation(
            token.as_raw_handle(),
            TokenDefaultDacl,
            (&raw const value).cast(),
            size,
        )
    })
}

fn user(token: &OwnedHandle) -> io::Result<Sid> {
    let information = information(token, TokenUser)?;
    // SAFETY: the system wrote a value of this type, whose identifier is in the same memory.
    let sid = unsafe { copied((*information.as_ptr().cast::<TOKEN_USER>()).User.Sid) };
    sid.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn logon_group(token: &OwnedHandle) -> io::Result<Option<Sid>> {
    let information = information(token, TokenGroups)?;
    let groups = information.as_ptr().cast::<TOKEN_GROUPS>();
    // SAFETY: the system wrote a value of this type with as many groups as it states, and the identifiers are in the same
    // memory.
    let sid = unsafe {
        let first = (&raw const (*groups).Groups).cast::<SID_AND_ATTRIBUTES>();
        let groups = std::slice::from_raw_parts(first, (*groups).GroupCount as usize);
        let logon = groups
            .iter()
            .find(|group| group.Attributes & LOGON_GROUP == LOGON_GROUP);
        logon.and_then(|group| copied(group.Sid))
    };
    Ok(sid)
}

/// # Safety
/// The pointer is that of an identifier.
unsafe fn copied(sid: PSID) -> Option<Sid> {
    // SAFETY: as above.
    let bytes = unsafe { std::slice::from_raw_parts(sid.cast::<u8>(), GetLengthSid(sid) as usize) };
    Sid::read(bytes)
}

fn information(token: &OwnedHandle, class: TOKEN_INFORMATION_CLASS) -> io::Result<Vec<u64>> {
    let mut size = 0;
    let read = |buffer: *mut c_void, capacity: u32, size: &mut u32| {
        // SAFETY: the handle is open, and the buffer has the capacity that is passed.
        done(unsafe { GetTokenInformation(token.as_raw_handle(), class, buffer, capacity, size) })
    };
    // Fails as described, and tells the size.
    read(std::ptr::null_mut(), 0, &mut size).ok();
    let mut value = vec![0_u64; (size as usize).div_ceil(size_of::<u64>())];
    read(value.as_mut_ptr().cast(), size, &mut size)?;
    if value.is_empty() {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok(value)
}

/// The error of a call that returned false.
fn done(result: i32) -> io::Result<()> {
    if result != 0 {
        return Ok(());
    }
    Err(io::Error::last_os_error())
}
