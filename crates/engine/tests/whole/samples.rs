//! Columns whose types the data tell: what is read for that may fail, and may be wrong.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use arrow_schema::Schema;
use arrowroot::storage::{AccessProfile, Error as StorageError, MemorySource, Part, Result as StorageResult, Source};
use arrowroot::{Entries, Error, File, Ntuple, Order, Request, Table, TextForm, Tree, format};

static OBJECTS: &[u8] = include_bytes!("../../../../tests/fixtures/objects.root");

/// A store one range of which cannot be read for the next time.
struct FailsOnce {
    inner: MemorySource,
    size_bytes: AtomicU64,
    fails: Mutex<Option<Range<u64>>>,
}

impl FailsOnce {
    fn new(content: &[u8]) -> Arc<Self> {
        let inner = MemorySource::new("fails.root", content.to_vec());
        Arc::new(FailsOnce { inner, size_bytes: AtomicU64::new(content.len() as u64), fails: Mutex::default() })
    }

    fn fail(&self, range: Range<u64>) {
        *self.fails.lock().unwrap() = Some(range);
    }

    fn has_failed(&self) -> bool {
        self.fails.lock().unwrap().is_none()
    }
}

impl Source for FailsOnce {
    fn url(&self) -> &str {
        self.inner.url()
    }

    fn size_bytes(&self) -> u64 {
        self.size_bytes.load(Ordering::Relaxed)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> StorageResult<()> {
        let read = offset..offset + buffer.len() as u64;
        let mut fails = self.fails.lock().unwrap();
        if fails.as_ref().is_some_and(|fails| fails.start < read.end && read.start < fails.end) {
            *fails = None;
            let (doing, what) = ("reading".to_owned(), "the line was cut".to_owned());
            return Err(StorageError::Connection { url: self.url().to_owned(), doing, what });
        }
        self.inner.read_at(offset, buffer)
    }

    fn read_vector(&self, parts: &mut [Part<'_>]) -> StorageResult<()> {
        parts.iter_mut().try_for_each(|part| self.read_at(part.offset, part.buffer))
    }

    fn access_profile(&self) -> AccessProfile {
        self.inner.access_profile()
    }
}

fn open(content: &[u8]) -> File {
    File::from_source(Arc::new(MemorySource::new("objects.root", content.to_vec()))).unwrap()
}

fn schema_of(content: &[u8]) -> Schema {
    Tree::open(&open(content), "tree").unwrap().arrow_schema().unwrap()
}

fn infos_of(file: &File) -> Range<u64> {
    file.header().seek_info..file.header().seek_info + u64::from(file.header().n_bytes_info)
}

/// The first basket of the branch of objects.
fn basket() -> Range<usize> {
    let file = open(OBJECTS);
    let tree = Tree::open(&file, "tree").unwrap();
    let baskets = tree.baskets(tree.find("objects").unwrap()).unwrap();
    let start = usize::try_from(baskets[0].offset).unwrap();
    start..start + baskets[0].stored_bytes as usize
}

fn scan(tree: &Tree, names: &[&str], entries: Entries) -> arrowroot::Result<Schema> {
    let columns = names.iter().map(|name| (tree.find(name).unwrap().into(), (*name).to_owned())).collect();
    tree.scan(&Request { columns, ..request(entries) }).map(|scan| scan.schema().as_ref().clone())
}

fn request(entries: Entries) -> Request {
    Request {
        columns: Vec::new(),
        entries,
        order: Order::Cluster,
        batch_bytes: None,
        batch_entries: None,
        memory_budget_bytes: 1_000_000,
        n_threads: 1,
        trace: false,
        text: TextForm::Utf8,
        verify_checksums: true,
        raw: false,
    }
}

#[test]
fn a_read_that_failed_leaves_out_no_column_and_is_tried_again() {
    let expected = schema_of(OBJECTS);
    assert!(expected.field_with_name("objects").unwrap().to_string().contains("TObjString"));
    let (offset, end) = (basket().start as u64, basket().end as u64);
    for range in [offset..end, infos_of(&open(OBJECTS))] {
        let source = FailsOnce::new(OBJECTS);
        let tree = Tree::open(&File::from_source(Arc::clone(&source) as _).unwrap(), "tree").unwrap();
        source.fail(range.clone());
        assert!(matches!(tree.arrow_schema(), Err(Error::Storage(_))), "{range:?}");
        assert!(source.has_failed());
        assert_eq!(tree.arrow_schema().unwrap(), expected, "{range:?}");
        source.fail(range);
        assert_eq!(tree.arrow_schema().unwrap(), expected, "nothing is read twice");
    }
}

#[test]
fn a_read_that_failed_makes_no_other_type() {
    let all = Entries::Range(0..20);
    let names = ["split", "list", "named"];
    let expected = scan(&Tree::open(&open(OBJECTS), "tree").unwrap(), &names, all.clone()).unwrap();
    for name in names {
        let source = FailsOnce::new(OBJECTS);
        let file = File::from_source(Arc::clone(&source) as _).unwrap();
        let tree = Tree::open(&file, "tree").unwrap();
        source.fail(infos_of(&file));
        assert!(matches!(scan(&tree, &[name], all.clone()), Err(Error::Storage(_))), "{name}");
        assert_eq!(scan(&tree, &names, all.clone()).unwrap(), expected, "{name}");
    }
}

#[test]
fn whether_a_class_is_of_trees_is_not_guessed_when_a_read_fails() {
    let source = FailsOnce::new(OBJECTS);
    let file = File::from_source(Arc::clone(&source) as _).unwrap();
    source.fail(infos_of(&file));
    assert!(matches!(file.is_tree_class("SomeTree"), Err(Error::Storage(_))));
    assert!(!file.is_tree_class("SomeTree").unwrap());
}

#[test]
fn recovery_does_not_go_on_without_descriptions_of_classes_that_could_not_be_read() {
    let infos = infos_of(&open(OBJECTS));
    // The head of a record is read by the walk, the rest where the object is.
    let object = infos.end - 1..infos.end;
    let cut = &OBJECTS[..usize::try_from(infos.end).unwrap()];
    let source = FailsOnce::new(cut);
    let file = File::from_source(Arc::clone(&source) as _).unwrap();
    assert!(file.was_recovered());
    source.fail(object);
    assert!(matches!(file.keys(), Err(Error::Storage(_))));
    file.keys().unwrap();
    assert!(!file.streamer_infos().unwrap().is_empty());
}

#[test]
fn objects_that_cannot_be_unpacked_are_not_unsupported_and_hide_no_other_column() {
    let mut content = OBJECTS.to_vec();
    let n_bytes = basket().start + 6;
    content[n_bytes..n_bytes + 4].copy_from_slice(&(1_u32 << 20).to_be_bytes());
    let tree = Tree::open(&open(&content), "tree").unwrap();
    let error = tree.column(tree.find("objects").unwrap()).unwrap_err();
    let Error::Format { source: error @ format::Error::Truncated(_), .. } = error else { panic!("{error}") };
    assert!(error.to_string().contains("first entries"), "{error}");
    let schema = tree.arrow_schema().unwrap();
    assert!(schema.field_with_name("objects").is_err());
    assert!(schema.field_with_name("named").is_ok());
}

#[test]
fn clusters_that_only_baskets_tell_are_worked_out_once() {
    let tree = Tree::open(&open(OBJECTS), "tree").unwrap();
    assert_eq!(tree.cluster_starts().as_ptr(), tree.cluster_starts().as_ptr());
}

#[test]
fn a_basket_behind_the_end_hides_no_other_column() {
    let source = FailsOnce::new(OBJECTS);
    let tree = Tree::open(&File::from_source(Arc::clone(&source) as _).unwrap(), "tree").unwrap();
    tree.file().streamer_infos().unwrap();
    source.size_bytes.store(basket().end as u64 - 1, Ordering::Relaxed);
    let schema = tree.arrow_schema().unwrap();
    assert!(schema.field_with_name("objects").is_err());
    assert!(schema.field_with_name("named").is_ok());
}

#[test]
fn of_a_basket_that_says_it_has_gigabytes_no_sample_is_taken() {
    let mut content = OBJECTS.to_vec();
    let n_bytes = basket().start + 6;
    content[n_bytes..n_bytes + 4].copy_from_slice(&i32::MAX.to_be_bytes());
    let field = schema_of(&content).field_with_name("objects").unwrap().to_string();
    assert!(field.contains("@bytes") && !field.contains("TObjString"), "{field}");
}

fn ntuple(content: &[u8]) -> Ntuple {
    Ntuple::open(&open(content), "ntuple").unwrap()
}

/// The page with the bytes of the objects, without the checksum.
fn page() -> Range<usize> {
    let (start, end, _) = listed_page(OBJECTS);
    start..end
}

/// First and end of the page, and where the page list says so: an envelope that is not compressed.
fn listed_page(content: &[u8]) -> (usize, usize, usize) {
    let envelope = envelope(content);
    let word = |index: usize| u32::from_le_bytes(content[index..index + 4].try_into().unwrap());
    let long = |index: usize| u64::from_le_bytes(content[index..index + 8].try_into().unwrap());
    // Number of elements, negative with a checksum; size; offset. Bytes have as many elements as they are stored in.
    let places = envelope.start..envelope.end - 16;
    let is_page = |&index: &usize| {
        word(index).wrapping_neg() == word(index + 4)
            && word(index + 4) > 100
            && long(index + 8) + u64::from(word(index + 4)) < content.len() as u64
    };
    let index = places.into_iter().find(is_page).unwrap();
    let start = usize::try_from(long(index + 8)).unwrap();
    (start, start + word(index + 4) as usize, index)
}

/// The page list: its type is 3, and its checksum stands behind it.
fn envelope(content: &[u8]) -> Range<usize> {
    let long = |index: usize| u64::from_le_bytes(content[index..index + 8].try_into().unwrap());
    let found = (0..content.len() - 16).find_map(|start| {
        let end = start.checked_add(usize::try_from(long(start) >> 16).ok()?)?;
        let is_one = long(start) & 0xFFFF == 3 && end - start >= 16 && end <= content.len();
        (is_one && long(end - 8) == format::rntuple::checksum(&content[start..end - 8])).then_some(start..end)
    });
    found.unwrap()
}

fn values_of(ntuple: &Ntuple, verify_checksums: bool) -> arrowroot::Result<usize> {
    let members = vec![(ntuple.find("objects")?, "objects".to_owned())];
    let request = Request { columns: members, verify_checksums, ..request(Entries::Range(0..20)) };
    let mut scan = ntuple.scan(&request)?;
    Ok(scan.next_batch(&mut || false)?.map_or(0, |batch| batch.num_rows()))
}

#[test]
fn a_field_whose_first_objects_could_not_be_read_is_tried_again() {
    let expected = ntuple(OBJECTS).arrow_schema().unwrap();
    assert!(expected.field_with_name("objects").unwrap().to_string().contains("TObjString"));
    let source = FailsOnce::new(OBJECTS);
    let ntuple = Ntuple::open(&File::from_source(Arc::clone(&source) as _).unwrap(), "ntuple").unwrap();
    source.fail(page().start as u64..page().end as u64);
    assert!(matches!(ntuple.arrow_schema(), Err(Error::Storage(_))));
    assert!(source.has_failed());
    assert_eq!(ntuple.arrow_schema().unwrap(), expected);
}

#[test]
fn a_wrong_checksum_is_told_by_whoever_reads_the_values() {
    let mut content = OBJECTS.to_vec();
    content[page().end] ^= 1;
    let ntuple_of = || ntuple(&content);
    assert_eq!(ntuple_of().arrow_schema().unwrap(), ntuple(OBJECTS).arrow_schema().unwrap());
    assert_eq!(values_of(&ntuple_of(), false).unwrap(), 20);
    let error = values_of(&ntuple_of(), true).unwrap_err();
    assert!(matches!(error, Error::Format { source: format::Error::Corrupt(_), .. }), "{error}");
}

#[test]
fn of_a_page_that_says_it_has_gigabytes_no_sample_is_taken() {
    for (n_elements, is_taken) in [(1_u32 << 20, false), (1 << 30, true)] {
        let mut content = OBJECTS.to_vec();
        let (_, _, index) = listed_page(&content);
        content[index..index + 4].copy_from_slice(&n_elements.wrapping_neg().to_le_bytes());
        let envelope = envelope(OBJECTS);
        let sum = format::rntuple::checksum(&content[envelope.start..envelope.end - 8]);
        content[envelope.end - 8..envelope.end].copy_from_slice(&sum.to_le_bytes());
        let ntuple = ntuple(&content);
        match ntuple.arrow_field(ntuple.find("objects").unwrap(), "objects", TextForm::Utf8) {
            // What is not too large is unpacked, and then wrong.
            Err(Error::Format { source: format::Error::Corrupt(_), .. }) => assert!(!is_taken),
            Err(error) => panic!("{error}"),
            Ok(field) => {
                assert!(is_taken);
                let field = field.to_string();
                assert!(field.contains("@bytes") && !field.contains("TObjString"), "{field}");
            }
        }
    }
}
