//! What failures of encryption mean.

/// What the user can do about a connection that did not become secure; `None` where something else is wrong.
pub(crate) fn hint(error: &rustls::Error) -> Option<&'static str> {
    match error {
        rustls::Error::InvalidCertificate(_) => {
            Some("if you trust the server, name its authority (option authorities, X509_CERT_DIR)")
        }
        rustls::Error::InvalidMessage(_) => {
            Some("perhaps the server speaks no TLS at this port (http:// and root:// are without)")
        }
        _ => None,
    }
}

/// The error of TLS in one of a stream.
pub(crate) fn of_io(error: &std::io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref()
}
