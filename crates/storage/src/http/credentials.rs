//! Who is asking: bearer tokens and X.509 certificates, and where they are found.
//!
//! A token is the one given ([`Network::token`](crate::Network)), else that of WLCG's discovery: `BEARER_TOKEN`, the file
//! that `BEARER_TOKEN_FILE` names, `$XDG_RUNTIME_DIR/bt_u$UID`, `/tmp/bt_u$UID` (if it belongs to the user). A file is read
//! again for each request, because long jobs have their tokens renewed. A token that was found goes over TLS only; one that
//! was given goes wherever the URL says. Neither goes to another server (host or port) that one redirects to, nor from TLS
//! to plain text: the URLs that dCache and XRootD redirect to carry their own authorisation.
//!
//! A certificate is the one given, else `X509_USER_PROXY`, else `X509_USER_CERT` and `X509_USER_KEY`, else
//! `/tmp/x509up_u$UID`. Authorities are those of the system, the given ones, and those of `X509_CERT_DIR` or
//! `/etc/grid-security/certificates`.

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::ResolvesClientCert;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, RootCertStore, SignatureScheme};

use crate::error::{Error, Result};
use crate::options::{Network, bare_token};
use crate::secret::{Secret, redacted};

/// Files larger than this are no certificates and no tokens.
const MAX_FILE_BYTES: u64 = 16 << 20;
/// Variables that are a pair.
const CERTIFICATE: &str = "X509_USER_CERT";
const KEY: &str = "X509_USER_KEY";
/// What to do where credentials were not shown because nobody had named the server.
pub(crate) const WITHHELD: &str = "no credentials were sent: a file names this place, and you did not name its server; \
    credentials_for=[\"host\"] sends them there";
const GRID_AUTHORITIES: &str = "/etc/grid-security/certificates";

/// Where the credentials are. What is in the files is read when it is needed.
///
/// Two are the same if their files are, too: proxies live for a day, and jobs for longer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Credentials {
    token: Token,
    /// Certificate, key, and the option or variable that named them.
    certificate: Option<(PathBuf, PathBuf, &'static str)>,
    /// The variable of X.509 that is set without the one that it is a pair with, and that one.
    half_pair: Option<(&'static str, &'static str)>,
    /// File or directory, and whether it must be there.
    authorities: Vec<(PathBuf, bool)>,
    /// Of certificate, key and authorities, as TLS knows them.
    stamps: Vec<Option<Stamp>>,
}

/// What changes with a file: its number, its size, and when it was last written (s, ns).
type Stamp = (u64, u64, i64, i64);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    None,
    /// Whatever there is, it is not for this server.
    Withheld,
    Given(Secret),
    Variable(Secret),
    File(PathBuf),
}

fn user_id() -> u32 {
    rustix::process::getuid().as_raw()
}

impl Credentials {
    /// Those of the options, else those of the environment.
    pub(crate) fn find(network: &Network) -> Credentials {
        Self::find_in(network, &|name| std::env::var(name).ok(), Path::new("/tmp"))
    }

    fn find_in(network: &Network, environment: &dyn Fn(&str) -> Option<String>, tmp: &Path) -> Credentials {
        let variable =
            |name: &str| environment(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let grid = variable("X509_CERT_DIR").unwrap_or_else(|| GRID_AUTHORITIES.to_owned());
        let explicit_authorities = network.authorities.iter().map(|path| (path.clone(), true));
        let authorities = explicit_authorities.chain([(grid.into(), false)]).collect();
        if network.is_anonymous {
            let (token, stamps) = (Token::Withheld, Vec::new());
            return Credentials { token, certificate: None, half_pair: None, authorities, stamps }.renewed();
        }
        let uid = user_id();
        let token = network.token.clone().map(Token::Given);
        let token = token.or_else(|| Some(Token::Variable(Secret::new(bare_token(&variable("BEARER_TOKEN")?)))));
        let token = token.or_else(|| variable("BEARER_TOKEN_FILE").map(|path| Token::File(path.into())));
        let in_runtime =
            variable("XDG_RUNTIME_DIR").map(|directory| PathBuf::from(directory).join(format!("bt_u{uid}")));
        let in_tmp = tmp.join(format!("bt_u{uid}"));
        let token = token.or_else(|| in_runtime.into_iter().chain([in_tmp]).find(|path| is_own(path)).map(Token::File));
        let explicit = network.certificate.clone().map(|certificate| {
            let key = network.key.clone().unwrap_or_else(|| certificate.clone());
            (certificate, key, "option certificate")
        });
        let proxy = || {
            let path = PathBuf::from(variable("X509_USER_PROXY")?);
            Some((path.clone(), path, "X509_USER_PROXY"))
        };
        let (pair, half_pair) = match [CERTIFICATE, KEY].map(variable) {
            [Some(certificate), Some(key)] => {
                (Some((certificate.into(), key.into(), "X509_USER_CERT and X509_USER_KEY")), None)
            }
            [Some(_), None] => (None, Some((CERTIFICATE, KEY))),
            [None, Some(_)] => (None, Some((KEY, CERTIFICATE))),
            [None, None] => (None, None),
        };
        let usual = || {
            let path = tmp.join(format!("x509up_u{uid}"));
            is_own(&path).then(|| (path.clone(), path, "the proxy in /tmp"))
        };
        let found = Credentials {
            token: token.unwrap_or(Token::None),
            certificate: explicit.or_else(proxy).or(pair).or_else(usual),
            half_pair,
            authorities,
            stamps: Vec::new(),
        };
        found.renewed()
    }

    /// The same, with the files as they are now.
    pub(crate) fn renewed(&self) -> Credentials {
        let certificate = self.certificate.iter().flat_map(|(certificate, key, _)| [certificate, key]);
        let files = certificate.chain(self.authorities.iter().map(|(path, _)| path));
        let stamp = |path: &PathBuf| {
            let metadata = std::fs::metadata(path).ok()?;
            Some((metadata.ino(), metadata.len(), metadata.mtime(), metadata.mtime_nsec()))
        };
        Credentials { stamps: files.map(stamp).collect(), ..self.clone() }
    }

    /// Whether nothing is shown to this server, as nobody named it.
    pub(crate) fn are_withheld(&self) -> bool {
        self.token == Token::Withheld
    }

    /// Whether a file is missing that `before` had.
    pub(crate) fn lacks_what(&self, before: &Credentials) -> bool {
        self.stamps.iter().zip(&before.stamps).any(|(now, before)| now.is_none() && before.is_some())
    }

    /// The token for a request, if there is one that may go over such a connection.
    pub(crate) fn token(&self, is_encrypted: bool) -> Option<Secret> {
        match &self.token {
            Token::Given(token) => Some(token.clone()),
            Token::Variable(token) if is_encrypted => Some(token.clone()),
            Token::File(path) if is_encrypted => {
                let token = String::from_utf8(read(path).ok()?).ok()?;
                Some(Secret::new(bare_token(&token))).filter(|token| !token.expose().is_empty())
            }
            _ => None,
        }
    }

    /// Where the token is from, for messages.
    pub(super) fn origin_of_token(&self) -> String {
        match &self.token {
            Token::None | Token::Withheld | Token::Given(_) => "given".to_owned(),
            Token::Variable(_) => "BEARER_TOKEN".to_owned(),
            Token::File(path) => shown_path(path),
        }
    }

    /// Which of them a request had, for messages.
    pub(super) fn hint(&self, is_encrypted: bool, had_token: bool) -> String {
        let token = match &self.token {
            Token::Withheld => return WITHHELD.to_owned(),
            Token::None => "no bearer token was given or found".to_owned(),
            Token::Given(_) if had_token => "the given bearer token was sent".to_owned(),
            Token::Variable(_) if had_token => "the bearer token of BEARER_TOKEN was sent".to_owned(),
            Token::File(path) if had_token => format!("the bearer token of {} was sent", shown_path(path)),
            Token::Given(_) => {
                "the given bearer token was not sent to where the server redirected to: another host or port, or not https"
                    .to_owned()
            }
            _ if !is_encrypted => {
                "the bearer token that was found was not sent, as the connection is not https".to_owned()
            }
            Token::File(path) if self.token(true).is_none() => {
                format!("the bearer token of {} could not be read", shown_path(path))
            }
            _ => "the bearer token was not sent to the other host or port that the server redirected to".to_owned(),
        };
        let certificate = match &self.certificate {
            _ if !is_encrypted => return format!("{token} (option token)"),
            Some((certificate, key, origin)) => {
                // One that was only found is left out if it cannot be used, which must be told now.
                let provider = rustls::crypto::ring::default_provider();
                match client_certificate(certificate, key, &provider) {
                    Ok(_) => format!("the certificate of {origin} was offered"),
                    Err(what) => format!("the certificate of {origin} could not be offered: {what}"),
                }
            }
            None => match self.half_pair {
                Some((there, missing)) => {
                    format!("no client certificate was offered: {there} is set, but not {missing}")
                }
                None => "no client certificate was given or found".to_owned(),
            },
        };
        format!("{token} (option token); {certificate} (option certificate)")
    }

    /// What TLS connections need. A certificate or authority that was given must be readable; one that was only found is
    /// left out if it is not.
    pub(crate) fn tls(&self) -> Result<Arc<ClientConfig>> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let resolver = self.certificate.as_ref().map(|(certificate, key, origin)| {
            let made = client_certificate(certificate, key, &provider);
            made.map_err(|what| Error::Option { option: format!("certificate ({origin})"), what })
        });
        let resolver = match (resolver, &self.certificate) {
            (Some(Err(error)), Some((_, _, "option certificate"))) => return Err(error),
            (Some(Ok(resolver)), _) => Some(resolver),
            _ => None,
        };
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::Option { option: "TLS".to_owned(), what: error.to_string() })?
            .with_root_certificates(self.roots()?);
        Ok(Arc::new(match resolver {
            Some(resolver) => builder.with_client_cert_resolver(Arc::new(resolver)),
            None => builder.with_no_client_auth(),
        }))
    }

    fn roots(&self) -> Result<RootCertStore> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let mut seen = HashSet::new();
        for (path, must_be_there) in &self.authorities {
            let certificates = match authorities(path) {
                Ok(certificates) => certificates,
                Err(_) if !must_be_there => continue,
                Err(error) => {
                    let what = format!("{}: {error}", redacted(&path.to_string_lossy()));
                    return Err(Error::Option { option: "authorities".to_owned(), what });
                }
            };
            if certificates.is_empty() && *must_be_there {
                let what = format!("{}: there is no PEM certificate in it", redacted(&path.to_string_lossy()));
                return Err(Error::Option { option: "authorities".to_owned(), what });
            }
            // Directories of authorities hold each under several names.
            roots.add_parsable_certificates(certificates.into_iter().filter(|one| seen.insert(one.to_vec())));
        }
        Ok(roots)
    }
}

/// A path that the environment names, if there is something: what was to be the content of a file is set at times.
fn shown_path(path: &Path) -> String {
    if path.exists() { redacted(&path.to_string_lossy()) } else { "a file that is not there".to_owned() }
}

/// Whether it is a file that nobody else could have put there, or led to.
fn is_own(path: &Path) -> bool {
    let is_of_user = |metadata: &std::fs::Metadata| metadata.uid() == user_id();
    std::fs::symlink_metadata(path).is_ok_and(|link| is_of_user(&link))
        && std::fs::metadata(path).is_ok_and(|file| file.is_file() && is_of_user(&file))
}

fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let metadata = std::fs::metadata(path)?;
    if !metadata.is_file() || metadata.len() > MAX_FILE_BYTES {
        return Err(std::io::Error::other("no file of certificates or tokens"));
    }
    #[expect(clippy::disallowed_methods, reason = "a small file of credentials, in the crate where files are opened")]
    std::fs::read(path)
}

fn authorities(path: &Path) -> std::io::Result<Vec<CertificateDer<'static>>> {
    let mut files = vec![path.to_owned()];
    if std::fs::metadata(path)?.is_dir() {
        files =
            std::fs::read_dir(path)?.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| is_pem(path)).collect();
        files.sort();
    }
    let mut certificates = Vec::new();
    for file in files {
        // One broken link in a directory is no reason to trust none of it.
        let Ok(bytes) = read(&file) else { continue };
        certificates.extend(CertificateDer::pem_slice_iter(&bytes).filter_map(std::result::Result::ok));
    }
    Ok(certificates)
}

/// `name.pem`, `name.crt`, or OpenSSL's `hash.0`.
fn is_pem(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    matches!(extension, "pem" | "crt") || (!extension.is_empty() && extension.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Answers a server that asks for a certificate.
///
/// rustls' own resolver refuses grid proxies (RFC 3820), whose critical extension it does not know; it is the server that
/// has to understand it.
#[derive(Debug)]
struct Resolver(Arc<CertifiedKey>);

impl ResolvesClientCert for Resolver {
    fn resolve(&self, _hints: &[&[u8]], schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.0.key.choose_scheme(schemes).map(|_| Arc::clone(&self.0))
    }

    fn has_certs(&self) -> bool {
        true
    }
}

fn client_certificate(certificate: &Path, key: &Path, provider: &CryptoProvider) -> Result<Resolver, String> {
    let failed = |path: &Path, what: &str| format!("{}: {what}", redacted(&path.to_string_lossy()));
    let bytes = read(certificate).map_err(|error| failed(certificate, &error.to_string()))?;
    let chain: Vec<_> = CertificateDer::pem_slice_iter(&bytes).filter_map(std::result::Result::ok).collect();
    if chain.is_empty() {
        return Err(failed(certificate, "there is no PEM certificate in it"));
    }
    let bytes = read(key).map_err(|error| failed(key, &error.to_string()))?;
    // What the parser says might quote the key.
    let private = PrivateKeyDer::from_pem_slice(&bytes).map_err(|_| failed(key, "there is no plain PEM key in it"))?;
    let private = provider.key_provider.load_private_key(private);
    let private = private.map_err(|_| failed(key, "its key is of no kind that TLS uses"))?;
    let certified = CertifiedKey::new(chain, private);
    if matches!(certified.keys_match(), Err(rustls::Error::InconsistentKeys(rustls::InconsistentKeys::KeyMismatch))) {
        return Err(failed(key, "its key is not that of the certificate"));
    }
    Ok(Resolver(Arc::new(certified)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;
    use crate::options::is_sendable;

    fn found(options: &[(&str, &str)], variables: &[(&str, &str)], tmp: &Path) -> Credentials {
        let mut network = Options::default();
        for (name, value) in options {
            network.set(name, value, "test").unwrap();
        }
        let value =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        Credentials::find_in(&network.network, &value, tmp)
    }

    fn token(credentials: &Credentials, is_encrypted: bool) -> Option<String> {
        credentials.token(is_encrypted).map(|token| token.expose().to_owned())
    }

    #[test]
    fn tokens_are_found_in_the_order_of_wlcg() {
        let directory = tempfile::tempdir().unwrap();
        let tmp = directory.path();
        assert_eq!(token(&found(&[], &[], tmp), true), None);
        let own = format!("bt_u{}", user_id());
        std::fs::write(tmp.join(&own), "in-tmp\n").unwrap();
        assert_eq!(token(&found(&[], &[], tmp), true).unwrap(), "in-tmp");
        let runtime = tmp.join("runtime");
        std::fs::create_dir(&runtime).unwrap();
        std::fs::write(runtime.join(&own), "in-runtime").unwrap();
        let variables = [("XDG_RUNTIME_DIR", runtime.to_str().unwrap())];
        assert_eq!(token(&found(&[], &variables, tmp), true).unwrap(), "in-runtime");
        let named = tmp.join("named");
        std::fs::write(&named, "first").unwrap();
        let variables = [variables[0], ("BEARER_TOKEN_FILE", named.to_str().unwrap())];
        let credentials = found(&[], &variables, tmp);
        assert_eq!(token(&credentials, true).unwrap(), "first");
        std::fs::write(&named, "renewed").unwrap();
        assert_eq!(token(&credentials, true).unwrap(), "renewed");
        let variables = [variables[0], variables[1], ("BEARER_TOKEN", " in-variable ")];
        assert_eq!(token(&found(&[], &variables, tmp), true).unwrap(), "in-variable");
        assert_eq!(token(&found(&[("token", "given")], &variables, tmp), true).unwrap(), "given");
    }

    #[test]
    fn a_token_that_was_only_found_stays_within_tls() {
        let tmp = tempfile::tempdir().unwrap();
        let credentials = found(&[], &[("BEARER_TOKEN", "t0k3n")], tmp.path());
        assert_eq!(token(&credentials, false), None);
        assert!(credentials.hint(false, false).contains("not https"));
        assert!(!format!("{credentials:?} {}", credentials.hint(true, true)).contains("t0k3n"));
        assert_eq!(token(&found(&[("token", "given")], &[], tmp.path()), false).unwrap(), "given");
    }

    #[test]
    fn a_token_that_a_redirect_kept_from_being_sent_is_told_as_such() {
        let tmp = tempfile::tempdir().unwrap();
        let given = found(&[("token", "given")], &[], tmp.path());
        for is_encrypted in [false, true] {
            let hint = given.hint(is_encrypted, false);
            assert!(hint.starts_with("the given bearer token was not sent to where"), "{hint}");
        }
        let file = tmp.path().join("token");
        let of_file = || found(&[], &[("BEARER_TOKEN_FILE", file.to_str().unwrap())], tmp.path()).hint(true, false);
        assert!(of_file().contains("could not be read"));
        // What is set may be the token itself.
        let itself = found(&[], &[("BEARER_TOKEN_FILE", "eyJ0t0k3n")], tmp.path()).hint(true, false);
        assert!(itself.contains("could not be read") && !itself.contains("t0k3n"), "{itself}");
        std::fs::write(&file, "t0k3n").unwrap();
        assert!(of_file().contains("redirected to"), "{}", of_file());
    }

    #[test]
    fn a_token_that_no_request_takes_is_one_of_its_variable_or_file() {
        let tmp = tempfile::tempdir().unwrap();
        let file = tmp.path().join("token");
        std::fs::write(&file, "t0k3n\u{e9}").unwrap();
        let path = file.to_str().unwrap();
        for (variable, value, origin) in
            [("BEARER_TOKEN", "t0k\n3n", "BEARER_TOKEN"), ("BEARER_TOKEN_FILE", path, path)]
        {
            let credentials = found(&[], &[(variable, value)], tmp.path());
            assert!(!is_sendable(&token(&credentials, true).unwrap()), "{variable}");
            assert_eq!(credentials.origin_of_token(), origin);
        }
        assert!(is_sendable("eyJhbGciOi.x-_~+/="));
    }

    #[test]
    fn a_certificate_that_was_found_but_not_offered_is_named() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("half.pem");
        std::fs::write(&path, "no PEM").unwrap();
        let path = path.to_str().unwrap();
        let hint = |variables: &[(&str, &str)]| found(&[], variables, tmp.path()).hint(true, false);
        for (there, missing) in [(CERTIFICATE, KEY), (KEY, CERTIFICATE)] {
            let text = hint(&[(there, path)]);
            assert!(text.contains(&format!("{there} is set, but not {missing}")), "{text}");
        }
        let text = hint(&[("X509_USER_PROXY", path)]);
        assert!(text.contains("X509_USER_PROXY could not be offered") && text.contains("no PEM certificate"), "{text}");
    }

    #[test]
    fn a_given_certificate_must_be_readable_and_a_found_one_need_not_be() {
        let tmp = tempfile::tempdir().unwrap();
        let missing = tmp.path().join("missing");
        let missing = missing.to_str().unwrap();
        assert!(found(&[], &[("X509_USER_PROXY", missing), ("X509_CERT_DIR", missing)], tmp.path()).tls().is_ok());
        for option in ["certificate", "authorities"] {
            let error = found(&[(option, missing)], &[], tmp.path()).tls().unwrap_err().to_string();
            assert!(error.contains(option) && error.contains("missing"), "{error}");
        }
    }
}
