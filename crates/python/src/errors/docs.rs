//! What `help` says of exceptions. `tests/house/test_examples.py` runs the examples.

pub(super) const ARROWROOT: &str = r#"Base of all errors of arrowroot.

    >>> try:
    ...     ar.open("nothing.root")
    ... except ar.ArrowrootError as error:
    ...     print("skipped:", error)
    skipped: nothing.root: ...
"#;

pub(super) const CORRUPT_FILE: &str = r#"The bytes contradict the format; the message has the byte, of the file or of a payload once uncompressed.

    >>> ar.open("notes.txt")
    Traceback (most recent call last):
    arrowroot.CorruptFileError: notes.txt: ...
"#;

pub(super) const UNSUPPORTED: &str = r#"It may be right, but cannot be read or written yet.

    >>> with ar.create("new.root") as new:
    ...     new["thing"] = object()
    Traceback (most recent call last):
    arrowroot.UnsupportedError: ...new.root:thing: ...
"#;

pub(super) const STORAGE: &str = r#"Bytes could not be fetched or written.

    >>> ar.open("http://127.0.0.1:9/f.root", retries=0)
    Traceback (most recent call last):
    arrowroot.StorageError: http://127.0.0.1:9/f.root: ...
"#;

pub(super) const NO_SUCH_FILE: &str = r#"There is no such file.

    >>> ar.open("nothing.root")
    Traceback (most recent call last):
    arrowroot.NoSuchFileError: nothing.root: ...
"#;

pub(super) const ACCESS_DENIED: &str = r#"The file is there, but not for these credentials.

    >>> try:
    ...     file = ar.open("events.root")
    ... except ar.AccessDeniedError:
    ...     print("renew the token")
"#;

pub(super) const NOT_FOUND: &str = r#"There is no such object, tree or column.

    >>> try:
    ...     file["nothing"]
    ... except ar.NotFoundError:
    ...     print("not in this file")
    not in this file
"#;

pub(super) const INVALID_REQUEST: &str = r#"Columns, entries, options or data are not what they can be.

    >>> tree.scan(batch_size="many")
    Traceback (most recent call last):
    arrowroot.InvalidRequestError: batch_size: ...
"#;

pub(super) const BATCH_TOO_LONG: &str = r#"A batch has more than 2^31 - 1 items in its lists, or bytes in its texts: give a smaller ``batch_size``.

    >>> try:
    ...     table = tree.to_arrow()
    ... except ar.BatchTooLongError:
    ...     batches = list(tree.scan(batch_size="64 MB"))
"#;

pub(super) const WRONG_TYPE: &str = r#"An object is of a type that this cannot be done with.

    >>> tree[3]
    Traceback (most recent call last):
    arrowroot.WrongTypeError: a tree gives columns by their names, not 3: ...
"#;

pub(super) const OUT_OF_MEMORY: &str = r#"There is not enough memory: read fewer entries at a time.

    >>> try:
    ...     table = tree.to_arrow()
    ... except ar.OutOfMemoryError:
    ...     batches = list(tree.scan(batch_size="10 MB"))
"#;

pub(super) const INVALID_TEXT: &str = r#"Text in the file is not UTF-8; the message has column and entry.

    >>> try:
    ...     table = tree.to_arrow()
    ... except ar.InvalidTextError:
    ...     table = tree.to_arrow(strings="replace")
"#;

pub(super) const INTERNAL: &str = r#"A fault of arrowroot itself: please report it.

    >>> try:
    ...     table = tree.to_arrow()
    ... except ar.InternalError as fault:
    ...     print("please report:", fault)
"#;
