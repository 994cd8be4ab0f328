//! What other files have, put into this one as it is stored there: objects, and descriptions of classes.

use arrowroot_format as format;
use format::container::Key;
use format::streamer::StreamerInfos;

use super::classes::NeededClasses;
use super::{DirectoryId, FileState, FileWriter, append_record};
use crate::error::{Error, Result};

impl FileWriter {
    /// Checks that the file can describe the classes as these do, beside what it describes already.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] if a version of a class is described there with other members: whoever reads an object of it
    /// could not tell which of both it is.
    pub fn check_infos(&self, infos: &StreamerInfos) -> Result<()> {
        self.lock().classes.check_copied(infos)
    }

    /// Has the file describe the classes as these do, in all their versions. What it describes already stays as it is.
    pub fn add_infos(&self, infos: &StreamerInfos) {
        self.lock().classes.copy(infos);
    }

    /// Has the file describe ROOT's own classes of these names, where it does not yet, and where they are known.
    pub fn need_known_classes<'n>(&self, names: impl IntoIterator<Item = &'n str>) {
        let mut needed = NeededClasses::default();
        names.into_iter().filter(|name| StreamerInfos::is_of_root(name)).for_each(|name| needed.add(name));
        // All of them are known.
        let _ = self.lock().classes.need_all(&needed);
    }

    /// Writes an object as another file stores it, and lists it in a directory, under the name of its key there.
    ///
    /// `key`: that of the other file. `stored`: what follows it there. `add_to_pid`: is added to `fPidOffset`.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] if its key has no room for where it is now; as [`FileWriter::write_object`].
    pub fn write_stored(&self, directory: DirectoryId, key: &Key, stored: &[u8], add_to_pid: u16) -> Result<Key> {
        let _turn = self.queue.turn()?;
        // References in the object count from the start of its key, which must be as long as it was.
        let mut key_again = Key::new(key.is_large(), &key.class_name, &key.name, &key.title)?;
        let has_room = key.is_large() || (!self.is_large() && add_to_pid == 0);
        if key_again.key_bytes != key.key_bytes || !has_room {
            let what = format!(
                "{:?}, a {}, has a key without room for where it would be, over 2 GB: write several files",
                key.name, key.class_name
            );
            return Err(Error::InvalidRequest { what });
        }
        key_again.set_payload(key.object_bytes as usize, stored.len())?;
        key_again.head.datime = self.datime;
        key_again.head.pid_offset = key.pid_offset.saturating_add(add_to_pid);
        let mut state = self.lock();
        let FileState { appender, directories, .. } = &mut *state;
        self.append(appender, |appender| {
            let key = directories.list(directory, key_again, appender.position())?;
            append_record(appender, &key, stored)?;
            Ok(key)
        })
    }
}
