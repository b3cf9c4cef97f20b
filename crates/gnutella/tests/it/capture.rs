//! A file of packets, as if a connection had been listened to.

/// The file's own header: microseconds, whole packets, and packets that begin with IP.
const FILE_HEADER: [u32; 6] = [0xa1b2_c3d4, 4 << 16 | 2, 0, 0, 65_535, 101];

const IP_BYTES: usize = 20;
const TCP_BYTES: usize = 20;

/// The port that the dissector listens on.
const PORT: u16 = 6346;

/// One direction of a connection to port 6346.
pub(crate) struct Capture {
    file: Vec<u8>,
    sequence: u32,
}

impl Capture {
    pub(crate) fn new() -> Self {
        Self {
            file: FILE_HEADER.iter().flat_map(|n| n.to_le_bytes()).collect(),
            sequence: 1,
        }
    }

    /// Adds a packet with these bytes of the stream. The checksums stay zero, as where a network
    /// card makes them.
    pub(crate) fn packet(&mut self, bytes: &[u8]) {
        let length = IP_BYTES + TCP_BYTES + bytes.len();
        // A second for each byte before it, to have the packets in order.
        for field in [self.sequence, 0, length as u32, length as u32] {
            self.file.extend(field.to_le_bytes());
        }
        let ip_length = (length as u16).to_be_bytes();
        self.file.extend([
            0x45,
            0,
            ip_length[0],
            ip_length[1],
            0,
            0,
            0x40,
            0,
            64,
            6,
            0,
            0,
        ]);
        self.file.extend([192, 0, 2, 1, 192, 0, 2, 2]);
        self.file.extend(40_000_u16.to_be_bytes());
        self.file.extend(PORT.to_be_bytes());
        self.file.extend(self.sequence.to_be_bytes());
        self.file.extend(1_u32.to_be_bytes());
        // A header of five words; PSH and ACK; a window; neither checksum nor urgent bytes.
        self.file.extend([0x50, 0x18, 0xff, 0xff, 0, 0, 0, 0]);
        self.file.extend(bytes);
        self.sequence += bytes.len() as u32;
    }

    pub(crate) fn file(&self) -> &[u8] {
        &self.file
    }
}
