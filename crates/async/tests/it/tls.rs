//! TLS by `tokio-rustls`, with a certificate of the test's own.

use std::sync::Arc;

use mely_async::{Stream, StreamSocket, TcpListener, TcpStream};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::support::{bounded, pattern, runtime};

fn certified() -> (TlsAcceptor, TlsConnector) {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let key = PrivateKeyDer::Pkcs8(signing_key.serialize_der().into());
    let server = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .expect("a key that fits");
    let mut roots = RootCertStore::empty();
    roots.add(cert.der().clone()).expect("a certificate");
    let client = ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    (Arc::new(server).into(), Arc::new(client).into())
}

async fn echo<S: StreamSocket>(acceptor: TlsAcceptor, stream: Stream<S>) -> std::io::Result<()> {
    let mut stream = acceptor.accept(stream).await?;
    let mut bytes = vec![0; 10_000];
    loop {
        match stream.read(&mut bytes).await? {
            0 => return stream.shutdown().await,
            count => stream.write_all(&bytes[..count]).await?,
        }
    }
}

#[test]
fn what_is_sent_over_tls_comes_back() {
    bounded(|| {
        let rt = runtime(2);
        let (acceptor, connector) = certified();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let address = listener.local_addr().expect("an address");
        let serving = listener.serve(&rt, move |stream, _| {
            let acceptor = acceptor.clone();
            async move { echo(acceptor, stream).await.expect("no error") }
        });
        let clients: Vec<_> = (0..10)
            .map(|number| {
                let connector = connector.clone();
                rt.new_color().spawn(async move {
                    let stream = TcpStream::connect(address).await?;
                    let name = ServerName::try_from("localhost").expect("a name");
                    let stream = connector.connect(name, stream).await?;
                    let (mut reads, mut writes) = tokio::io::split(stream);
                    let all = pattern(1000 + number * 20_000);
                    let mut back = vec![0; all.len()];
                    let write = async {
                        writes.write_all(&all).await?;
                        writes.flush().await
                    };
                    let (wrote, read) = futures::join!(write, reads.read_exact(&mut back));
                    wrote?;
                    read?;
                    assert!(back == all);
                    writes.shutdown().await?;
                    assert_eq!(reads.read(&mut back).await?, 0);
                    Ok::<_, std::io::Error>(())
                })
            })
            .collect();
        for client in clients {
            client.wait().expect("it ends").expect("no error");
        }
        serving.stop();
        serving.wait().expect("no error");
    });
}
