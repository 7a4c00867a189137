//! Packs files as gzip (RFC 1952), without the name and the time that others write into it.

/// Identification, the method, no flags, no time, slowest compression, unknown system.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 255];
/// The level that takes longest.
const LEVEL: u8 = 10;

pub(crate) fn pack(bytes: &[u8]) -> Vec<u8> {
    let data = miniz_oxide::deflate::compress_to_vec(bytes, LEVEL);
    // The format counts modulo 2^32.
    let size = (bytes.len() as u64 & u64::from(u32::MAX)).to_le_bytes();
    [&HEADER, &data[..], &checksum(bytes).to_le_bytes(), &size[..4]].concat()
}

/// CRC-32, a bit at a time: the bundle is small.
fn checksum(bytes: &[u8]) -> u32 {
    const POLYNOMIAL: u32 = 0xedb8_8320;
    let step = |sum: u32| if sum & 1 == 1 { (sum >> 1) ^ POLYNOMIAL } else { sum >> 1 };
    let add = |sum: u32, byte: &u8| (0..8).fold(sum ^ u32::from(*byte), |sum, _| step(sum));
    !bytes.iter().fold(!0, add)
}

#[cfg(test)]
mod tests {
    use super::{HEADER, checksum, pack};

    #[test]
    fn the_checksum_is_the_one_of_the_format() {
        assert_eq!(checksum(b""), 0);
        assert_eq!(checksum(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn what_was_packed_unpacks_and_is_the_same_each_time() {
        let bytes = b"to be or not to be, to be or not to be".repeat(100);
        let packed = pack(&bytes);
        assert!(packed.len() < bytes.len() / 10 && packed == pack(&bytes));
        let data = &packed[HEADER.len()..packed.len() - 8];
        assert_eq!(miniz_oxide::inflate::decompress_to_vec(data).unwrap(), bytes);
        assert_eq!(packed[packed.len() - 4..], 3_800_u32.to_le_bytes());
    }
}
