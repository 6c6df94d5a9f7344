//! Access lists and attributes of files: calls of the system.

#![expect(unsafe_code, reason = "calls of the system")]

use std::ffi::{OsStr, OsString, c_void};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::windows::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::windows::fs::OpenOptionsExt as _;
use std::os::windows::io::AsRawHandle as _;
use std::path::{Path, PathBuf};

use windows_sys::Win32::Foundation::LocalFree;
use windows_sys::Win32::Security::Authorization::{
    GetSecurityInfo, SE_FILE_OBJECT, SetNamedSecurityInfoW, SetSecurityInfo,
};
use windows_sys::Win32::Security::{ACL, DACL_SECURITY_INFORMATION};
use windows_sys::Win32::Storage::FileSystem::{
    FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_OPEN_REPARSE_POINT, FILE_LIST_DIRECTORY,
    FILE_SHARE_DELETE, FILE_SHARE_READ, FILE_SHARE_WRITE, GetFinalPathNameByHandleW, READ_CONTROL,
    SetFileAttributesW, WRITE_DAC,
};

use crate::access::list::{AccessEntry, AccessList};
use crate::same_names::without_case;

/// A path has at most 32,767 characters.
const LONGEST_PATH: usize = 32 * 1024;

/// Sees to it that the access list of a path has these entries. What is below a folder inherits them.
pub(super) fn set_entries(path: &Path, entries: &[AccessEntry]) -> io::Result<()> {
    let file = open(path, READ_CONTROL, FILE_SHARE_DELETE)?;
    if access_list(&file)?.has(entries) {
        return Ok(());
    }
    drop(file);
    // As long as this is open, the path leads to it: neither it nor a folder around it can be moved.
    let file = open(path, READ_CONTROL | WRITE_DAC | FILE_LIST_DIRECTORY, 0)?;
    let real = final_path(&file)?;
    if without_case(dunce::simplified(&real)) != without_case(path) {
        let problem = "a link is on the path";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
    }
    let mut list = access_list(&file)?;
    list.set(entries);
    let too_long = || io::Error::new(io::ErrorKind::FileTooLarge, "it has too many entries");
    let bytes = list.encode().ok_or_else(too_long)?;
    write(path, &file, &bytes)
}

/// Opens what is at a path itself, also if it is a folder or a link.
fn open(path: &Path, access: u32, share: u32) -> io::Result<File> {
    OpenOptions::new()
        .access_mode(access)
        .share_mode(share | FILE_SHARE_READ | FILE_SHARE_WRITE)
        .custom_flags(FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT)
        .open(path)
}

fn access_list(file: &File) -> io::Result<AccessList> {
    let (mut list, mut descriptor) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: the handle is open. The results are written to local variables; the list is a part of the descriptor.
    let error = unsafe {
        GetSecurityInfo(
            file.as_raw_handle(),
            SE_FILE_OBJECT,
            DACL_SECURITY_INFORMATION,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            &raw mut list,
            std::ptr::null_mut(),
            &raw mut descriptor,
        )
    };
    succeeded(error)?;
    let decoded = if list.is_null() {
        Some(AccessList::open())
    } else {
        // SAFETY: the system returned a list with the length that it states, and it is freed below.
        let bytes = unsafe {
            let length = usize::from((*list).AclSize);
            std::slice::from_raw_parts(list.cast::<u8>(), length)
        };
        AccessList::decode(bytes)
    };
    // SAFETY: the system allocated it for the caller, and nothing refers to it any more.
    unsafe { LocalFree(descriptor) };
    decoded.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Writes the list of what is open. The system changes what is below a folder, for which it needs the path; a path would
/// lead through a link.
fn write(path: &Path, file: &File, list: &[u8]) -> io::Result<()> {
    let is_link = file.metadata()?.is_symlink();
    let (list, path) = (aligned(list), wide(path.as_os_str()));
    macro_rules! set_with {
        ($function:ident, $object:expr) => {
            $function(
                $object,
                SE_FILE_OBJECT,
                DACL_SECURITY_INFORMATION,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
                list.as_ptr().cast::<ACL>(),
                std::ptr::null(),
            )
        };
    }
    // SAFETY: the handle is open, the path ends with a zero, and the list is one in the form of the system.
    succeeded(unsafe {
        if is_link {
            set_with!(SetSecurityInfo, file.as_raw_handle())
        } else {
            set_with!(SetNamedSecurityInfoW, path.as_ptr())
        }
    })
}

/// The path of an open file, as it is stored.
fn final_path(file: &File) -> io::Result<PathBuf> {
    let mut path = vec![0_u16; LONGEST_PATH];
    let capacity = u32::try_from(path.len()).unwrap_or(u32::MAX);
    // SAFETY: the handle is open, and the buffer has the length that is passed.
    let length =
        unsafe { GetFinalPathNameByHandleW(file.as_raw_handle(), path.as_mut_ptr(), capacity, 0) };
    match path.get(..length as usize) {
        None | Some([]) => Err(io::Error::last_os_error()),
        Some(path) => Ok(OsString::from_wide(path).into()),
    }
}

pub(super) fn set_attributes(path: &Path, attributes: u32) -> io::Result<()> {
    let path = wide(path.as_os_str());
    // SAFETY: the path ends with a zero.
    match unsafe { SetFileAttributesW(path.as_ptr(), attributes) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

fn wide(text: &OsStr) -> Vec<u16> {
    text.encode_wide().chain([0]).collect()
}

/// A copy with the alignment of the structures of the system.
pub(super) fn aligned(bytes: &[u8]) -> Vec<u64> {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let words = words.iter().chain([&last]);
    words.map(|word| u64::from_ne_bytes(*word)).collect()
}

fn succeeded(error: u32) -> io::Result<()> {
    match error {
        0 => Ok(()),
        _ => Err(io::Error::from_raw_os_error(error.cast_signed())),
    }
}

/// A pointer to bytes for calls that do not change them.
pub(super) fn pointer(words: &[u64]) -> *mut c_void {
    words.as_ptr().cast_mut().cast()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::sid::Sid;

    #[test]
    fn entries_are_written_once_and_inherited() {
        let guard = tempfile::tempdir().unwrap();
        let folder = dunce::canonicalize(guard.path()).unwrap();
        let file = folder.join("file");
        std::fs::write(&file, "").unwrap();
        let sid = Sid::of_root(&folder);
        let entries = AccessEntry::of_root(&sid, true);
        set_entries(&folder, &entries).unwrap();
        set_entries(&folder, &entries).unwrap();
        let list = |path: &Path| {
            let opened = open(path, READ_CONTROL, FILE_SHARE_DELETE).unwrap();
            access_list(&opened).unwrap()
        };
        // Wine keeps no entries, only the rights of Unix.
        let is_wine = std::env::var_os("WINEPREFIX").is_some();
        assert!(list(&folder).has(&entries) || is_wine);
        assert!(list(&file).mentions(&sid) || is_wine);
    }

    #[test]
    fn security_of_link_targets_is_unchanged() {
        let guard = tempfile::tempdir().unwrap();
        let folder = dunce::canonicalize(guard.path()).unwrap();
        std::fs::create_dir_all(folder.join("real/inner")).unwrap();
        let (real, link) = (folder.join("real"), folder.join("link"));
        // Links need a right of the user.
        if std::os::windows::fs::symlink_dir(&real, &link).is_ok() {
            let entries = AccessEntry::of_root(&Sid::of_command(1), true);
            set_entries(&link.join("inner"), &entries).unwrap_err();
        }
    }
}
