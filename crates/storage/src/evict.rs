//! Keeping a directory of blocks within its bound.

#![expect(clippy::disallowed_types, reason = "blocks are local files")]

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A block that is being written for so long was left by a process that was killed.
const ABANDONED: Duration = Duration::from_secs(600);
/// Locked by the process that removes blocks.
const LOCK: &str = "evict.lock";

/// The cache leaves this share of its disk free, whatever its bound is.
const FREE_SHARE: u64 = 20;

/// A block's file.
struct BlockFile {
    path: PathBuf,
    used: SystemTime,
    n_bytes: u64,
}

/// Removes the blocks that were not used for longest until `n_bytes` more have room and a sixteenth besides. Does nothing
/// while another process does it. Only files that are named as blocks are counted and removed. A twentieth of the disk is left
/// free, even if the bound is larger than that allows.
///
/// # Errors
/// If the directory cannot be listed or its lock not be made, or if the disk is too full for any block.
pub(crate) fn evict(directory: &Path, max_bytes: u64, n_bytes: u64) -> std::io::Result<()> {
    let Some(_lock) = lock(directory)? else { return Ok(()) };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if is_hex(&path, 2) && path.is_dir() {
            list(&path, &mut found);
        }
    }
    let there = found.iter().map(|block| block.n_bytes).sum::<u64>();
    let max_bytes = max_bytes.min(there.saturating_add(spare_bytes(directory)?));
    if n_bytes > max_bytes {
        return Err(std::io::Error::from(std::io::ErrorKind::StorageFull));
    }
    let mut total = there.saturating_add(n_bytes);
    if total <= max_bytes {
        return Ok(());
    }
    found.sort_by(|a, b| (a.used, &a.path).cmp(&(b.used, &b.path)));
    for block in found {
        if total <= max_bytes - max_bytes / 16 {
            break;
        }
        // One that is gone already has made room too.
        match std::fs::remove_file(&block.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {}
            _ => total = total.saturating_sub(block.n_bytes),
        }
    }
    Ok(())
}

/// Bytes of the disk that are free, beyond the share that stays so.
fn spare_bytes(directory: &Path) -> std::io::Result<u64> {
    let disk = rustix::fs::statvfs(directory)?;
    Ok(disk.f_bavail.saturating_sub(disk.f_blocks / FREE_SHARE).saturating_mul(disk.f_frsize))
}

fn lock(directory: &Path) -> std::io::Result<Option<File>> {
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(false).mode(0o600).open(directory.join(LOCK))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(std::fs::TryLockError::WouldBlock) => Ok(None),
        Err(std::fs::TryLockError::Error(error)) => Err(error),
    }
}

/// The blocks of one directory. What disappears meanwhile is no error.
fn list(directory: &Path, found: &mut Vec<BlockFile>) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        let Some(stem) = name.strip_suffix(".block") else { continue };
        let Ok(metadata) = path.metadata() else { continue };
        let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        if stem.starts_with("tmp-") {
            if used.elapsed().is_ok_and(|age| age > ABANDONED) {
                // Tried again at the next count.
                let _ = std::fs::remove_file(&path);
            }
        } else if stem.len() > 17 && stem.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-') {
            found.push(BlockFile { used, n_bytes: metadata.len(), path });
        }
    }
}

fn is_hex(path: &Path, length: usize) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.len() == length && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}
