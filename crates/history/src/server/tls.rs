//! TLS to a server. Its modes have libpq's names.

use crate::Error;
use postgres::config::SslMode;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_postgres_rustls::MakeRustlsConnect;

/// The certificates that this system trusts, on Debian and on Fedora: `sslrootcert=system`.
const SYSTEM: [&str; 2] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
];

/// Whether TLS is used, and the checks of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// No TLS.
    Disable,
    /// TLS if the server has it; nothing is checked.
    Prefer,
    /// TLS always; nothing is checked.
    Require,
    /// TLS always; a known authority must have signed the server's certificate.
    VerifyCa,
    /// TLS always, with a certificate from a known authority that is for the host's name.
    VerifyFull,
}

impl Mode {
    pub fn parse(text: &str) -> Result<Self, String> {
        Ok(match text {
            "disable" => Self::Disable,
            "prefer" => Self::Prefer,
            "require" => Self::Require,
            "verify-ca" => Self::VerifyCa,
            "verify-full" => Self::VerifyFull,
            other => {
                return Err(format!(
                    "sslmode is {other:?}: use disable, prefer, require, verify-ca or verify-full"
                ));
            }
        })
    }

    pub fn of_client(self) -> SslMode {
        match self {
            Self::Disable => SslMode::Disable,
            Self::Prefer => SslMode::Prefer,
            Self::Require | Self::VerifyCa | Self::VerifyFull => SslMode::Require,
        }
    }
}

/// Settings of TLS for an address.
#[derive(Clone, Debug)]
pub(crate) struct Tls {
    pub mode: Mode,
    /// The file of trusted certificates, or `system`; by default `~/.postgresql/root.crt`.
    pub root: Option<PathBuf>,
    pub home: Option<PathBuf>,
}

impl Tls {
    /// Makes the connector for TLS.
    pub fn connector(&self) -> Result<MakeRustlsConnect, Error> {
        let provider = Arc::new(ring::default_provider());
        let verifier = Verifier {
            provider: provider.clone(),
            trusted: match self.mode {
                Mode::VerifyCa | Mode::VerifyFull => Some(self.trusted(&provider)?),
                _ => None,
            },
            names: self.mode == Mode::VerifyFull,
        };
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|cause| Error::Address(format!("there is no TLS: {cause}")))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        Ok(MakeRustlsConnect::new(config))
    }

    fn trusted(&self, provider: &Arc<CryptoProvider>) -> Result<Arc<WebPkiServerVerifier>, Error> {
        let path = match (&self.root, &self.home) {
            (Some(root), _) if root == Path::new("system") => {
                let mut there = SYSTEM.iter().filter(|path| Path::new(path).is_file());
                there.next().unwrap_or(&SYSTEM[0]).into()
            }
            (Some(root), _) => root.clone(),
            (None, Some(home)) => home.join(".postgresql/root.crt"),
            (None, None) => {
                return Err(Error::Address(
                    "sslmode=verify-ca and verify-full need sslrootcert=FILE, because HOME is not set".into(),
                ));
            }
        };
        let wrong = |why: String| Error::File {
            path: path.clone(),
            why: format!(
                "{why}. The file needs the certificates of the authorities that sign the server's certificate. Name it with sslrootcert=FILE, or use this system's with sslrootcert=system"
            ),
        };
        let mut roots = RootCertStore::empty();
        let read =
            CertificateDer::pem_file_iter(&path).map_err(|cause| wrong(cause.to_string()))?;
        for certificate in read {
            let certificate = certificate.map_err(|cause| wrong(cause.to_string()))?;
            // A system's file may have certificates that rustls can't read.
            let _ = roots.add(certificate);
        }
        if roots.is_empty() {
            return Err(wrong("it has no certificate".into()));
        }
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone())
            .build()
            .map_err(|cause| wrong(cause.to_string()))
    }
}

/// Checks the server's certificate as far as the mode says.
#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    /// Trusted authorities. None: any certificate is accepted.
    trusted: Option<Arc<WebPkiServerVerifier>>,
    /// Whether the certificate must be for the host's name.
    names: bool,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        server: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(trusted) = &self.trusted else {
            return Ok(ServerCertVerified::assertion());
        };
        match trusted.verify_server_cert(server, between, name, ocsp, now) {
            // The verifier checks the name last, when all else is right.
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.names => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let known = &self.provider.signature_verification_algorithms;
        known.supported_schemes()
    }
}
