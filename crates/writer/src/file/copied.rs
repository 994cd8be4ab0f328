//! Objects and descriptions of classes of other files, put into this one as they are stored there.

use arrowroot_format as format;
use format::codec::Compressor;
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
        self.check_room(key, add_to_pid)?;
        let mut again = Key::new(key.is_large(), &key.class_name, &key.name, &key.title)?;
        again.set_payload(key.object_bytes as usize, stored.len())?;
        again.head.datime = self.datime;
        again.head.pid_offset = key.pid_offset.saturating_add(add_to_pid);
        self.list_and_append(directory, again, stored)
    }

    /// The payload of an object as [`FileWriter::write_stored`] takes it, compressed as the file is. Any thread may ask for it.
    ///
    /// # Errors
    /// [`Error::Format`] for a compression that is not written.
    pub fn pack_again(&self, object: Vec<u8>, compressor: &mut Compressor) -> Result<Vec<u8>> {
        super::packed(object, self.settings.compression, compressor)
    }

    /// Checks that a key as long as it was has room for where it would be: references in the object count from its start.
    fn check_room(&self, key: &Key, add_to_pid: u16) -> Result<()> {
        let is_as_long = usize::from(key.key_bytes) == key.header_bytes_parsed;
        if is_as_long && (key.is_large() || (!self.is_large() && add_to_pid == 0)) {
            return Ok(());
        }
        let why = if self.is_large() {
            "where it would be, over 2 GB: write several files"
        } else {
            "the number of its process identifier, as inputs before have objects that are referred to: its input first has"
        };
        let what = format!("{:?}, a {}, has a key without room for {why}", key.name, key.class_name);
        Err(Error::InvalidRequest { what })
    }

    fn list_and_append(&self, directory: DirectoryId, key: Key, payload: &[u8]) -> Result<Key> {
        let mut state = self.lock();
        let FileState { appender, directories, .. } = &mut *state;
        self.append(appender, |appender| {
            let key = directories.list(directory, key, appender.position())?;
            append_record(appender, &key, payload)?;
            Ok(key)
        })
    }
}
