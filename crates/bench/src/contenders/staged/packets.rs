//! Packets of 8 KB on many connections; the last one of a burst is acknowledged.

use mely::Runtime;
use mely_async::{ServeOptions, TcpListener, TcpStream, signal};

use super::StagesServeOptions;
use crate::measure::Failure;

/// Bytes of a packet, whose first says whether it is the last of a burst.
pub(crate) const PACKET_BYTES: usize = 8192;

/// What the last packet of a burst is answered with.
pub(crate) const ACK: [u8; 32] = [7; 32];

pub(super) fn serve(options: &StagesServeOptions) -> Result<(), Failure> {
    let workers = usize::from(options.workers);
    let rt = Runtime::builder().workers(workers).build()?;
    let listener = TcpListener::bind(("127.0.0.1", options.port))?;
    let all = ServeOptions::new().max_connections(usize::MAX);
    let serving = listener.serve_with(&rt, all, |stream, _peer| take(stream));
    signal::terminated(&rt)?.wait()?;
    serving.stop();
    Ok(())
}

async fn take(mut stream: TcpStream) -> std::io::Result<()> {
    // Nothing is kept for a connection that sends nothing.
    loop {
        stream.readable().await?;
        let mut packet = vec![0; PACKET_BYTES];
        stream.read_exact(&mut packet).await?;
        if packet[0] == 1 {
            stream.write_all(&ACK).await?;
        }
    }
}
