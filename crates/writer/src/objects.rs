//! Objects of any class, from their members.

use std::cell::RefCell;

use arrowroot_format as format;
use format::codec::CompressionSetting;
use format::container::Key;
use format::encode::{Object, Used, encode};
use format::streamer::StreamerInfos;

use crate::error::{Error, Result};
use crate::file::{DirectoryId, FileWriter};

impl FileWriter {
    /// Writes an object of one of ROOT's own classes: the first of `objects`, which the others are in or behind pointers of.
    /// Their classes are described in the file. Returns the key.
    ///
    /// # Errors
    /// [`Error::Format`] if its members are not those of its class, with class and member; else as
    /// [`FileWriter::write_object`].
    pub fn write_members(
        &self,
        directory: DirectoryId,
        name: &str,
        title: &str,
        setting: CompressionSetting,
        objects: &[Object],
    ) -> Result<Key> {
        let first = objects.first().ok_or_else(|| Error::InvalidRequest { what: format!("{name}: no object") })?;
        self.check_key(directory, [&first.class, name, title])?;
        let used = RefCell::default();
        let key = self.write_object(directory, &first.class, name, title, setting, |output| {
            *used.borrow_mut() = encode(StreamerInfos::of_root(), objects, output)?;
            Ok(())
        })?;
        for used in used.into_inner() {
            match used {
                Used::Described(class) => self.need_class(&class)?,
                Used::Null(class) => self.need_class_of_null(&class),
            }
        }
        Ok(key)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrowroot_file::File;
    use arrowroot_storage::{MemoryFile, MemorySink, MemorySource};
    use format::encode::Value;

    use super::*;
    use crate::file::{FileSettings, ROOT_DIRECTORY};

    #[test]
    fn an_object_is_written_with_what_describes_it() {
        let place = MemoryFile::default();
        let settings = FileSettings {
            name: "f".to_owned(),
            compression: CompressionSetting::NONE,
            is_reproducible: true,
            n_threads: 1,
            buffer_bytes: 1 << 20,
        };
        let file = FileWriter::create(Arc::new(MemorySink::create("m", &place)), settings).unwrap();
        let text = |text: &str| Value::Text(text.as_bytes().to_vec());
        let members = [
            ("fUniqueID", Value::Integer(0)),
            ("fBits", Value::Integer(0)),
            ("fName", text("n")),
            ("fTitle", text("t")),
        ];
        let mut object = Object {
            class: "TNamed".to_owned(),
            members: members.map(|(name, value)| (name.to_owned(), value)).into(),
        };
        let write = |object: &Object| {
            file.write_members(ROOT_DIRECTORY, "n", "t", CompressionSetting::NONE, std::slice::from_ref(object))
        };
        write(&object).unwrap();
        object.members.remove("fTitle");
        assert!(write(&object).unwrap_err().to_string().contains("fTitle"));
        file.close().unwrap();
        let file = File::from_source(Arc::new(MemorySource::new("m", place.bytes().unwrap().to_vec()))).unwrap();
        assert!(file.object("n").is_ok());
        assert_eq!(file.keys().unwrap().len(), 1);
        let infos: Vec<_> = file.streamer_infos().unwrap().iter().map(|info| info.name.clone()).collect();
        assert_eq!(infos, ["TNamed"], "as ROOT describes it");
    }
}
