//! What can be set, by whom, and how it is written: one table for arguments, URLs, environment and files.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::secret::{Secret, redacted, redacted_place};
use crate::sizes::parse_size;
use crate::source::AccessProfile;
use crate::trusted::Trusted;

/// How reads are made of what the engine asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strategy {
    /// From the plan, the store and the memory budget.
    #[default]
    Auto,
    /// Each basket is a read of its own, in the order of need.
    Direct,
    /// The engine's own windows go to the store; no layer between. CMS's cache hint of that name.
    ApplicationOnly,
    /// The engine asks basket by basket, but tells the storage layer what comes, which reads ahead in the background.
    StorageOnly,
    /// Segments of 128 MiB are copied to a local disk when first touched.
    LazyDownload,
    /// One window of fixed size, filled again when a read misses it: RFIO's READBUF.
    ReadAhead,
    /// ROOT's TTreeCache: learns the branches, then one vector read for each cluster window.
    TreeCache,
}

impl Strategy {
    /// All of them with their names.
    pub const ALL: [(Strategy, &'static str); 7] = [
        (Strategy::Auto, "auto"),
        (Strategy::Direct, "direct"),
        (Strategy::ApplicationOnly, "application-only"),
        (Strategy::StorageOnly, "storage-only"),
        (Strategy::LazyDownload, "lazy-download"),
        (Strategy::ReadAhead, "readahead"),
        (Strategy::TreeCache, "treecache"),
    ];

    /// As it is written.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(strategy, _)| *strategy == self).map_or("auto", |(_, name)| name)
    }
}

/// How to reach a store, and for how long to try.
#[derive(Debug, Clone)]
pub struct Network {
    /// A request that brings nothing for so long has failed.
    pub timeout: Duration,
    /// All tries of one read together.
    pub deadline: Duration,
    /// Tries after the first.
    pub retries: u32,
    /// Connections to one server; 0: as many as the store is good for.
    pub max_connections: usize,
    /// Most bytes that copies of this process may have of a local disk: those of servers without ranges, and those of
    /// lazy-download; `None`: half of what is free there.
    pub max_copy_bytes: Option<u64>,
    /// A bearer token (WLCG, SciTokens, Macaroon).
    pub token: Option<Secret>,
    /// PEM file of an X.509 client certificate or proxy.
    pub certificate: Option<PathBuf>,
    /// PEM file of its key, if that is another one.
    pub key: Option<PathBuf>,
    /// PEM file or directory of the authorities to trust, besides those of the system.
    pub authorities: Option<PathBuf>,
    /// Endpoint of an S3 service that is not Amazon's.
    pub s3_endpoint: Option<String>,
    /// Region of an S3 service.
    pub s3_region: Option<String>,
    /// The origins that may see credentials; `None`: whatever is opened, as its URL was typed.
    pub credentials_for: Option<Trusted>,
    /// Nothing of who is asking is shown, whatever is set here or found: see [`Network::toward`].
    pub is_anonymous: bool,
}

impl Network {
    /// How to reach the store of a URL: without credentials, unless they are for its origin.
    pub fn toward(&self, url: &str) -> Cow<'_, Network> {
        if self.is_anonymous || self.credentials_for.as_ref().is_none_or(|trusted| trusted.holds(url)) {
            return Cow::Borrowed(self);
        }
        let (token, certificate, key) = (None, None, None);
        Cow::Owned(Network { token, certificate, key, is_anonymous: true, ..self.clone() })
    }
}

/// All that can be set.
#[derive(Debug, Clone)]
pub struct Options {
    /// How reads are made.
    pub strategy: Strategy,
    /// Window of readahead, cache of treecache, window of the others, in bytes; 0: none, each basket is a read as with
    /// direct; `None`: as the strategy finds right.
    pub cache_bytes: Option<u64>,
    /// What lies between two ranges is read with them if it is not more than this; `None`: from the store's profile.
    pub max_gap_bytes: Option<u64>,
    /// No merged read is larger than this; 0: nothing is merged.
    pub max_span_bytes: Option<u64>,
    /// Windows that are fetched while one is decoded; `None`: from the store's profile.
    pub prefetch: Option<usize>,
    /// Entries during which treecache watches which branches are read.
    pub learn_entries: u64,
    /// Where segments are downloaded to; `None`: the system's directory for temporary files.
    pub download_directory: Option<PathBuf>,
    /// Where blocks are kept between runs; `None`: no block cache.
    pub block_cache: Option<PathBuf>,
    /// Most bytes of the block cache; 0: no block cache.
    pub block_cache_bytes: u64,
    /// How to reach the store.
    pub network: Network,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            strategy: Strategy::Auto,
            cache_bytes: None,
            max_gap_bytes: None,
            max_span_bytes: None,
            prefetch: None,
            learn_entries: 100,
            download_directory: None,
            block_cache: None,
            block_cache_bytes: 10_000_000_000,
            network: Network {
                timeout: Duration::from_secs(30),
                deadline: Duration::from_secs(300),
                retries: 5,
                max_connections: 0,
                max_copy_bytes: None,
                token: None,
                certificate: None,
                key: None,
                authorities: None,
                s3_endpoint: None,
                s3_region: None,
                credentials_for: None,
                is_anonymous: false,
            },
        }
    }
}

/// One option: how it is written, as the documentation and `arrowroot config` show it, and where it is kept.
#[derive(Debug, Clone, Copy)]
pub struct OptionInfo {
    /// Its name as an argument, in a URL (`arrowroot.NAME=`) and in TOML; `ARROWROOT_NAME` in the environment.
    pub name: &'static str,
    /// What it takes.
    pub takes: &'static str,
    /// What it does.
    pub meaning: &'static str,
    /// Whether its value must not be shown.
    pub is_secret: bool,
    set: fn(&mut Options, &str) -> Result<(), String>,
    get: fn(&Options) -> Option<String>,
}

/// More is as good as without end, and less than clocks can count: ten years.
const MAX_SECONDS: f64 = 10.0 * 365.0 * 24.0 * 3600.0;

/// Defines options. Each has a name, what it takes, its field, how a text is read, how a value is shown, and what it does.
macro_rules! options {
    ($($name:ident $($secret:ident)?, $takes:literal, $($field:ident).+, $read:expr, $show:expr, $meaning:literal;)*) => {
        [$(OptionInfo {
            name: stringify!($name),
            takes: $takes,
            meaning: $meaning,
            is_secret: !stringify!($($secret)?).is_empty(),
            set: |options, text| $read(text).map(|value| options.$($field).+ = value),
            get: |options| $show(&options.$($field).+),
        },)*]
    };
}

/// All options.
pub const OPTIONS: [OptionInfo; 21] = options! {
    strategy, "a name", strategy, strategy, |strategy: &Strategy| Some(strategy.name().to_owned()),
        "how reads are made: auto, direct, application-only, storage-only, lazy-download, readahead, treecache";
    cache_size, "a size", cache_bytes, some(size), if_set,
        "window of readahead, cache of treecache, window of the other strategies; 0: none, as direct";
    max_gap, "a size", max_gap_bytes, some(size), if_set,
        "what lies between two ranges is read with them if it is not more";
    max_span, "a size", max_span_bytes, some(size), if_set,
        "no merged read is larger; 0: nothing is merged";
    prefetch, "a number", prefetch, some(number::<_, 1024>), if_set,
        "windows fetched while one is decoded";
    learn_entries, "a number", learn_entries, number::<_, { u64::MAX }>, always,
        "entries during which treecache watches which branches are read";
    download_dir, "a directory", download_directory, path, path_text,
        "where lazy-download keeps its segments until the last process has read the file; what a killed one leaves is removed an hour later by the next that keeps some there";
    download_size, "a size", network.max_copy_bytes, some(size), if_set,
        "most bytes that copies may take of a local disk, all of a process together: those of lazy-download, and those of files on servers without ranges; half of what is free if it is not set, and 64 MiB for a file whose server tells no length";
    block_cache, "a directory", block_cache, path, path_text,
        "where blocks are kept between runs";
    block_cache_size, "a size", block_cache_bytes, size, always,
        "most bytes of the block cache, which leaves a twentieth of its disk free in any case; 0: no block cache";
    timeout, "seconds", network.timeout, seconds, seconds_text,
        "a request that brings nothing for so long has failed";
    deadline, "seconds", network.deadline, seconds, seconds_text,
        "all tries of one read together";
    retries, "a number", network.retries, number::<_, 100>, always,
        "tries after the first";
    connections, "a number", network.max_connections, number::<_, 256>, always,
        "most connections to one server; 0: as many as the store is good for";
    token secret, "a token", network.token, token, |_| None,
        "bearer token for HTTP and XRootD";
    certificate, "a file", network.certificate, path, path_text,
        "X.509 client certificate or proxy, PEM";
    key, "a file", network.key, path, path_text,
        "its key, if that is another file, PEM";
    authorities, "a file or directory", network.authorities, path, path_text,
        "certificate authorities to trust, PEM";
    s3_endpoint, "a URL", network.s3_endpoint, text, |url: &Option<String>| url.as_deref().map(redacted_place),
        "S3 service that is not Amazon's";
    s3_region, "a name", network.s3_region, text, Option::clone,
        "region of the S3 service";
    credentials_for, "hosts", network.credentials_for, some(Trusted::parse), trusted_text,
        "servers that may see credentials besides those of the URLs that you name: host, host:port or scheme://host:port";
};

fn strategy(text: &str) -> Result<Strategy, String> {
    let found = Strategy::ALL.iter().find(|(_, name)| *name == text.trim());
    let names = Strategy::ALL.map(|(_, name)| name);
    Ok(found.ok_or_else(|| format!("{text:?} is none of {}", names.join(", ")))?.0)
}

fn size(text: &str) -> Result<u64, String> {
    parse_size(text).ok_or_else(|| format!("{text:?} is no size; write such as 512k, 10 MB or 32 MiB"))
}

/// A number; more than `MOST` is `MOST`.
fn number<T: TryFrom<u64>, const MOST: u64>(text: &str) -> Result<T, String> {
    let number = text.trim().parse::<u64>().ok().and_then(|number| T::try_from(number.min(MOST)).ok());
    number.ok_or_else(|| format!("{text:?} is no number from 0 on"))
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: Option<f64> = text.trim().trim_end_matches('s').trim_end().parse().ok();
    seconds
        .filter(|&seconds| seconds > 0.0)
        .and_then(|seconds| Duration::try_from_secs_f64(seconds.min(MAX_SECONDS)).ok())
        .filter(|duration| !duration.is_zero())
        .ok_or_else(|| format!("{text:?} is no number of seconds above 0"))
}

/// A text; an empty one takes back what was set.
fn text(text: &str) -> Result<Option<String>, String> {
    Ok((!text.is_empty()).then(|| text.to_owned()))
}

fn path(path: &str) -> Result<Option<PathBuf>, String> {
    Ok(text(path)?.map(PathBuf::from))
}

/// The fault of a token that is not sendable.
pub(crate) const NOT_SENDABLE: &str =
    "it has characters that no request takes, as line breaks or letters beyond ASCII; a token is one line of ASCII";

/// True if the head of a request takes a token (RFC 9110, section 5.5).
pub(crate) fn is_sendable(token: &str) -> bool {
    token.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ')
}

/// A token, without the word that stands before it in the head of a request: it is added there.
pub(crate) fn bare_token(text: &str) -> &str {
    let text = text.trim();
    match text.split_once(char::is_whitespace) {
        Some((word, token)) if word.eq_ignore_ascii_case("bearer") => token.trim(),
        _ => text,
    }
}

fn token(token: &str) -> Result<Option<Secret>, String> {
    if !is_sendable(bare_token(token)) {
        return Err(NOT_SENDABLE.to_owned());
    }
    Ok(text(bare_token(token))?.map(Secret::new))
}

/// A value that need not be set.
fn some<T>(read: impl Fn(&str) -> Result<T, String>) -> impl Fn(&str) -> Result<Option<T>, String> {
    move |text| read(text).map(Some)
}

fn if_set<T: ToString>(value: &Option<T>) -> Option<String> {
    value.as_ref().map(T::to_string)
}

fn always<T: ToString>(value: &T) -> Option<String> {
    Some(value.to_string())
}

fn seconds_text(duration: &Duration) -> Option<String> {
    always(&duration.as_secs_f64())
}

fn path_text(path: &Option<PathBuf>) -> Option<String> {
    path.as_ref().map(|path| redacted(&path.to_string_lossy()))
}

fn trusted_text(trusted: &Option<Trusted>) -> Option<String> {
    text(trusted.as_ref()?.text()).ok()?
}

impl Options {
    /// The options that these settings make: name, text and where it comes from; the others have their defaults.
    ///
    /// # Errors
    /// [`Error::Option`] as [`Options::set`], and if one half of a pair is set without the other.
    pub fn of<'t>(settings: impl IntoIterator<Item = (&'t str, &'t str, &'t str)>) -> Result<Options> {
        let mut options = Options::default();
        let mut key_origin = "";
        for (name, text, origin) in settings {
            options.set(name, text, origin)?;
            if name == "key" {
                key_origin = origin;
            }
        }
        // A certificate alone may have its key in the same file; a key alone would be left out without a word.
        if options.network.key.is_some() && options.network.certificate.is_none() {
            let what = "it is the key of a certificate, and none is set; set certificate too, or neither".to_owned();
            return Err(Error::Option { option: format!("key ({key_origin})"), what });
        }
        Ok(options)
    }

    /// The directory of the block cache of a store, if it has one: a local copy of a local file would only cost.
    pub(crate) fn block_cache_of(&self, profile: AccessProfile) -> Option<&Path> {
        self.block_cache.as_deref().filter(|_| profile.is_remote && self.block_cache_bytes > 0)
    }

    /// Sets an option from text. `origin` says where it comes from, for the message.
    ///
    /// # Errors
    /// [`Error::Option`] if there is no such option or it does not take this.
    pub fn set(&mut self, name: &str, text: &str, origin: &str) -> Result<()> {
        let done = match OPTIONS.iter().find(|option| option.name == name) {
            Some(option) => (option.set)(self, text),
            None => Err(format!("there is no such option; there are {}", OPTIONS.map(|option| option.name).join(", "))),
        };
        done.map_err(|what| Error::Option { option: format!("{name} ({origin})"), what })
    }

    /// The value of an option, as [`Options::set`] takes it; `None` if it is not set, is left to the strategy, or must
    /// not be shown.
    pub fn text(&self, name: &str) -> Option<String> {
        OPTIONS.iter().find(|option| option.name == name).and_then(|option| (option.get)(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_of_ages_is_one_that_clocks_can_count() {
        for text in ["1e9", "1e19", "1e300", "inf"] {
            let mut options = Options::default();
            match options.set("deadline", text, "test") {
                Ok(()) => assert!(std::time::Instant::now().checked_add(options.network.deadline).is_some(), "{text}"),
                Err(error) => assert!(error.to_string().contains("no number of seconds"), "{error}"),
            }
        }
    }

    #[test]
    fn every_option_of_the_table_can_be_set_and_others_cannot() {
        for info in OPTIONS {
            let text = match info.takes {
                "a name" if info.name == "strategy" => "treecache",
                "a size" => "1 MB",
                "a number" | "seconds" => "3",
                _ => "x",
            };
            let mut options = Options::default();
            options.set(info.name, text, "test").unwrap();
            // What it shows is what it takes.
            let shown = options.text(info.name);
            assert_eq!(shown.is_none(), info.is_secret, "{}", info.name);
            if let Some(shown) = shown {
                let mut again = Options::default();
                again.set(info.name, &shown, "test").unwrap();
                assert_eq!(again.text(info.name), Some(shown));
            }
        }
        let error = Options::default().set("cachesize", "1", "argument").unwrap_err().to_string();
        assert!(error.contains("cachesize (argument)") && error.contains("cache_size"), "{error}");
        for none in ["-1", "0", "1e-10"] {
            assert!(Options::default().set("timeout", none, "argument").is_err(), "{none}");
        }
        assert!(
            Options::default().set("strategy", "fast", "argument").unwrap_err().to_string().contains("lazy-download")
        );
    }

    #[test]
    fn options_are_shown_in_urls_unless_they_take_a_secret_or_a_url() {
        let shown = OPTIONS.iter().filter(|info| !info.is_secret && info.takes != "a URL").map(|info| info.name);
        assert_eq!(shown.collect::<Vec<_>>(), crate::secret::SHOWN_OPTIONS);
    }

    #[test]
    fn a_size_of_0_stays_one() {
        for name in ["cache_size", "max_gap", "max_span", "block_cache_size"] {
            let options = Options::of([(name, "0", "test")]).unwrap();
            assert_eq!(options.text(name).unwrap(), "0", "{name}");
        }
    }

    #[test]
    fn a_key_without_its_certificate_is_an_error_that_says_who_set_it() {
        let both = [("key", "k.pem", "URL"), ("certificate", "c.pem", "environment")];
        assert!(Options::of(both).is_ok());
        assert!(Options::of([both[1]]).is_ok(), "the key may be in the same file");
        // An empty text takes back what somebody else set.
        for certificate in [None, Some(("certificate", "", "argument"))] {
            let error = Options::of([both[0]].into_iter().chain(certificate)).unwrap_err().to_string();
            assert!(error.starts_with("key (URL): ") && error.contains("set certificate"), "{error}");
        }
        assert!(Options::of([both[0], ("key", "", "argument")]).is_ok());
    }

    #[test]
    fn a_token_that_no_request_takes_is_refused_and_not_shown() {
        for token in ["t0k3n\nt0k3n", "t0k3n\u{e9}", "t0k3n\0"] {
            let error = Options::default().set("token", token, "environment").unwrap_err().to_string();
            assert!(error.starts_with("token (environment): ") && !error.contains("t0k3n"), "{error}");
        }
        assert!(Options::default().set("token", " Bearer t0k3n\n", "environment").is_ok());
    }

    #[test]
    fn a_token_is_never_printed() {
        let mut options = Options::default();
        options.set("token", "abcdef", "environment").unwrap();
        assert!(!format!("{options:?}").contains("abcdef"));
    }
}
