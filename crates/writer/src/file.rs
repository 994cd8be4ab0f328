//! The file being written: its directories, keys and class descriptions, and the appender that owns its bytes.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrowroot_format as format;
use arrowroot_storage::{Sink, n_cores};
use format::Output;
use format::codec::{CompressionSetting, Compressor};
use format::container::{Datime, FileHeader, FreeSegment, HEADER_BYTES, Key, KeyList, START_OF_LARGE, Uuid};
use format::streamer::StreamerInfo;

use crate::appender::Appender;
use crate::contexts::behind::Behind;
use crate::contexts::stalls::Stalls;
use crate::error::{Error, Result};
use crate::queue::{Queue, QueueSettings};

mod classes;
mod clock;
mod copied;
mod directories;
mod saved;

use classes::Classes;
pub(crate) use classes::NeededClasses;
use directories::Directories;
pub use directories::{DirectoryId, ROOT_DIRECTORY};
pub(crate) use saved::Saving;
use saved::{Saved, SavedTable};

/// Which ROOT's layouts are written, as its header says. Source: `TFile::fVersion` of ROOT 6.40/00.
const ROOT_VERSION: u32 = 64_000;
/// Where the first record is. Source: `TFile::kBEGIN`.
const BEGIN: u64 = 100;
/// Objects of so many bytes are not compressed. Source: `TKey::TKey` (ROOT 6.40).
const MAX_PLAIN_BYTES: usize = 256;
/// The compressor of a larger object is not kept: its tables grow with what it compresses, to tens of MB.
const MAX_KEPT_BYTES: usize = 1 << 20;
/// The class of a file, in the keys of its own records.
const FILE_CLASS: &str = "TFile";

/// Settings that hold for a file as a whole.
#[derive(Debug, Clone)]
pub struct FileSettings {
    /// Name of the file as it is stored in it, three times: its path, or what stands for it in a reproducible file.
    pub name: String,
    /// How objects are compressed, and tables where nothing else is said.
    pub compression: CompressionSetting,
    /// True if dates and identifiers are fixed, so that the same data make the same file on any day.
    pub is_reproducible: bool,
    /// How many threads compress, that of the caller among them; 0 for as many as there are cores, and never more.
    pub n_threads: usize,
    /// Most bytes of tables that wait to be compressed or written.
    pub buffer_bytes: usize,
}

/// A file being written; it is there when it is [closed](FileWriter::close). Dropped before, nothing is left of it.
///
/// The order of its records is ROOT's: the root directory, data and subdirectories, streamer information, key lists, free
/// segments; then the fields of the directories and the header are filled in.
pub struct FileWriter {
    sink: Arc<dyn Sink>,
    settings: FileSettings,
    datime: Datime,
    compressor: Mutex<Compressor>,
    stalls: Arc<Stalls>,
    behind: Behind,
    queue: Queue,
    state: Mutex<FileState>,
}

struct FileState {
    /// `None` once the file is complete or given up.
    appender: Option<Appender>,
    /// Owns a file that is complete and not published yet.
    complete: Option<Appender>,
    directories: Directories,
    classes: Classes,
    saved: Saved,
}

impl fmt::Debug for FileWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileWriter").field("url", &self.url()).field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl FileWriter {
    /// Begins a file: room for its header, and its root directory.
    ///
    /// # Errors
    /// [`Error::Storage`] if nothing can be written to the sink, [`Error::Format`] if the name is too long.
    pub fn create(sink: Arc<dyn Sink>, settings: FileSettings) -> Result<Arc<FileWriter>> {
        let datime = if settings.is_reproducible { Datime::REPRODUCIBLE } else { clock::now() };
        let mut appender = Appender::new(Arc::clone(&sink));
        let uuid = uuid(&settings)?;
        let directories = Directories::new([&settings.name, ""], datime, uuid, BEGIN)?;
        appender.append(&[&[0; HEADER_BYTES], &directories.root_record()?])?;
        let classes = Classes::default();
        let state =
            FileState { appender: Some(appender), complete: None, directories, classes, saved: Saved::default() };
        // Compressing takes a processor all the time, and threads that share one take each other's caches.
        let n_threads = settings.n_threads.min(n_cores());
        let queue = Queue::new(QueueSettings { n_threads, buffer_bytes: settings.buffer_bytes as u64 });
        let (compressor, state) = (Mutex::default(), Mutex::new(state));
        let (stalls, behind) = (Arc::default(), Behind::default());
        Ok(Arc::new(FileWriter { sink, settings, datime, compressor, stalls, behind, queue, state }))
    }

    /// Gives the file a title, before anything else is in it.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] if there is something; [`Error::Format`] if the title is too long; those of writing.
    pub fn set_title(&self, title: &str) -> Result<()> {
        let _turn = self.queue.turn()?;
        let mut state = self.lock();
        let FileState { appender, directories, .. } = &mut *state;
        let n_bytes = directories.root_record()?.len();
        let titled = Directories::new([&self.settings.name, title], self.datime, directories.uuid(), BEGIN)?;
        let record = titled.root_record()?;
        self.append(appender, |appender| {
            let (Some((first, more)), true) =
                (record.split_at_checked(n_bytes), appender.position() == BEGIN + n_bytes as u64)
            else {
                let what = "a file gets its title before all else".to_owned();
                return Err(Error::InvalidRequest { what });
            };
            appender.write_at(BEGIN, first)?;
            appender.append(&[more]).map(|_| ())
        })?;
        *directories = titled;
        Ok(())
    }

    /// Where it is written to.
    pub fn url(&self) -> &str {
        self.sink.url()
    }

    /// What holds for the file.
    pub fn settings(&self) -> &FileSettings {
        &self.settings
    }

    /// How many threads compress, that of the caller among them.
    pub fn n_threads(&self) -> usize {
        self.queue.n_threads()
    }

    /// The date of its keys: when it was begun, or what stands for every date.
    pub fn datime(&self) -> Datime {
        self.datime
    }

    /// The directory of a path, its parts joined by slashes; the empty path is the root directory. What is missing is made, with
    /// its name as its title.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] if a part of the path names an object, or cannot be a name.
    pub fn directory(&self, path: &str) -> Result<DirectoryId> {
        self.titled_directory(path, None)
    }

    /// The directory of a path, as [`directory`](FileWriter::directory) has it, with a title if it is made; without one it is
    /// called as its name.
    ///
    /// # Errors
    /// As `directory`, and if no key holds the title.
    pub fn titled_directory(&self, path: &str, title: Option<&str>) -> Result<DirectoryId> {
        let _turn = self.queue.turn()?;
        let mut state = self.lock();
        let FileState { appender, directories, .. } = &mut *state;
        let mut directory = ROOT_DIRECTORY;
        let mut names = path.split('/').filter(|name| !name.is_empty()).peekable();
        while let Some(name) = names.next() {
            directory = match directories.child(directory, name) {
                Some(child) => child,
                None => {
                    let uuid = uuid(&self.settings)?;
                    let title = title.filter(|_| names.peek().is_none()).unwrap_or(name);
                    self.append(appender, |appender| {
                        let record = Record { seek_key: appender.position(), datime: self.datime };
                        let (child, bytes) = directories.add(directory, [name, title], record, uuid)?;
                        appender.append(&[&bytes])?;
                        Ok(child)
                    })?
                }
            };
        }
        Ok(directory)
    }

    /// Offset of the record of a directory, which the keys of all that it holds name.
    pub fn seek_of(&self, directory: DirectoryId) -> u64 {
        self.lock().directories.seek_of(directory)
    }

    /// Clusters of tables go through it. Everything else that is appended has a turn in it, so that the file depends on the
    /// order of calls alone, and no record has anything of another one in it.
    pub fn queue(&self) -> &Queue {
        &self.queue
    }

    /// The times of those who fill its tables.
    pub fn stalls(&self) -> &Arc<Stalls> {
        &self.stalls
    }

    /// The producers that fill its tables and wait for the entries of others.
    pub(crate) fn behind(&self) -> &Behind {
        &self.behind
    }

    /// Appends something of more than one piece, or that depends on where it is, in its turn: `append` gets the appender, which
    /// nobody else uses meanwhile, and calls nothing of this file.
    ///
    /// # Errors
    /// Errors of `append`, the error that stopped the queue, and [`Error::Closed`].
    pub fn with_appender<T>(&self, append: impl FnOnce(&mut Appender) -> Result<T>) -> Result<T> {
        let _turn = self.queue.turn()?;
        self.place(append)
    }

    /// The same for what the queue places, whose turn it is.
    pub(crate) fn place<T>(&self, append: impl FnOnce(&mut Appender) -> Result<T>) -> Result<T> {
        self.append(&mut self.lock().appender, append)
    }

    /// Appends something. If that fails the file is given up: what stands in it is not known.
    fn append<T>(&self, appender: &mut Option<Appender>, append: impl FnOnce(&mut Appender) -> Result<T>) -> Result<T> {
        let done = append(appender.as_mut().ok_or_else(|| self.closed())?);
        if matches!(done, Err(Error::Storage(_)))
            && let Some(appender) = appender.take()
        {
            appender.abort();
        }
        done
    }

    /// True if a key that is made now has offsets of 64 bits: the file has grown over 2 GB.
    pub fn is_large(&self) -> bool {
        self.lock().appender.as_ref().is_some_and(|appender| appender.position() > START_OF_LARGE)
    }

    /// Writes an object as a record of its own, and lists it in a directory: with the next cycle if one of its name is there.
    /// `write` writes the object, and calls nothing of this file. Returns the key.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] if the name is that of a directory; what `write` says; [`Error::Closed`].
    ///
    /// # Source
    /// `TKey::TKey`, `TDirectoryFile::AppendKey` (ROOT 6.40).
    pub fn write_object(
        &self,
        directory: DirectoryId,
        class: &str,
        name: &str,
        title: &str,
        setting: CompressionSetting,
        write: impl FnOnce(&mut Output) -> format::Result<()>,
    ) -> Result<Key> {
        // References in the object count from the start of its key, whose length depends on where it is: nothing comes before it.
        let _turn = self.queue.turn()?;
        let (key, payload) = self.pack(self.is_large(), [class, name, title], setting, write)?;
        let mut state = self.lock();
        let FileState { appender, directories, saved, .. } = &mut *state;
        self.append(appender, |appender| {
            let key = directories.list(directory, key, appender.position())?;
            append_record(appender, &key, &payload)?;
            saved.remove(directory, name);
            Ok(key)
        })
    }

    /// Checks that an object of this class, name and title can be listed in a directory.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] if no key holds them, if the name cannot be one, or is that of a directory.
    pub(crate) fn check_key(&self, directory: DirectoryId, [class, name, title]: [&str; 3]) -> Result<()> {
        // It may be written far behind, where keys are longer.
        Key::new(true, class, name, title)
            .map_err(|error| Error::InvalidRequest { what: error.fault().what.clone() })?;
        self.lock().directories.check(directory, name)
    }

    /// Keeps a name for a table that is listed in the end: no directory gets it.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] if it cannot be one, or is that of a directory.
    pub(crate) fn promise(&self, directory: DirectoryId, name: &str) -> Result<()> {
        self.lock().directories.promise(directory, name)
    }

    /// Has the file describe a class that is not ROOT's own.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] if another class of that name is described.
    pub fn add_class(&self, info: StreamerInfo) -> Result<()> {
        self.lock().classes.add(info)
    }

    /// Has the file describe one of ROOT's own classes whose objects it holds, with its bases. Call it in the order in which
    /// the objects are written.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] if it is not known here.
    pub fn need_class(&self, name: &str) -> Result<()> {
        self.lock().classes.need(name)
    }

    /// Has the file describe the class of a pointer to nothing, with all classes that it needs, as ROOT does. Nothing is
    /// described of what is not known here.
    pub fn need_class_of_null(&self, name: &str) {
        self.lock().classes.need_for_null(name);
    }

    /// Has the file describe the classes of a record.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] if one is not known here.
    pub(crate) fn need_classes(&self, needed: &NeededClasses) -> Result<()> {
        self.lock().classes.need_all(needed)
    }

    /// Saves a table that is not complete: the file can be read so far where its sink keeps it, whatever becomes of its writer.
    /// Nobody else appends meanwhile.
    ///
    /// # Errors
    /// [`Error::Format`] if the record has no room for the table, [`Error::Storage`], [`Error::Closed`].
    pub(crate) fn save(&self, saving: Saving) -> Result<()> {
        let mut state = self.lock();
        let FileState { appender, directories, classes, saved, .. } = &mut *state;
        self.append(appender, |appender| {
            let Saving { directory, texts: [class, name, title], compression, write, needed } = saving;
            let is_large = appender.position() > START_OF_LARGE;
            let (key, payload) = self.pack(is_large, [&class, &name, &title], compression, write)?;
            // These are only as they are now: in the end tables are listed and described in the order of their ends.
            let (mut directories, mut classes) = (directories.clone(), classes.clone());
            let others = saved.tables().filter(|other| (other.directory, &other.key.name) != (directory, &name));
            for other in others {
                directories.list_again(other.directory, other.key.clone());
                classes.need_all(&other.needed)?;
            }
            classes.need_all(&needed)?;
            let key = directories.list(directory, key, appender.position())?;
            append_record(appender, &key, &payload)?;
            let start = appender.position();
            saved.insert(SavedTable { directory, key, needed });
            let header = self.append_ending(appender, &mut directories, &classes, &saved.segments())?;
            saved.set_ending(start..appender.position());
            appender.flush()?;
            write_beginning(appender, &directories, &header)?;
            saved.mark(appender)
        })
    }

    /// Writes all that the file lacks, without publishing it: it can be read where its sink keeps it until then. Afterwards
    /// nothing can be written.
    ///
    /// # Errors
    /// [`Error::Storage`] if it cannot be written: then nothing is left of it; [`Error::Closed`].
    ///
    /// # Source
    /// `TFile::Close` (ROOT 6.40).
    pub fn complete(&self) -> Result<()> {
        let placed = self.queue.wait();
        self.queue.end();
        if let Err(error) = placed {
            self.abort();
            return Err(error);
        }
        let mut state = self.lock();
        let FileState { appender, complete, directories, classes, saved } = &mut *state;
        let mut open = appender.take().ok_or_else(|| self.closed())?;
        saved.clear();
        let gaps = saved.segments();
        let ended = self.append_ending(&mut open, directories, classes, &gaps).and_then(|header| {
            if !gaps.is_empty() {
                // What was saved can be read until all that replaces it is there.
                open.flush()?;
            }
            write_beginning(&mut open, directories, &header)?;
            saved.mark(&mut open)?;
            open.flush()
        });
        match ended {
            Ok(()) => *complete = Some(open),
            Err(_) => open.abort(),
        }
        ended
    }

    /// Completes the file, and publishes it under its name. Returns its size in bytes. Afterwards nothing can be written.
    ///
    /// # Errors
    /// As [`FileWriter::complete`].
    pub fn close(&self) -> Result<u64> {
        if self.lock().complete.is_none() {
            self.complete()?;
        }
        let mut complete = self.lock().complete.take().ok_or_else(|| self.closed())?;
        let published = complete.publish();
        if published.is_err() {
            complete.abort();
        }
        published.map(|()| complete.position())
    }

    /// Gives the file up: nothing is left of it, and an older file of its name stays, unless it was published before. Whoever
    /// still writes or publishes it, on any thread, is told that it is closed. A child that was forked from its process does
    /// nothing: it has the file, too, and perhaps locks that nobody will open.
    pub fn abort(&self) {
        if !self.queue.is_own_process() {
            return;
        }
        self.queue.stop(self.closed());
        let mut state = self.lock();
        (state.appender, state.complete) = (None, None);
        // Also where another thread publishes it, and has the appender.
        self.sink.abort();
    }

    /// Appends the records that a file ends with: class descriptions, key lists, and what is free. Returns its header.
    fn append_ending(
        &self,
        appender: &mut Appender,
        directories: &mut Directories,
        classes: &Classes,
        free: &[FreeSegment],
    ) -> Result<FileHeader> {
        let is_large = |appender: &Appender| appender.position() > START_OF_LARGE;
        let seek_info = appender.position();
        let texts = ["TList", "StreamerInfo", "Doubly linked list"];
        let (mut info_key, payload) =
            self.pack(is_large(appender), texts, self.settings.compression, |output| classes.write(output))?;
        (info_key.head.seek_key, info_key.head.seek_dir) = (seek_info, BEGIN);
        append_record(appender, &info_key, &payload)?;

        for directory in directories.with_lists() {
            let mut key = directories.key_of_list(directory, is_large(appender))?;
            let keys: Vec<&Key> = directories.keys(directory).collect();
            let mut output = Output::new(0);
            let n_bytes = keys.iter().map(|key| usize::from(key.key_bytes)).sum::<usize>() + 4;
            key.set_payload(n_bytes, n_bytes)?;
            key.head.seek_key = appender.position();
            KeyList::write(&key, keys.into_iter(), &mut output)?;
            appender.append(&[&output.into_bytes()])?;
            directories.set_list(directory, &key);
        }

        let seek_free = appender.position();
        let mut key = directories.key_of_list(ROOT_DIRECTORY, is_large(appender))?;
        // The last segment begins behind the record.
        let n_bytes_of_gaps: usize = free.iter().map(FreeSegment::stored_bytes).sum();
        let segment_at = |n_bytes: usize| FreeSegment::behind(seek_free + u64::from(key.key_bytes) + n_bytes as u64);
        let n_bytes = n_bytes_of_gaps + segment_at(n_bytes_of_gaps).stored_bytes();
        let n_bytes = n_bytes_of_gaps + segment_at(n_bytes).stored_bytes();
        let segment = segment_at(n_bytes);
        key.set_payload(n_bytes, n_bytes)?;
        key.head.seek_key = seek_free;
        let mut output = Output::new(0);
        key.write(&mut output)?;
        free.iter().chain([&segment]).for_each(|segment| segment.write(&mut output));
        appender.append(&[&output.into_bytes()])?;
        let end = appender.position();
        let is_large = FileHeader::is_large_at(end);
        Ok(FileHeader {
            version: ROOT_VERSION,
            is_large,
            begin: BEGIN,
            end,
            seek_free,
            n_bytes_free: key.n_bytes,
            n_free: u32::try_from(free.len() + 1).unwrap_or(u32::MAX),
            n_bytes_name: directories.n_bytes_name(),
            units: if is_large { 8 } else { 4 },
            compression: self.settings.compression,
            seek_info,
            n_bytes_info: info_key.n_bytes,
            uuid: directories.uuid(),
            uuid_version: Uuid::VERSION,
        })
    }

    /// Makes the key and the payload of a record, as they will be but for what depends on where it is.
    fn pack(
        &self,
        is_large: bool,
        [class, name, title]: [&str; 3],
        setting: CompressionSetting,
        write: impl FnOnce(&mut Output) -> format::Result<()>,
    ) -> Result<(Key, Vec<u8>)> {
        let mut key = Key::new(is_large, class, name, title)?;
        key.head.datime = self.datime;
        let mut output = Output::new(key.key_bytes.into());
        write(&mut output)?;
        let object = output.into_bytes();
        let n_bytes = object.len();
        let mut kept = self.compressor.lock().unwrap_or_else(PoisonError::into_inner);
        let payload = packed(object, setting, &mut kept)?;
        if n_bytes > MAX_KEPT_BYTES {
            *kept = Compressor::new();
        }
        key.set_payload(n_bytes, payload.len())?;
        Ok((key, payload))
    }

    fn closed(&self) -> Error {
        Error::Closed { what: self.url().to_owned() }
    }

    fn lock(&self) -> MutexGuard<'_, FileState> {
        // What a panic left is still in order: state changes after what may fail.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The payload of an object: small ones are left as they are.
fn packed(object: Vec<u8>, setting: CompressionSetting, compressor: &mut Compressor) -> Result<Vec<u8>> {
    if object.len() <= MAX_PLAIN_BYTES {
        return Ok(object);
    }
    let mut payload = Vec::new();
    compressor.compress(setting, &object, &mut payload)?;
    Ok(payload)
}

impl Drop for FileWriter {
    fn drop(&mut self) {
        self.abort();
    }
}

/// Writes what a file begins with, and the fields of its directories, which say where the records at its end are.
fn write_beginning(appender: &mut Appender, directories: &Directories, header: &FileHeader) -> Result<()> {
    for (offset, bytes) in directories.fields()? {
        appender.write_at(offset, &bytes)?;
    }
    let mut output = Output::new(0);
    header.write(&mut output)?;
    appender.write_at(0, &output.into_bytes())
}

/// Where and when a record is made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record {
    seek_key: u64,
    datime: Datime,
}

fn append_record(appender: &mut Appender, key: &Key, payload: &[u8]) -> Result<()> {
    let mut output = Output::new(0);
    key.write(&mut output)?;
    appender.append(&[&output.into_bytes(), payload])?;
    Ok(())
}

/// A new identifier, of the system's randomness.
fn uuid(settings: &FileSettings) -> Result<Uuid> {
    if settings.is_reproducible {
        return Ok(Uuid::default());
    }
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| Error::NoRandomness { what: error.to_string() })?;
    Ok(Uuid::of_random(bytes))
}

#[cfg(test)]
mod tests;
