//! Encryption and tokens.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arrowroot_storage::{Error, Network, Secret, open_xrootd_once};
use rustls::HandshakeKind;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::fake::{self, Client};
use super::server::{Directory, Server, content, is_installed};
use super::{NONE, SPECULATION, check_ranges, hasty, network, refusal, some_ranges};

/// A key and a certificate of 127.0.0.1, signed by itself.
pub fn certificate(directory: &Path) -> (PathBuf, PathBuf) {
    let (key, certificate) = (directory.join("key.pem"), directory.join("certificate.pem"));
    let mut command = Command::new("openssl");
    command.args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]);
    command.args(["-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE"]);
    command.arg("-keyout").arg(&key).arg("-out").arg(&certificate).stdout(Stdio::null()).stderr(Stdio::null());
    assert!(command.status().unwrap().success());
    (key, certificate)
}

pub fn trusting(certificate: &Path) -> Network {
    Network { authorities: Some(certificate.to_owned()), ..network() }
}

#[test]
fn an_encrypted_server_is_read_by_either_scheme_and_only_if_it_is_trusted() {
    if !is_installed() {
        return;
    }
    let directory = Directory::new();
    let (key, certificate) = certificate(&directory.0);
    let mut server = Server::start("");
    for path in [&key, &certificate] {
        std::fs::copy(path, server.directory.0.join(path.file_name().unwrap())).unwrap();
    }
    let configuration = server.directory.0.join("xrootd.cfg");
    let plain = std::fs::read_to_string(&configuration).unwrap();
    let path = server.directory.0.display();
    let secure = format!("{plain}xrd.tls {path}/certificate.pem {path}/key.pem\nxrd.tlsca noverify\nxrootd.tls all\n");
    std::fs::write(&configuration, secure).unwrap();
    server.restart();
    let content = server.with_file("f", 20_000_000, 1);
    let trusting = trusting(&certificate);
    for scheme in ["roots", "root"] {
        let url = server.url("f").replace("root", scheme);
        let source = open_xrootd_once(&url, &trusting, SPECULATION).unwrap().source;
        check_ranges(&*source, &[(0, content.len())], &content);
        check_ranges(&*source, &some_ranges(2000, 20_000, content.len(), 2), &content);
        std::thread::scope(|scope| {
            for thread in 1..6 {
                let (source, content) = (&source, &content);
                scope.spawn(move || check_ranges(&**source, &some_ranges(300, 50_000, content.len(), thread), content));
            }
        });
    }
    let error = refusal(open_xrootd_once(&server.url("f").replace("root", "roots"), &network(), SPECULATION));
    assert!(matches!(&error, Error::Insecure { hint, .. } if hint.contains("X509_CERT_DIR")), "{error:?}");
}

#[test]
fn a_server_without_encryption_is_not_spoken_to_where_it_was_asked_for() {
    if !is_installed() {
        return;
    }
    let server = Server::start("");
    server.with_file("f", 1000, 1);
    let error = refusal(open_xrootd_once(&server.url("f").replace("root", "roots"), &network(), SPECULATION));
    assert!(matches!(&error, Error::Insecure { what, .. } if what.contains("does not encrypt")), "{error:?}");
}

/// A stream that is encrypted from some moment on.
struct Encrypted(rustls::StreamOwned<rustls::ServerConnection, TcpStream>);

impl Read for Encrypted {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Encrypted {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

/// Encrypts, and lets everybody in; the kind of handshake is noted.
fn encrypted(
    client: Client,
    configuration: &Arc<rustls::ServerConfig>,
    kinds: &Mutex<Vec<HandshakeKind>>,
) -> Option<Client> {
    let mut raw = client.into_tcp()?;
    raw.read_exact(&mut [0; 20]).ok()?;
    let mut client = Client::new(raw.try_clone().ok()?);
    client.send(&fake::framed([0, 0], fake::OK, &[0, 0, 5, 0x11, 0, 0, 0, 1]));
    let protocol = client.request()?;
    client.answer(&protocol, fake::OK, &[5_u32.to_be_bytes(), 0xc000_0001_u32.to_be_bytes()].concat());
    let mut session = rustls::ServerConnection::new(Arc::clone(configuration)).ok()?;
    while session.is_handshaking() {
        session.complete_io(&mut raw).ok()?;
    }
    kinds.lock().unwrap().extend(session.handshake_kind());
    let mut client = Client::new(Encrypted(rustls::StreamOwned::new(session, raw)));
    let login = client.request()?;
    client.answer(&login, fake::OK, b"0123456789abcdef");
    Some(client)
}

/// What the scripted server saw: credentials, and names of files.
type Seen = Arc<Mutex<Vec<Vec<u8>>>>;

/// A scripted server that wants tokens, with or without encryption.
fn token_server(tls: Option<Arc<rustls::ServerConfig>>, file: Vec<u8>) -> (u16, Seen) {
    let seen = Seen::default();
    let for_server = Arc::clone(&seen);
    let (port, _) = fake::start(move |client, _| {
        let (mut raw, mut hello) = (client.into_tcp()?, [0; 20]);
        raw.read_exact(&mut hello).ok()?;
        let mut client = Client::new(raw.try_clone().ok()?);
        client.send(&fake::framed([0, 0], fake::OK, &[0, 0, 5, 0x11, 0, 0, 0, 1]));
        let protocol = client.request()?;
        let wants = protocol.body[4] & 4 != 0;
        let flags: u32 = match (&tls, wants) {
            (None, _) => 1,
            (Some(_), false) => 0x8000_0001,
            (Some(_), true) => 0xc000_0001,
        };
        client.answer(&protocol, fake::OK, &[5_u32.to_be_bytes(), flags.to_be_bytes()].concat());
        if let (Some(tls), true) = (&tls, wants) {
            let session = rustls::ServerConnection::new(Arc::clone(tls)).ok()?;
            client = Client::new(Encrypted(rustls::StreamOwned::new(session, raw)));
        }
        let login = client.request()?;
        client.answer(&login, fake::OK, b"0123456789abcdef&P=gsi,v:1&P=ztn,0:4096:\0");
        loop {
            let request = client.serve(&file, &[fake::AUTH, fake::OPEN])?;
            for_server.lock().unwrap().push(request.payload.clone());
            client.answer_rightly(&request, &file);
        }
    });
    (port, seen)
}

pub fn server_configuration(key: &Path, certificate: &Path) -> Arc<rustls::ServerConfig> {
    let chain = CertificateDer::pem_file_iter(certificate).unwrap().map(|item| item.unwrap()).collect();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let builder = builder.with_no_client_auth();
    Arc::new(builder.with_single_cert(chain, PrivateKeyDer::from_pem_file(key).unwrap()).unwrap())
}

#[test]
fn a_token_is_shown_to_whom_asks_for_it_over_an_encrypted_connection() {
    let directory = Directory::new();
    let (key, certificate) = certificate(&directory.0);
    let file = content(100_000, 1);
    let network = Network { token: Some(Secret::new("to+ken")), ..trusting(&certificate) };
    for scheme in ["roots", "root"] {
        let (port, seen) = token_server(Some(server_configuration(&key, &certificate)), file.clone());
        let url = format!("{scheme}://127.0.0.1:{port}//f");
        let source = open_xrootd_once(&url, &network, SPECULATION).unwrap().source;
        check_ranges(&*source, &[(5, 100), (7000, 10)], &file);
        let seen = seen.lock().unwrap();
        assert_eq!(seen[0], b"ztn\0\0T\0\0\0\x07to+ken\0");
        assert_eq!(seen[1], b"/f?authz=Bearer%20to%2Bken");
        assert_eq!(source.url(), url);
    }
}

#[test]
fn a_token_is_never_sent_where_others_could_read_it() {
    let (port, seen) = token_server(None, content(100, 1));
    let network = Network { token: Some(Secret::new("tokentoken")), ..network() };
    let error = refusal(open_xrootd_once(&format!("root://127.0.0.1:{port}//f"), &network, SPECULATION));
    let Error::Denied { answer, hint, .. } = &error else { panic!("{error:?}") };
    assert!(answer.contains("gsi, ztn") && hint.contains("roots://") && hint.contains("gsi"), "{error}");
    assert!(!format!("{error} {error:?}").contains("tokentoken"));
    assert!(seen.lock().unwrap().is_empty());
}

#[test]
fn a_token_of_the_url_is_not_sent_before_encryption_is_settled() {
    let listener = crate::ports::listen();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
        let mut words = Vec::new();
        let _ = stream.read_to_end(&mut words); // ends with the timeout
        words
    });
    // The server stays silent: all that it gets comes before an answer.
    refusal(open_xrootd_once(&format!("root://127.0.0.1:{port}//f?authz=Bearer%20s3cr3t"), &hasty(), SPECULATION));
    let words = server.join().unwrap();
    let has = |text: &[u8]| words.windows(text.len()).any(|part| part == text);
    assert!(has(b"xrd.appname=arrowroot") && !has(b"s3cr3t"), "{}", String::from_utf8_lossy(&words));
}

#[test]
fn tls_sessions_are_resumed_until_the_files_of_the_credentials_change() {
    let (directory, other) = (Directory::new(), Directory::new());
    let (key, authority) = certificate(&directory.0);
    let configuration = server_configuration(&key, &authority);
    let (file, kinds) = (content(1000, 1), Arc::new(Mutex::new(Vec::new())));
    let of_server = Arc::clone(&kinds);
    let (port, _) = fake::start(move |client, _| {
        let mut client = encrypted(client, &configuration, &of_server)?;
        // The session ends with the file: the next one is read on another connection.
        client.serve(&file, &[fake::CLOSE]).map(drop)
    });
    let open = || {
        let opened = open_xrootd_once(&format!("roots://127.0.0.1:{port}//f"), &trusting(&authority), NONE);
        opened.map(|opened| opened.source.read_at(0, &mut [0; 10]).unwrap())
    };
    for _ in 0..3 {
        open().unwrap();
        std::thread::sleep(Duration::from_millis(300));
    }
    assert_eq!(*kinds.lock().unwrap(), [HandshakeKind::Full, HandshakeKind::Resumed, HandshakeKind::Resumed]);
    std::fs::copy(certificate(&other.0).1, &authority).unwrap();
    assert!(matches!(open(), Err(Error::Insecure { .. })), "another authority is trusted now");
}
